"""What is saved of a tensor."""

from .._native import ReductionConfig

__all__ = ["ReductionConfig"]
