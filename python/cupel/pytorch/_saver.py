"""What turns tensors of torch into saves of the native hook."""

from __future__ import annotations

from typing import Any

import torch

from ._torch import is_fake
from ._values import walk

__all__ = ["Saver"]

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Saver:
    """Saves by handle what is due."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self._unknown: set[str] = set()

    def save(self, handle: Any, tensor: torch.Tensor) -> None:
        """Saves the tensor where it is due; what has no values is reported once, by name."""
        if type(tensor) in _PLAIN or not is_fake(tensor):
            self.native.save(handle, tensor)

    def save_inputs(self, module: str, values: Any) -> None:
        """Saves what went into a module, positional arguments or those with keywords."""
        native = self.native
        walk(
            values,
            lambda tensor: self.save(native.next_input(module), tensor),
            lambda key, tensor: self.save(native.handle(f"{module}_input_{key}"), tensor),
            lambda value: self._report(module, "took", value),
        )

    def save_outputs(self, module: str, values: Any, collections: tuple[str, ...] = ()) -> None:
        """Saves what came out of a module.

        A tensor under the key "loss" is a loss, by the pattern of that collection.
        """
        native = self.native
        walk(
            values,
            lambda tensor: self.save(native.next_output(module, collections), tensor),
            lambda key, tensor: self.save(
                native.handle(f"{module}_output_{key}", collections), tensor
            ),
            lambda value: self._report(module, "returned", value),
        )

    def _report(self, module: str, verb: str, value: Any) -> None:
        what = f"{module} {verb} an object of the class {type(value).__name__}"
        if what not in self._unknown:
            self._unknown.add(what)
            self.native.report_problem(f"{what}, whose tensors are not seen")
