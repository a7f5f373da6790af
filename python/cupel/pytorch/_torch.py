"""Facts about the torch that is imported: one place for what differs between 1.13 and 2.x."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Callable, Optional

import torch

__all__ = [
    "HOOKS_SEE_KEYWORDS",
    "compiled_autograd_is_on",
    "compiler_is_loaded",
    "in_backward",
    "in_check_of_trace",
    "in_transform",
    "is_in_compiled_call",
    "is_compiling",
    "leave_compiled_call",
    "never_compile",
    "outside_of_compiler",
    "release",
]


def release() -> tuple[int, int]:
    """The first two numbers of torch's version."""
    first, second = torch.__version__.split(".")[:2]
    return int(first), int(second)


HOOKS_SEE_KEYWORDS = release() >= (2, 0)

_compiler = getattr(torch, "compiler", None)


def _never() -> bool:
    return False


# Dynamo knows this function and makes a constant of its call, so that a hook that begins with it
# leaves nothing in a graph. Its body is false, also where dynamo compiles it for a frame that runs
# as it is; that of is_compiling() is not.
is_compiling: Callable[[], bool] = getattr(_compiler, "is_dynamo_compiling", _never)
_is_exporting: Callable[[], bool] = getattr(_compiler, "is_compiling", _never)


def compiler_is_loaded() -> bool:
    """Whether torch.compile may have been called: importing the compiler takes seconds."""
    return "torch._dynamo" in sys.modules


def compiled_autograd_is_on() -> bool:
    """Whether backward passes may be compiled, so that callbacks on tensors see no values."""
    config = getattr(sys.modules.get("torch._dynamo"), "config", None)
    state = sys.modules.get("torch._dynamo.compiled_autograd")
    return bool(
        getattr(config, "compiled_autograd", False)
        or getattr(state, "compiled_autograd_enabled", False)
    )


_eval_frame: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def never_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """Has dynamo run the frames of the function as they are where they are no part of a graph.

    Dynamo still compiles the frames of the functions that it calls.
    """
    code = function.__code__
    if hasattr(_eval_frame, "set_code_exec_strategy"):
        skip, default = _eval_frame._FrameAction.SKIP, _eval_frame._FrameAction.DEFAULT
        strategy = _eval_frame._FrameExecStrategy(skip, default)
        _eval_frame.set_code_exec_strategy(code, strategy)
    elif hasattr(_eval_frame, "skip_code"):  # until torch 2.5
        _eval_frame.skip_code(code)
    return function


_set_eval_frame: Any = getattr(_eval_frame, "set_eval_frame", None)


@never_compile
def outside_of_compiler(function: Callable[..., Any], *args: Any) -> Any:
    """Calls the function with dynamo switched off for it and for all that it calls."""
    if _set_eval_frame is None or "torch._dynamo" not in sys.modules:
        return function(*args)
    before = _set_eval_frame(None)
    try:
        return function(*args)
    finally:
        _set_eval_frame(before)


@never_compile
def is_in_compiled_call() -> bool:
    """Whether dynamo compiles what this thread calls: the root is called by compiled code."""
    if _set_eval_frame is None or "torch._dynamo" not in sys.modules:
        return False
    callback = _set_eval_frame(None)
    _set_eval_frame(callback)
    return callback is not None and callback is not False


@never_compile
def leave_compiled_call() -> None:
    """Has the rest of the compiled call, which a callback interrupts, run without dynamo.

    The end of the call restores what was there. A call with fullgraph=True demands there that some
    frame was compiled, unless the stance is another than the default.
    """
    _set_eval_frame(None)


_graph_task: Any = getattr(torch._C, "_current_graph_task_id", None)
_backward_codes = {
    torch.autograd.backward.__code__,
    torch.autograd.grad.__code__,
    # On the threads of a device, and of passes within passes, no other frame is above.
    torch.autograd.function.BackwardCFunction.apply.__code__,
}

if _graph_task is not None:

    def in_backward() -> bool:
        """Whether this thread is within a backward pass: activation checkpointing runs again."""
        return bool(_graph_task() != -1)

else:

    def in_backward() -> bool:
        """Whether this thread is within a backward pass: activation checkpointing runs again."""
        frame: Optional[FrameType] = sys._getframe(1)
        while frame is not None:
            if frame.f_code in _backward_codes:
                return True
            frame = frame.f_back
        return False


_tracer_file = torch.jit.trace.__code__.co_filename


def in_check_of_trace() -> bool:
    """Whether torch.jit.trace() runs a model once more, to compare with what it has traced."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _tracer_file:
            return True
        frame = frame.f_back
    return False


_functorch = getattr(torch._C, "_functorch", None)
_peek = getattr(_functorch, "peek_interpreter_stack", None)
_level = getattr(_functorch, "maybe_get_level", None)
_tracing_state = torch._C._get_tracing_state


def in_transform(values: Any = ()) -> bool:
    """Whether a forward computes no values of the training: vmap, torch.func, torch.jit.trace,
    tensors without values."""
    if _tracing_state() is not None or _is_exporting():
        return True
    if _peek is not None:
        if _peek() is not None:
            return True
    elif _level is not None:
        for value in values:
            if isinstance(value, torch.Tensor) and _level(value) not in (-1, None):
                return True
    for value in values:
        if isinstance(value, torch.Tensor) and is_fake(value):
            return True
    return False


def is_fake(tensor: torch.Tensor) -> bool:
    """Whether it is a FakeTensor or another stand-in of torch's tracers."""
    return type(tensor).__name__ in ("FakeTensor", "FunctionalTensor")
