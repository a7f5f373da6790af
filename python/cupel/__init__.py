"""cupel: saves tensors out of a training, and judges the training by rules while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import version as _version
from .core.collection import Collection, CollectionKeys
from .core.modes import ModeKeys as modes
from .core.reduction_config import ReductionConfig
from .core.save_config import SaveConfig, SaveConfigMode
from .hook import Hook

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "__version__",
    "create_trial",
    "modes",
]

__version__ = _version()


if TYPE_CHECKING:
    from .trials import create_trial
else:

    def __getattr__(name: str) -> Any:
        # A program that only saves does not import the modules for reading.
        if name == "create_trial":
            from .trials import create_trial

            return create_trial
        raise AttributeError(f"module {__name__} has no attribute {name}")
