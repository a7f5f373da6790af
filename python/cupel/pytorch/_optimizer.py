"""What is seen in the step of an optimizer: gradients before the update, and the optimizer's view.

Torch 2 has hooks for the steps of all optimizers. Torch 1.13 has none: there the method step of
each class is replaced by one that calls us, once per class.
"""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
from torch.optim import Optimizer

from cupel.core.incoming import converted
from cupel.exceptions import SMDebugError

from ._saver import Saver
from ._torch import is_compiling

if TYPE_CHECKING:
    from ._parameters import Parameters, WatchedParameter
    from ._watch import Watch

__all__ = ["Updates", "watch_optimizers"]

_watches: weakref.WeakSet[Watch] = weakref.WeakSet()
_is_watching = False


def _before(optimizer: Optimizer, *_: Any) -> None:
    if _watches and not is_compiling():
        for watch in list(_watches):
            watch.update_begins(optimizer)


def _after(optimizer: Optimizer, *_: Any) -> None:
    if _watches and not is_compiling():
        for watch in list(_watches):
            watch.update_ended(optimizer)


def watch_optimizers(watch: Watch) -> None:
    """Has the watch called around each step of each optimizer, as long as it lives."""
    global _is_watching
    _watches.add(watch)
    try:
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )
    except ImportError:
        wrap_steps()
        return
    if not _is_watching:
        _is_watching = True
        register_optimizer_step_pre_hook(_before)
        register_optimizer_step_post_hook(_after)


def forget(watch: Watch) -> None:
    """Ends the calls that watch_optimizers() began."""
    _watches.discard(watch)


_nested = threading.local()


def wrap_steps() -> None:
    """Replaces the method step of all optimizers, where torch has no hooks for it."""
    if getattr(Optimizer.__init__, "__cupel__", False):
        return
    initialize: Any = Optimizer.__init__

    @functools.wraps(initialize)
    def initializing(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        _wrap_classes(type(optimizer))  # also one that the user has defined only now
        initialize(optimizer, *args, **kwargs)

    initializing.__cupel__ = True  # type: ignore[attr-defined]
    setattr(Optimizer, "__init__", initializing)
    for optimizer in _living_optimizers():
        _wrap_classes(type(optimizer))
        _wrap_instance(optimizer)


def _wrap_classes(optimizer_class: type) -> None:
    for cls in optimizer_class.__mro__:
        step = cls.__dict__.get("step")
        if issubclass(cls, Optimizer) and cls is not Optimizer and callable(step):
            if not getattr(step, "__cupel__", False):
                setattr(cls, "step", _wrapped(step))


def _wrapped(step: Any) -> Any:
    @functools.wraps(step)
    def stepping(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return _step_once(optimizer, functools.partial(step, optimizer, *args, **kwargs))

    stepping.__cupel__ = True  # type: ignore[attr-defined]
    return stepping


def _wrap_instance(optimizer: Optimizer) -> None:
    """Replaces the step that a scheduler has put on an optimizer: it calls that of no class."""
    step = optimizer.__dict__.get("step")
    if not callable(step):
        return
    reference = weakref.ref(optimizer)

    @functools.wraps(step)
    def stepping(*args: Any, **kwargs: Any) -> Any:
        return _step_once(reference(), functools.partial(step, *args, **kwargs))

    setattr(optimizer, "step", stepping)


def _step_once(optimizer: Any, step: Callable[[], Any]) -> Any:
    if getattr(_nested, "optimizer", None) is optimizer:  # super().step()
        return step()
    _nested.optimizer = optimizer
    try:
        _before(optimizer)
        result = step()
        _after(optimizer)
    finally:
        _nested.optimizer = None
    return result


def _living_optimizers() -> list[Optimizer]:
    """All optimizers of the process; takes as long as a pass of the garbage collector."""
    return [each for each in gc.get_objects() if issubclass(type(each), Optimizer)]


class _Known:
    """An optimizer that has parameters of ours."""

    def __init__(self, items: list[WatchedParameter], prefix: str) -> None:
        self.items = items
        self.prefix = prefix
        self.handles: dict[str, Any] = {}


class Updates:
    """The optimizers that update watched parameters."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._known: weakref.WeakKeyDictionary[Optimizer, tuple[int, Optional[_Known]]] = (
            weakref.WeakKeyDictionary()
        )
        self._prefixes: weakref.WeakKeyDictionary[Optimizer, str] = weakref.WeakKeyDictionary()
        self._version = -1
        self._pass_norms: dict[str, torch.Tensor] = {}
        self._updated: set[str] = set()
        self._steps_since_first = 0
        self.wants_pass_norm = False

    def known(self, optimizer: Optimizer) -> Optional[_Known]:
        """The parameters of ours that the optimizer has; None where it has none."""
        parameters = self._parameters
        if parameters.version != self._version:
            self._version = parameters.version
            self._known.clear()
        # add_param_group() is not seen itself.
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        counted, known = self._known.get(optimizer, (-1, None))
        if counted != count:
            ids = _ids([optimizer])
            items = [item for item in parameters.items if id(item.current()) in ids]
            known = self._name(optimizer, items) if items else None
            self._known[optimizer] = (count, known)
        return known

    def _name(self, optimizer: Optimizer, items: list[WatchedParameter]) -> _Known:
        if optimizer not in self._prefixes:
            number = len(self._prefixes)
            self._prefixes[optimizer] = f"optimizer_{number}" if number else "optimizer"
        self._updated.update(item.named.name for item in items)
        return _Known(items, self._prefixes[optimizer])

    def forget(self) -> None:
        """Holds nothing of the optimizers and the parameters any more."""
        self._known.clear()
        self._pass_norms.clear()

    def begin_step(self, native: Any, collections: Iterable[str]) -> None:
        """Forgets what the passes of the step before contributed."""
        self._pass_norms.clear()
        name = "optimizer/gradient_norm_pass"
        if native.due and native.due_beyond([each for each in collections if each != "optimizer"]):
            self.wants_pass_norm = native.wants(native.handle(name, ("optimizer",)))
        else:  # no handle: a run that does not ask for the collection has no such tensor
            self.wants_pass_norm = native.would_save(name)
        if self._updated and self._steps_since_first < 3:
            self._steps_since_first += 1
            if self._steps_since_first == 3:
                self._report_left_out(native)

    def _report_left_out(self, native: Any) -> None:
        left_out = {}
        for item in self._parameters.items:
            tensor = item.current()
            if tensor is not None and item.named.name not in self._updated and tensor.requires_grad:
                left_out[item.named.name] = tensor
        if left_out:
            # A generator is updated once in many updates of its critic.
            waiting = _ids(_living_optimizers())
            left_out = {name: t for name, t in left_out.items() if id(t) not in waiting}
        for name in left_out:
            native.handle(name, ("frozen",))
        if left_out:
            shown = ", ".join(list(left_out)[:8]) + (", ..." if len(left_out) > 8 else "")
            native.report_problem(
                f"no optimizer has {len(left_out)} parameters that require a gradient: {shown}"
            )

    def keep_pass_norm(self, item: WatchedParameter, gradient: torch.Tensor) -> None:
        """Keeps the norm of what a pass contributes; the last pass of a step stays."""
        norm = _norm(gradient)
        if norm is not None:
            self._pass_norms[item.named.name] = norm

    def save_gradients(self, known: _Known, optimizer: Optimizer, saver: Saver) -> None:
        """Saves `.grad` of parameters whose gradients are taken here."""
        scale = getattr(optimizer, "grad_scale", None)  # an optimizer that unscales by itself
        for item in known.items:
            tensor = item.current()
            if not item.by_update or tensor is None or tensor.grad is None:
                continue
            handle = self._parameters.handle_of_gradient(item, saver.native)
            if saver.native.wants(handle):
                gradient = tensor.grad.detach()
                saver.save(handle, gradient if scale is None else gradient / scale)

    def save_view(self, known: _Known, optimizer: Optimizer, saver: Saver) -> None:
        """Saves the rates and the norms of the gradients."""
        for number, group in enumerate(optimizer.param_groups):
            handle = self._handle(known, f"lr_{number}", saver)
            if "lr" in group and saver.native.wants(handle):
                saver.native.save(handle, float(group["lr"]))
        handle = self._handle(known, "gradient_norm", saver)
        if saver.native.wants(handle):
            scale = getattr(optimizer, "grad_scale", None)
            tensors = (item.current() for item in known.items)
            gradients = (t.grad for t in tensors if t is not None and t.grad is not None)
            norms = [norm for norm in map(_norm, gradients) if norm is not None]
            if norms:
                norm = _total(norms)
                saver.native.save(handle, norm if scale is None else norm / float(scale))
        handle = self._handle(known, "gradient_norm_pass", saver)
        if saver.native.wants(handle):
            kept = self._pass_norms
            passes = [kept[i.named.name] for i in known.items if i.named.name in kept]
            if passes:
                saver.native.save(handle, _total(passes))

    @staticmethod
    def _handle(known: _Known, name: str, saver: Saver) -> Any:
        handle = known.handles.get(name)
        if handle is None:
            handle = saver.native.handle(f"{known.prefix}/{name}", ("optimizer",))
            known.handles[name] = handle
        return handle


def was_skipped(optimizer: Optimizer) -> bool:
    """Whether the update did nothing, since a gradient was not finite under AMP."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found)


def _ids(optimizers: Iterable[Optimizer]) -> set[int]:
    """The ids of the parameters that the optimizers have."""
    return {id(p) for each in optimizers for group in each.param_groups for p in group["params"]}


def _norm(gradient: torch.Tensor) -> Optional[torch.Tensor]:
    """The norm of a gradient, of a sharded one that of this worker's part; None without values."""
    with torch.no_grad():
        try:
            if type(gradient) is not torch.Tensor or gradient.layout != torch.strided:
                gradient = converted(gradient)[0]
            if gradient.is_complex():
                gradient = torch.view_as_real(gradient.resolve_conj())
            return torch.linalg.vector_norm(gradient, dtype=torch.float64)
        except (SMDebugError, RuntimeError):
            return None


def _total(norms: Iterable[torch.Tensor]) -> float:
    """The norm of all gradients together; waits for a device once."""
    on_one_device: list[torch.Tensor] = []
    for norm in norms:
        on_one_device.append(norm.to(on_one_device[0].device) if on_one_device else norm)
    return float(torch.linalg.vector_norm(torch.stack(on_one_device)))
