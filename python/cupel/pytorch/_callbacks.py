"""What hangs on modules and parameters.

The callbacks are objects: a model that holds them pickles and copies, and its copy has dead ones. A
callback returns None. When nothing is due it returns as soon as it has asked the gate, which the watch
sets when a step begins; a callback on a module first asks whether dynamo traces it, so that it
leaves nothing in a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import torch

from ._torch import (
    is_compiling,
    is_in_compiled_call,
    leave_compiled_call,
    never_compile,
    outside_of_compiler,
)

if TYPE_CHECKING:
    from ._names import NamedModule
    from ._parameters import WatchedParameter
    from ._watch import Watch, WatchedRoot

__all__ = [
    "DeadCallback",
    "Gate",
    "GradientCallback",
    "LayerCallback",
    "LossCallback",
    "RootCallback",
    "RootPreCallback",
]


# By their numbers, which all hooks of a process share.
_KINDS_OF_HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)


class Gate:
    """What may be due now. All callbacks of a watch share it."""

    __slots__ = ("due", "layers", "watch")

    def __init__(self, watch: Optional[Watch]) -> None:
        self.due = False
        """Something is due at the step."""
        self.layers = False
        """Inputs or outputs of modules below a root may be due at the step."""
        self.watch = watch

    def shut(self) -> None:
        """Nothing is due."""
        self.due = self.layers = False


class DeadCallback:
    """The callback that a copy of a watched model has: its first call takes it off the copy."""

    __slots__ = ()
    __torch_unserializable__ = True

    def __call__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        if is_compiling():
            return
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for number in [key for key, hook in hooks.items() if hook is self]:
                for kind in _KINDS_OF_HOOKS:
                    getattr(module, kind, {}).pop(number, None)


class _Callback:
    """A callback that a copy of its model does not keep."""

    __slots__ = ("gate",)
    # Torch warns where it pickles a tensor whose hooks lack this.
    __torch_unserializable__ = True

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def __reduce__(self) -> tuple:
        return (DeadCallback, ())


class LayerCallback(_Callback):
    """After the forward of a module below a root."""

    __slots__ = ("named",)

    def __init__(self, gate: Gate, named: NamedModule) -> None:
        super().__init__(gate)
        self.named = named

    @never_compile
    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any = ...) -> None:
        if is_compiling():
            return
        if self.gate.layers:
            outside_of_compiler(self._take, args, kwargs, output)

    def _take(self, args: Any, kwargs: Any, output: Any) -> None:
        watch = self.gate.watch
        if watch is not None:
            watch.module_called(self.named, args, kwargs, output)


class RootPreCallback(_Callback):
    """Before the forward of a root."""

    __slots__ = ("root",)

    def __init__(self, gate: Gate, root: WatchedRoot) -> None:
        super().__init__(gate)
        self.root = root

    @never_compile
    def __call__(self, module: Any, args: Any, kwargs: Any = ...) -> None:
        if is_compiling():
            return
        watch = self.gate.watch
        if watch is None:
            return
        is_inside = is_in_compiled_call()
        outside_of_compiler(watch.root_called, self.root, module, args, kwargs, is_inside)
        if is_inside and watch.stance.leaves_call:
            leave_compiled_call()


class RootCallback(_Callback):
    """After the forward of a root."""

    __slots__ = ("root",)

    def __init__(self, gate: Gate, root: WatchedRoot) -> None:
        super().__init__(gate)
        self.root = root

    @never_compile
    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any = ...) -> None:
        if is_compiling():
            return
        if self.gate.due:
            outside_of_compiler(self._take, args, kwargs, output)

    def _take(self, args: Any, kwargs: Any, output: Any) -> None:
        watch = self.gate.watch
        if watch is not None:
            watch.root_returned(self.root, args, kwargs, output)


class LossCallback(_Callback):
    """After the forward of a loss module."""

    __slots__ = ("name",)

    def __init__(self, gate: Gate, name: str) -> None:
        super().__init__(gate)
        self.name = name

    @never_compile
    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any = ...) -> None:
        if is_compiling():
            return
        if self.gate.due:
            outside_of_compiler(self._take, args, kwargs, output)

    def _take(self, args: Any, kwargs: Any, output: Any) -> None:
        watch = self.gate.watch
        if watch is not None:
            watch.loss_called(self.name, args, kwargs, output)


class GradientCallback(_Callback):
    """On a parameter: what a backward pass contributes to its gradient."""

    __slots__ = ("parameter",)

    def __init__(self, gate: Gate, parameter: WatchedParameter) -> None:
        super().__init__(gate)
        self.parameter = parameter

    @never_compile
    def __call__(self, gradient: torch.Tensor) -> None:
        if is_compiling():
            return
        if self.gate.due:
            watch = self.gate.watch
            if watch is not None:
                watch.gradient_computed(self.parameter, gradient)
