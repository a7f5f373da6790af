"""The hook for PyTorch: it sees parameters, gradients, layers and losses of registered modules."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, Iterator, Optional

import torch
from torch.nn.modules.loss import _Loss

from cupel import _native
from cupel.core.base_hook import BaseHook
from cupel.core.modes import ModeKeys
from cupel.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugTypeError,
    SMDebugValueError,
)

from ._watch import Watch
from .collection import Collection, pattern_of

__all__ = ["Hook"]

_log = logging.getLogger("cupel")
_CHOICES = {
    "step_on": ("forward", "update"),
    "gradients": ("pass", "update"),
    "compiled": ("boundary", "eager", "observe"),
    "mode": (None, "auto"),
}


class Hook(BaseHook):
    """Saves tensors of registered modules, by the collections that are included.

    The arguments of BaseHook, and by keyword:

    step_on: "forward": a step begins when the forward of the first registered module is called.
        "update": the step of an optimizer that has registered parameters ends one in training.
    gradients: "pass": what the last backward pass of a step contributes. "update": `.grad` when the
        optimizer uses it: accumulated, averaged over ranks, unscaled, clipped.
    compiled: what is seen of a model that torch.compile has compiled. "boundary": all but inputs
        and outputs of inner modules. "eager": everything, since due steps run uncompiled.
        "observe" is the same as "eager".
    mode: "auto": TRAIN or EVAL by the registered module's `training`, unless set_mode() was called.
    """

    _profile = _native.Profile.PYTORCH
    _collection_class = Collection

    def __init__(
        self,
        out_dir: Optional[str] = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Any = None,
        save_config: Any = None,
        include_regex: Any = None,
        include_collections: Any = None,
        save_all: bool = False,
        include_workers: str = "one",
        *,
        step_on: str = "forward",
        gradients: str = "pass",
        compiled: str = "boundary",
        mode: Optional[str] = None,
        **options: Any,
    ) -> None:
        given: dict[str, Any] = {
            "step_on": step_on,
            "gradients": gradients,
            "compiled": compiled,
            "mode": mode,
        }
        for name, value in given.items():
            if value not in _CHOICES[name]:
                known = ", ".join(str(choice) for choice in _CHOICES[name])
                raise SMDebugValueError(f"{name} is one of {known}, not {value!r}")
        super().__init__(
            out_dir,
            export_tensorboard,
            tensorboard_dir,
            dry_run,
            reduction_config,
            save_config,
            include_regex,
            include_collections,
            save_all,
            include_workers,
            **options,
        )
        self._watch: Optional[Watch] = Watch(self, **given)

    def _begin_life(self) -> None:
        super()._begin_life()
        self._watch = None
        self._has_set_mode = False

    # ---- Registration

    def register_module(
        self,
        module: torch.nn.Module,
        name: Optional[str] = None,
        begins_step: Optional[bool] = None,
    ) -> None:
        """Watches a module and everything below it, until close().

        name: replaces the name of its class in the names of tensors.
        begins_step: whether its forward begins a step; by default that of the first module does.

        Raises SMDebugTypeError for what is no module, or is a scripted one, and SMDebugValueError
        where the module, or one below it, is registered already.
        """
        if isinstance(module, torch.jit.ScriptModule):
            raise SMDebugTypeError(
                "register_module: a ScriptModule runs without Python's hooks; "
                "cupel::libtorch::Watch, for C++, sees it"
            )
        if not isinstance(module, torch.nn.Module):
            raise SMDebugTypeError(
                f"register_module: a torch.nn.Module is needed, not {type(module).__name__}"
            )
        if self._watch is not None and not self._closed:
            self._watch.add_root(module, name, begins_step)

    register_hook = register_module

    def register_within_call(self, module: torch.nn.Module, args: Any) -> None:
        """Registers a module whose forward is about to run, so that this call begins a step."""
        self.register_module(module)
        watch = self._watch
        if watch is not None and not self._closed:
            watch.root_called(watch.root_of(module), module, args, {}, False)

    def register_loss(self, loss_module: torch.nn.Module) -> None:
        """Watches a loss module. Raises SMDebugTypeError for what is no loss of torch.nn."""
        if not isinstance(loss_module, _Loss):
            raise SMDebugTypeError(
                f"register_loss: a loss module of torch.nn is needed, not "
                f"{type(loss_module).__name__}; record_tensor_value() saves the loss of a function"
            )
        if self._watch is None or self._closed:
            return
        if not self._watch.add_loss(loss_module):
            raise SMDebugValueError(
                f"register_loss: the module is watched already: {type(loss_module).__name__}"
            )

    # ---- Steps and modes

    def next_step(self, step: Optional[int] = None) -> None:
        """Ends the step and begins the next one; from now on forwards begin no steps."""
        if self._watch is not None and not self._closed:
            self._watch.has_own_steps = True
            self._watch.begin_step(step=step)

    def _begin_native_step(self, step: Optional[int] = None) -> None:
        super().next_step(step)

    def end_step(self) -> None:
        """Ends the step and commits it now."""
        super().end_step()
        if self._watch is not None:
            self._watch.step_has_ended()

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the steps that begin from now on. Until one does, nothing is due."""
        before = self.mode
        super().set_mode(mode)
        self._has_set_mode = True
        if self._watch is not None and mode is not before:
            self._watch.step_has_ended()

    def _take_mode(self, mode: ModeKeys) -> None:
        """Takes the mode of a root, unless set_mode() was called."""
        if not self._has_set_mode and mode is not self.mode:
            super().set_mode(mode)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Has forwards begin no steps and save nothing, as in a rollout within a step."""
        watch = self._watch
        if watch is None or self._closed:
            yield
            return
        watch.pause()
        try:
            yield
        finally:
            watch.resume()

    # ---- Values

    def record_tensor_value(self, tensor_name: str, tensor_value: torch.Tensor) -> None:
        """Saves a tensor as `<tensor_name>_output_<k>`, where `k` counts the calls of a step.

        The tensor is in `losses` if the name ends in "loss" or "Loss".
        """
        watch = self._watch
        saver = None if watch is None else watch.saver_now()
        if saver is None:
            return
        collections = ("losses",) if tensor_name.endswith(("loss", "Loss")) else ()
        handle = self._engine.next_output(tensor_name, collections)
        saver.save(handle, tensor_value)

    # ---- The end

    def close(self) -> Any:
        """Ends the run and takes every callback off the modules; returns what was done."""
        watch = self._watch
        if watch is not None and not self._closed:
            if self._engine is None and watch.roots.roots:
                _log.warning(
                    "no step began, and nothing is saved of %s: its forward was not called, or only"
                    ' within compiled code, which step_on="update" sees',
                    ", ".join(root.name for root in watch.roots.roots),
                )
        try:
            return super().close()
        finally:
            if watch is not None:
                watch.let_go()

    _cleanup = close

    # ---- What the base asks

    def _first_step_options(self) -> dict[str, Any]:
        place = _distributed() or _horovod()
        if place is None:
            return {}
        rank, size = place
        return {"worker": f"worker_{rank}", "num_workers": size}

    def _selects(self, collection: Any) -> bool:
        return super()._selects(collection) or bool(getattr(collection, "modules", None))

    def _open(self) -> bool:
        if self._engine is None and not self._closed:
            self._resolve_modules()
        return super()._open()

    def _resolve_modules(self) -> None:
        """Gives collections the patterns of the modules that they were given."""
        for name, collection in self.collection_manager.get_collections().items():
            for module, inputs, outputs in getattr(collection, "modules", ()):
                path = None if self._watch is None else self._watch.roots.name_of(module)
                if path is None:
                    raise InvalidCollectionConfiguration(name)
                sides = [side for side, on in (("input", inputs), ("output", outputs)) if on]
                collection.include([pattern_of(path, side) for side in sides])
            if getattr(collection, "modules", None):
                setattr(collection, "modules", [])

    def _raises(self, error: SMDebugError) -> bool:
        """Whether an error leaves a callback: of the configuration, as nothing was saved yet."""
        return self._engine is None or self._options["on_error"] == "throw"


def _distributed() -> Optional[tuple[int, int]]:
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _horovod() -> Optional[tuple[int, int]]:
    horovod = sys.modules.get("horovod.torch")
    try:
        return None if horovod is None else (horovod.rank(), horovod.size())
    except (ValueError, AttributeError):  # not initialised
        return None
