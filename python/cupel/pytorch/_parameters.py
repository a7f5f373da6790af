"""The parameters of the registered roots: their handles, and the callbacks of their gradients.

A parameter is found again by the module that owns it when a step begins: fully_shard(),
to_empty() and load_state_dict(assign=True) put another object in its place.
"""

from __future__ import annotations

import logging
import weakref
from typing import Any, Optional

import torch
from torch.nn.parameter import is_lazy

from ._callbacks import Gate, GradientCallback
from ._names import NamedParameter, NamedRoot
from ._saver import Saver

__all__ = ["Parameters", "WatchedParameter"]

_log = logging.getLogger("cupel")


class WatchedParameter:
    """One parameter: what stands in its place now, and the handles of its two names."""

    __slots__ = ("named", "_tensor", "value", "gradient", "removable", "by_update")

    def __init__(self, named: NamedParameter, by_update: bool) -> None:
        self.named = named
        self._tensor: Optional[weakref.ref[torch.Tensor]] = None
        self.value: Any = None
        self.gradient: Any = None
        self.removable: Any = None
        self.by_update = by_update
        """The gradient is taken in the optimizer's step, not in the backward pass."""

    def stands_in_place(self, tensor: torch.Tensor) -> bool:
        """Whether this object stood in the place when it was last found.

        What the weak reference gives is compared and not kept: where only C++ holds the tensor, it
        is not safe to.
        """
        return self._tensor is not None and self._tensor() is tensor

    @property
    def was_found(self) -> bool:
        """Whether anything has stood in the place."""
        return self._tensor is not None

    def take(self, tensor: torch.Tensor) -> None:
        """Remembers what stands in the place now, which stays the module's alone."""
        self._tensor = weakref.ref(tensor)

    def current(self) -> Optional[torch.Tensor]:
        """What the module has under the parameter's name; None while it has nothing there."""
        return self.named.owner._parameters.get(self.named.key)

    def collections(self, tensor: torch.Tensor) -> tuple[str, ...]:
        """The collections that the parameter is in by its kind, whatever its name is."""
        name, module = self.named.name, self.named.module
        collections = []
        if "weight" not in name and "bias" not in name and tensor.dim() >= 2:
            collections.append("weights")
        if module.role.is_norm:
            collections.append("norms")
        if module.role.is_embedding:
            collections.append("embeddings")
        if module.is_in_attention:
            collections.append("attention")
        return tuple(collections)


class Parameters:
    """All watched parameters of a hook."""

    def __init__(self, gate: Gate, gradients_by_update: bool) -> None:
        self.items: list[WatchedParameter] = []
        self._gate = gate
        self._by_update = gradients_by_update
        self._has_warned = False
        self._has_callbacks = False
        self.has_lazy = False
        self.version = 0
        """Changes whenever another object stands in the place of a parameter."""

    def add(self, root: NamedRoot) -> None:
        """Watches the parameters of a root from the next step on."""
        is_sharded = any(
            type(named.module).__name__ == "FullyShardedDataParallel" for named in root.modules
        )
        for named in root.parameters:
            self.items.append(WatchedParameter(named, self._by_update or is_sharded))
        self.version += 1

    def take_by_update(self, root: NamedRoot) -> bool:
        """Takes the gradients of a root in updates once fully_shard() has changed it.

        Callbacks on such parameters never run: a pass works on other tensors. True when it is new.
        """
        if not any(cls.__name__ == "FSDPModule" for cls in type(root.module).__mro__):
            return False
        names = {named.name for named in root.parameters}
        items = [item for item in self.items if item.named.name in names and not item.by_update]
        for item in items:
            item.by_update = True
        return bool(items)

    def find(self, native: Any) -> None:
        """Finds parameters that are new or have been replaced, and hooks what lacks a callback."""
        self.has_lazy = False
        for item in self.items:
            tensor = item.current()
            if tensor is None:
                continue
            if not item.stands_in_place(tensor):
                if is_lazy(tensor):
                    self.has_lazy = True
                    continue
                self._take(item, tensor, native)
            if item.removable is None and tensor.requires_grad and not tensor.is_meta:
                self._hook(item, tensor)

    def _take(self, item: WatchedParameter, tensor: torch.Tensor, native: Any) -> None:
        replaced = item.was_found
        if replaced and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the parameter %s was replaced after register_module(), and is watched again"
                " (logged once)",
                item.named.name,
            )
        self._unhook(item)
        item.take(tensor)
        self.version += 1
        if item.value is None:
            item.value = native.handle(item.named.name, item.collections(tensor))
            if not tensor.requires_grad:
                native.handle(item.named.name, ("frozen",))
        # The hooks of such a parameter never run: the pass works on another tensor.
        if hasattr(tensor, "to_local"):
            item.by_update = True

    def _hook(self, item: WatchedParameter, tensor: torch.Tensor) -> None:
        self._has_callbacks = True
        register: Any = tensor.register_hook  # torch gives it no types
        item.removable = register(GradientCallback(self._gate, item))

    def handle_of_gradient(self, item: WatchedParameter, native: Any) -> Any:
        """The handle of the gradient, looked up when there is one."""
        if item.gradient is None:
            item.gradient = native.handle("gradient/" + item.named.name)
        return item.gradient

    def save(self, saver: Saver) -> None:
        """Saves the values that are due."""
        self._save(self.items, saver)

    def save_new(self, saver: Saver) -> None:
        """Saves the values of lazy parameters that have got theirs."""
        waiting = [item for item in self.items if item.value is None]
        self.find(saver.native)
        self._save(waiting, saver)

    @staticmethod
    def _save(items: list[WatchedParameter], saver: Saver) -> None:
        for item in items:
            tensor = item.current()
            if item.value is not None and tensor is not None:
                saver.save(item.value, tensor)

    @staticmethod
    def _unhook(item: WatchedParameter) -> None:
        if item.removable is not None:
            item.removable.remove()
            item.removable = None

    def unhook(self) -> None:
        """Takes every callback off; find() puts them on again."""
        if self._has_callbacks:
            self._has_callbacks = False
            for item in self.items:
                self._unhook(item)

    def forget(self) -> None:
        """Takes every callback off, and holds no module any more."""
        self.unhook()
        self.items = []
        self.version += 1
