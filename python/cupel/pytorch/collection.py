"""Collections of the PyTorch hook: they also select tensors by the modules that they belong to."""

from __future__ import annotations

import re
from typing import Any, Optional

import torch

from cupel import _native
from cupel.core.collection import CollectionKeys
from cupel.core.collection_manager import CollectionManager as _CollectionManager
from cupel.exceptions import SMDebugTypeError

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class Collection(_native.Collection):
    """A group of tensors that are saved alike, selected by patterns, names or modules."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.modules: list[tuple[torch.nn.Module, bool, bool]] = []

    def add_module_tensors(
        self, module: torch.nn.Module, inputs: bool = False, outputs: bool = True
    ) -> None:
        """Selects what the module takes and returns. It may be registered later than this call.

        Raises SMDebugTypeError for what is no module. Where no registered root has the module, the
        first step raises InvalidCollectionConfiguration.
        """
        if not isinstance(module, torch.nn.Module):
            raise SMDebugTypeError(
                f"add_module_tensors: a torch.nn.Module is needed, not {type(module).__name__}"
            )
        self.modules.append((module, inputs, outputs))


def pattern_of(name: str, side: str) -> str:
    """The pattern of the inputs or the outputs of the module of this name, and of no other."""
    return rf"^{re.escape(name)}_{side}_([0-9]+|[A-Za-z]\w*)$"


class CollectionManager(_CollectionManager):
    """The collections of a PyTorch hook by name; by default it has the built-in ones."""

    def __init__(
        self,
        collections: Optional[dict[str, _native.Collection]] = None,
        create_default: bool = True,
        *,
        collection_class: type = Collection,
        profile: _native.Profile = _native.Profile.PYTORCH,
    ) -> None:
        super().__init__(
            collections, create_default, collection_class=collection_class, profile=profile
        )
