"""When something is saved."""

from .._native import SaveConfig, SaveConfigMode

__all__ = ["SaveConfig", "SaveConfigMode"]
