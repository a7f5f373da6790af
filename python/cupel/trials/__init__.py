"""Trials: runs that are read, also while they are written."""

from .reduction_table import ReductionTable
from .trial import LocalTrial, Note, S3Trial, Trial, create_trial

__all__ = ["LocalTrial", "Note", "ReductionTable", "S3Trial", "Trial", "create_trial"]
