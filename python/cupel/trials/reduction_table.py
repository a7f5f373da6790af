"""What the index of a run holds of many tensors at many steps, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, Iterator

import numpy

from .. import _native

if TYPE_CHECKING:
    import pandas

__all__ = ["ReductionTable"]


class ReductionTable(Mapping[str, numpy.ndarray]):
    """Columns by name, each a numpy array with one element per tensor, step and worker.

    The columns are `step` (global), `mode` (its name), `mode_step`, `worker`, `tensor`, `elements`,
    the counts `nan`, `pos_inf`, `neg_inf` and `zero`, and one for each reduction that any row has:
    `mean`, `abs_mean`, `l2` and so on. Rows are ordered by step, tensor, worker.

    A reduction that was not saved is NaN. `was_saved("mean")` is False there, and True for a NaN
    that was saved.
    Counts are 0 where `was_saved("counts")` is False.
    """

    def __init__(self, native: Dict[str, Any]) -> None:
        self._native = native
        self._columns: Dict[str, numpy.ndarray] = dict(native["columns"])
        modes = numpy.array(["", "TRAIN", "EVAL", "PREDICT", "GLOBAL"], dtype=object)
        self._columns["mode"] = modes[self._columns["mode"]]
        for column, names in (("tensor", native["tensors"]), ("worker", native["workers"])):
            self._columns[column] = numpy.array(names, dtype=object)[self._columns[column]]

    def __getitem__(self, column: str) -> numpy.ndarray:
        return self._columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._columns["step"])

    def was_saved(self, column: str) -> numpy.ndarray:
        """Whether each row has the reduction; `counts`: whether special elements were counted."""
        return (self._native["saved"] >> _native.saved_bit(column) & 1).astype(bool)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame. Imports pandas."""
        import pandas

        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        return f"<ReductionTable of {self.rows} rows: {', '.join(self._columns)}>"
