"""Tensors in what modules take and return, with the names that they get."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Callable

import torch

__all__ = ["walk"]

_SILENT = (bool, int, float, complex, str, bytes, type(None))


def walk(
    value: Any,
    numbered: Callable[[torch.Tensor], None],
    keyed: Callable[[str, torch.Tensor], None],
    unknown: Callable[[Any], None],
) -> None:
    """Visits the tensors of a value in order.

    Tensors of tuples and lists go to `numbered`; those of a mapping to `keyed` with their key, and
    within a value of a mapping with the key and a number, or the key of the mapping within.
    Objects that are neither, and may hold tensors, go to `unknown`.
    """
    if isinstance(value, torch.Tensor):
        numbered(value)
    elif isinstance(value, _SILENT):
        pass
    elif isinstance(value, Mapping):
        _walk_mapping(value, "", keyed, unknown)
    elif isinstance(value, (tuple, list)):
        for item in value:
            walk(item, numbered, keyed, unknown)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        fields = {name: getattr(value, name, None) for name in names}
        _walk_mapping(fields, "", keyed, unknown)
    elif _may_hold_tensors(value):
        unknown(value)


def _walk_mapping(
    mapping: Mapping,
    prefix: str,
    keyed: Callable[[str, torch.Tensor], None],
    unknown: Callable[[Any], None],
) -> None:
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, torch.Tensor):
            keyed(name, value)
            continue
        count = 0

        def number(tensor: torch.Tensor, name: str = name) -> None:
            nonlocal count
            keyed(f"{name}_{count}", tensor)
            count += 1

        def within(inner: str, tensor: torch.Tensor, name: str = name) -> None:
            keyed(f"{name}_{inner}", tensor)

        walk(value, number, within, unknown)


def _may_hold_tensors(value: Any) -> bool:
    # A cache of keys and values is state of the model, not what it computes.
    if "Cache" in type(value).__name__:
        return False
    return any(isinstance(held, torch.Tensor) for held in getattr(value, "__dict__", {}).values())
