"""The purposes that a step can have."""

from enum import Enum

__all__ = ["ModeKeys"]


class ModeKeys(Enum):
    """The mode of a step. Each mode counts its own steps from 0; GLOBAL counts the steps of all modes."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
