"""Which collections never want what modules below a root take and return.

At a step at which nothing else is due, callbacks of modules return at once.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from cupel import _native

__all__ = ["collections_without_layers"]

_BY_PATTERN = ("weights", "biases", "gradients", "losses")
# The hook puts parameters, and numbers of optimizers, into these by call.
_BY_CALL = ("norms", "embeddings", "frozen", "optimizer", "metrics", "default", "sm_metrics")


def collections_without_layers(
    collections: Mapping[str, Any], modules: Sequence[str]
) -> list[str]:
    """The names of the collections that take no input or output of the modules of these names."""
    builtin = _native.builtin_collections(_native.Profile.PYTORCH)
    names = [name for name in _BY_CALL if name not in collections]
    for name, collection in collections.items():
        if name in ("all", "activations", "attention"):
            continue
        is_untouched = name in builtin and _selection(collection) == _selection(builtin[name])
        if name in _BY_PATTERN and is_untouched:
            if not any(_may_have(collection, module) for module in modules):
                names.append(name)
        elif _selection(collection) == ([], set()):
            names.append(name)
    return names


def _may_have(collection: Any, module: str) -> bool:
    return any(collection.has_tensor_name(f"{module}_{side}_0") for side in ("input", "output"))


def _selection(collection: Any) -> tuple[list[str], set[str]]:
    return list(collection.include_regex), set(collection.tensor_names)
