"""Writing a run step by step, without a hook."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

from .. import _native
from ..exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from .arguments import as_mode, as_path, as_step, as_text
from .config_constants import DEFAULT_WORKER_NAME
from .modes import ModeKeys

__all__ = ["FileWriter"]


class FileWriter:
    """Writes one step of a run: `with FileWriter(directory, step=3) as writer: ...`.

    The steps of a worker are written in ascending order, by one FileWriter each. A step exists once
    close() has returned. The run stays unfinished until `training_has_ended(directory)` is called
    (cupel.core.access_layer.utils). `collections` are those that readers see. The configurations of
    a collection are used for its tensors; tensors of no collection are saved raw. `num_workers` is
    the number of workers of the run.
    """

    def __init__(
        self,
        trial_dir: Union[str, os.PathLike],
        step: int = 0,
        worker: Optional[str] = None,
        *,
        num_workers: int = 1,
        collections: Sequence[Any] = (),
    ) -> None:
        self.trial_dir = as_path("trial_dir", trial_dir)
        self.step = as_step("step", step)
        self.worker = DEFAULT_WORKER_NAME if worker is None else as_text("worker", worker)
        if self.step < 0:
            raise SMDebugValueError(f"a step is 0 or more: {self.step}")
        for collection in collections:
            if not isinstance(collection, _native.Collection):
                raise SMDebugTypeError(f"collections are Collection objects, not {collection!r}")
        self._mode: Any = None
        self._writer: Optional[_native.RunWriter] = _native.RunWriter(
            os.fsencode(self.trial_dir),
            self.worker,
            as_step("num_workers", num_workers),
            list(collections),
        )

    def write_tensor(
        self,
        tdata: Any,
        tname: str,
        mode: Optional[ModeKeys] = None,
        mode_step: Optional[int] = None,
    ) -> None:
        """Saves a value in the step. All values of a step have one mode and one mode step.

        `mode_step` is the number of the step in its mode; default: the step.
        """
        if self._writer is None:
            raise SMDebugRuntimeError(f"the writer of step {self.step} is closed")
        name = as_text("tname", tname)
        number = self.step if mode_step is None else as_step("mode_step", mode_step)
        wanted = (as_mode(mode), number)
        if self._mode is None:
            self._writer.step(self.step, *wanted)
            self._mode = wanted
        elif self._mode != wanted:
            is_, not_ = (f"{mode.name} step {step}" for mode, step in (self._mode, wanted))
            raise SMDebugValueError(f"step {self.step} is {is_}, not {not_}")
        self._writer.save(name, tdata)

    def flush(self) -> None:
        """Does nothing: values are written as they come, and close() commits the step."""

    def close(self) -> None:
        """Commits the step. A second call does nothing."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            if self._mode is not None:  # The next step commits this one, and stays empty.
                mode, number = self._mode
                writer.step(self.step + 1, mode, number + 1)
        finally:
            writer.close()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
