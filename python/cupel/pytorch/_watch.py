"""What a hook sees of its modules, and when its steps begin.

Callbacks call a Watch on whichever thread torch runs them. They have asked the gate before. The
first step makes the native hook; what is wrong with the configuration is raised there. From then on
nothing of ours is raised into the training: a failure is reported, and saving goes on.
"""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

import torch

from cupel.core.modes import ModeKeys
from cupel.exceptions import SMDebugError

from . import _optimizer
from ._callbacks import (
    Gate,
    LayerCallback,
    LossCallback,
    RootCallback,
    RootPreCallback,
)
from ._compiled import Stance
from ._layers import collections_without_layers
from ._names import NamedModule, NamedRoot, Roots
from ._parameters import Parameters, WatchedParameter
from ._saver import Saver
from ._torch import (
    HOOKS_SEE_KEYWORDS,
    compiled_autograd_is_on,
    in_backward,
    in_check_of_trace,
    in_transform,
)

if TYPE_CHECKING:
    from .hook import Hook

__all__ = ["Watch", "WatchedRoot"]

_log = logging.getLogger("cupel")
_NOT_TRAINING = (ModeKeys.EVAL, ModeKeys.PREDICT)
_KEYWORDS = {"with_kwargs": True} if HOOKS_SEE_KEYWORDS else {}


class WatchedRoot(NamedTuple):
    """A registered module, and whether its forward begins a step."""

    named: NamedRoot
    begins_step: bool


def _move_to_front(module: torch.nn.Module, number: int) -> None:
    """Has a pre-hook run before all others."""
    hooks: Any = module._forward_pre_hooks
    hooks.move_to_end(number, last=False)


class Watch:
    """The modules, parameters and optimizers that a hook watches."""

    def __init__(self, hook: Hook, step_on: str, gradients: str, compiled: str, mode: Any) -> None:
        self.hook = hook
        self.gate = Gate(self)
        self.roots = Roots()
        self.parameters = Parameters(self.gate, gradients == "update")
        self.updates = _optimizer.Updates(self.parameters)
        self.stance = Stance(compiled)
        self.saver: Optional[Saver] = None
        self.takes_mode_of_root = mode == "auto"
        self.has_own_steps = False
        """The user calls next_step(), and forwards begin no steps any more."""
        self._ends_by_update = step_on == "update"
        self._is_open = False  # where updates end steps: a step has begun that none has ended
        self._is_within_step = False  # values that come now belong to the step
        self._pauses = 0
        self._has_warned = False  # about a name that is taken
        self._has_pass = False  # a callback of a parameter has seen a gradient
        self._has_reported = False  # that no callback sees one
        self._watched: list[WatchedRoot] = []
        self._removables: list[Any] = []
        self._losses: weakref.WeakKeyDictionary[torch.nn.Module, Any] = weakref.WeakKeyDictionary()
        self._layers: list[NamedModule] = []
        self._layer_removables: list[Any] = []
        self._without_layers: Optional[list[str]] = None
        self._failures: set[str] = set()
        _optimizer.watch_optimizers(self)

    # ---- Registration

    def add_root(
        self, module: torch.nn.Module, name: Optional[str], begins_step: Optional[bool]
    ) -> None:
        """Watches a module and everything below it."""
        is_first = not self.roots.roots
        named = self.roots.add(module, name)
        if named.name != named.wanted_name and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the name of a root is taken: %s is called %s (logged once)",
                named.wanted_name,
                named.name,
            )
        if not named.parameters:
            _log.info("a root has no parameters of its own: %s", named.name)
        root = WatchedRoot(named, is_first if begins_step is None else begins_step)
        self._watched.append(root)
        # First of all: the hook of fully_shard() puts whole parameters into the place of shards.
        before = module.register_forward_pre_hook(RootPreCallback(self.gate, root), **_KEYWORDS)
        self._removables.append(before)
        _move_to_front(module, before.id)
        self._removables.append(
            module.register_forward_hook(RootCallback(self.gate, root), **_KEYWORDS)
        )
        self.parameters.add(named)
        self._unhook_layers()
        self._layers += named.modules[1:]
        self._without_layers = None
        if self._ends_by_update:
            self._hook_layers()
            self._open_gate_for_next()

    def root_of(self, module: torch.nn.Module) -> WatchedRoot:
        """The registered root that the module is."""
        return next(root for root in self._watched if root.named.module is module)

    def add_loss(self, module: torch.nn.Module) -> bool:
        """Watches a loss module; false where it is watched already."""
        if module in self._losses:
            return False
        callback = LossCallback(self.gate, type(module).__name__)
        self._losses[module] = module.register_forward_hook(callback, **_KEYWORDS)
        return True

    def _hook_layers(self) -> None:
        """Puts callbacks on the modules below the roots, for steps that may want them.

        At other steps there are none: a callback that returns at once still takes 2 us.
        """
        if not self._layer_removables:
            for named in self._layers:
                callback = LayerCallback(self.gate, named)
                removable = named.module.register_forward_hook(callback, **_KEYWORDS)
                self._layer_removables.append(removable)

    def _unhook_layers(self) -> None:
        for removable in self._layer_removables:
            removable.remove()
        self._layer_removables = []

    def let_go(self) -> None:
        """Takes every callback off, so that the modules are as they were, and forgets them."""
        self.gate.shut()
        self.gate.watch = None
        self.stance.restore()
        _optimizer.forget(self)
        self._unhook_layers()
        for removable in [*self._removables, *self._losses.values()]:
            removable.remove()
        self._removables = []
        self._losses.clear()
        self.updates.forget()
        self.parameters.forget()
        self.roots = Roots()
        self._watched = []
        self._layers = []

    # ---- Steps

    def begin_step(
        self, root: Optional[torch.nn.Module] = None, step: Optional[int] = None
    ) -> None:
        """Begins a step of the hook, and saves the parameters if they are due."""
        if root is not None and self.takes_mode_of_root:
            self.hook._take_mode(ModeKeys.TRAIN if root.training else ModeKeys.EVAL)
        self.gate.shut()
        self.hook._begin_native_step(step)
        native = self.hook._engine
        if native is None or self.hook._closed:
            return
        self._is_open = self.hook.mode not in _NOT_TRAINING
        self._is_within_step = True
        self._guard(self._after_begin, native)

    def _after_begin(self, native: Any) -> None:
        is_first = self.saver is None
        saver = self.saver = self.saver or Saver(native)
        if is_first:
            self._report_added(native)
        due = native.due
        if due or is_first:
            self._find_shards()
            self.parameters.find(native)
        self.updates.begin_step(native, self.hook.collection_manager.get_collections())
        layers = due and self._may_want_layers(native)
        if layers:
            self._hook_layers()
            self.stance.run_eagerly()
        else:
            self.stance.restore()
            if not self._ends_by_update:
                self._unhook_layers()
        if not due:
            if not self._ends_by_update:
                self.parameters.unhook()
            return
        self.parameters.save(saver)
        self.gate.due, self.gate.layers = due, layers

    def _report_added(self, native: Any) -> None:
        added = self.roots.added_parameters()
        if added:
            shown = ", ".join(added[:8]) + (", ..." if len(added) > 8 else "")
            native.report_problem(
                f"{len(added)} parameters were added after register_module() and are not seen: "
                + shown
            )

    def _find_shards(self) -> None:
        for root in self._watched:
            module = root.named.module
            if self.parameters.take_by_update(root.named):
                for number, callback in module._forward_pre_hooks.items():
                    if isinstance(callback, RootPreCallback) and callback.gate is self.gate:
                        _move_to_front(module, number)
                        break

    def _may_want_layers(self, native: Any) -> bool:
        if self._without_layers is None:
            modules = [named.name for root in self.roots.roots for named in root.modules[1:]]
            self._without_layers = collections_without_layers(
                self.hook.collection_manager.get_collections(), modules
            )
        return native.due_beyond(self._without_layers)

    def step_has_ended(self) -> None:
        """Nothing is due until the next step begins."""
        self.gate.shut()
        self.stance.restore()
        self._is_open = self._is_within_step = False
        if self._ends_by_update:
            self._open_gate_for_next()

    def _open_gate_for_next(self) -> None:
        # Whatever runs first begins the next step: of a compiled step the root's forward is not
        # seen, and in Lightning it does not run.
        if not self.has_own_steps and not self._pauses:
            self.gate.due = self.gate.layers = True

    def saver_now(self) -> Optional[Saver]:
        """What saves a value that may be saved now; None where nothing may be.

        Begins a step where only an update has ended one.
        """
        if self._pauses or self.hook._closed:
            return None
        if self._ends_by_update and not self.has_own_steps and not self._is_open:
            if self.hook.mode not in _NOT_TRAINING:
                self.begin_step()
            elif self.hook.step < 0:
                return None
        return self.saver if self.gate.due else None

    def pause(self) -> None:
        """Has forwards begin no steps and save nothing, until resume()."""
        self._pauses += 1
        self.gate.shut()
        self.stance.restore()

    def resume(self) -> None:
        """Ends a pause: values belong again to the step that is open now, if there is one."""
        self._pauses -= 1
        native = self.hook._engine
        if self._pauses or self.hook._closed:
            return
        if self._is_within_step and native is not None:
            self._guard(self._open_gate_again, native)
        elif self._ends_by_update:
            self._open_gate_for_next()

    def _open_gate_again(self, native: Any) -> None:
        due = native.due
        layers = due and self._may_want_layers(native)
        if layers:
            self._hook_layers()
            self.stance.is_in_call = False
            self.stance.run_eagerly()
        self.gate.due, self.gate.layers = due, layers

    # ---- What callbacks bring

    def root_called(
        self,
        root: WatchedRoot,
        module: torch.nn.Module,
        args: Any,
        kwargs: Any,
        is_in_compiled_call: bool,
    ) -> None:
        """A root's forward is about to run."""
        self.stance.is_in_call = is_in_compiled_call
        if self._pauses or self.hook._closed or self._is_no_training(args, kwargs):
            return
        if self.has_own_steps or not root.begins_step:
            return
        if self._ends_by_update:
            if self.takes_mode_of_root:
                self.hook._take_mode(ModeKeys.TRAIN if module.training else ModeKeys.EVAL)
            if self._is_open and self.hook.mode not in _NOT_TRAINING:
                return
        self.begin_step(module)

    def root_returned(self, root: WatchedRoot, args: Any, kwargs: Any, output: Any) -> None:
        """A root's forward has run."""
        self._guard(self._save_root, root, args, kwargs, output)

    def _save_root(self, root: WatchedRoot, args: Any, kwargs: Any, output: Any) -> None:
        saver = None if self._is_no_training(args, kwargs) else self.saver_now()
        if saver is None:
            return
        if self.parameters.has_lazy:
            self.parameters.save_new(saver)
        top = root.named.modules[0]
        self._save_call(saver, top.name, top.output_collections(), args, kwargs, output)

    def module_called(self, named: NamedModule, args: Any, kwargs: Any, output: Any) -> None:
        """The forward of a module below a root has run."""
        self._guard(self._save_module, named, args, kwargs, output)

    def _save_module(self, named: NamedModule, args: Any, kwargs: Any, output: Any) -> None:
        saver = None if self._is_no_training(args, kwargs) else self.saver_now()
        if saver is not None and self.gate.layers:
            self._save_call(saver, named.name, named.output_collections(), args, kwargs, output)

    def loss_called(self, name: str, args: Any, kwargs: Any, output: Any) -> None:
        """The forward of a loss module has run."""
        self._guard(self._save_loss, name, args, kwargs, output)

    def _save_loss(self, name: str, args: Any, kwargs: Any, output: Any) -> None:
        self.stance.call_has_ended()
        saver = None if self._is_no_training(args, kwargs) else self.saver_now()
        if saver is not None:
            collections = ("losses",) if name.endswith("Loss") else ()
            self._save_call(saver, name, collections, args, kwargs, output)

    @staticmethod
    def _save_call(
        saver: Saver,
        name: str,
        collections: tuple[str, ...],
        args: Any,
        kwargs: Any,
        output: Any,
    ) -> None:
        if output is ...:  # torch 1.13 shows no keyword arguments
            output, kwargs = kwargs, None
        saver.save_inputs(name, args)
        if kwargs:
            saver.save_inputs(name, kwargs)
        saver.save_outputs(name, output, collections)

    def gradient_computed(self, item: WatchedParameter, gradient: torch.Tensor) -> None:
        """A backward pass has computed what it contributes to a parameter's gradient."""
        self._guard(self._save_gradient, item, gradient)

    def _save_gradient(self, item: WatchedParameter, gradient: torch.Tensor) -> None:
        self.stance.call_has_ended()
        saver = self.saver_now()
        if saver is None:
            return
        self._has_pass = True
        if self.updates.wants_pass_norm:
            self.updates.keep_pass_norm(item, gradient)
        if not item.by_update:
            saver.save(self.parameters.handle_of_gradient(item, saver.native), gradient)

    def update_begins(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to update parameters."""
        if not self._pauses and not self.hook._closed:
            self._guard(self._save_update, optimizer)

    def _save_update(self, optimizer: torch.optim.Optimizer) -> None:
        self.stance.call_has_ended()
        known = self.updates.known(optimizer)
        saver = None if known is None else self.saver_now()
        if known is None or saver is None:
            return
        if not self._has_pass and not self._has_reported and compiled_autograd_is_on():
            self._report_compiled_pass(saver.native)
        self.updates.save_gradients(known, optimizer, saver)
        self.updates.save_view(known, optimizer, saver)

    def _report_compiled_pass(self, native: Any) -> None:
        if any(
            not item.by_update and native.would_save("gradient/" + item.named.name)
            for item in self.parameters.items
        ):
            self._has_reported = True
            native.report_problem(
                "compiled autograd shows no gradients of a backward pass; "
                'gradients="update" sees them in the optimizer\'s step'
            )

    def update_ended(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has updated parameters."""
        if self._ends_by_update and self._is_open and not self._pauses and not self.has_own_steps:
            self._guard(self._end_by_update, optimizer)

    def _end_by_update(self, optimizer: torch.optim.Optimizer) -> None:
        if self.updates.known(optimizer) is not None and not _optimizer.was_skipped(optimizer):
            self.hook.end_step()

    @staticmethod
    def _is_no_training(args: Any, kwargs: Any) -> bool:
        """Whether the forward is one that torch repeats, traces or transforms."""
        if in_backward() or in_check_of_trace():
            return True
        values = (*args, *kwargs.values()) if isinstance(kwargs, dict) else args
        return in_transform(values)

    def _guard(self, work: Callable[..., None], *args: Any) -> None:
        """Calls `work`; a failure of ours is reported once and never leaves a callback."""
        try:
            work(*args)
        except Exception as error:  # noqa: BLE001
            if isinstance(error, SMDebugError) and self.hook._raises(error):
                raise
            what = f"{work.__name__.strip('_')}: {type(error).__name__}"
            if what not in self._failures:  # the text may differ at each step
                self._failures.add(what)
                if self.hook._engine is not None:
                    self.hook._engine.report_problem(f"{what}: {error}")
