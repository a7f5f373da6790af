"""Trial: answers which steps and tensors of a run exist, and reads their values.

The engine in C++ does the work; the classes here give it the shapes of the SDK that scripts are
ported from.
"""

from __future__ import annotations

import os
from logging import Logger
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Type, Union

import numpy

from .. import _native
from ..core.arguments import (
    StepRange,
    as_mode,
    as_path,
    as_range,
    as_seconds,
    as_step,
    as_steps,
    as_text,
    as_texts,
)
from ..core.logger import get_logger
from ..core.modes import ModeKeys
from ..core.tensor import StepState, Tensor
from ..exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from .reduction_table import ReductionTable

__all__ = ["LocalTrial", "Note", "S3Trial", "Trial", "create_trial"]

Mode = Optional[ModeKeys]


class Note(NamedTuple):
    """A message of a hook to the readers of a run, such as the reason for missing data."""

    step: int  #: The global step with which the note was committed.
    worker: str  #: The worker whose hook wrote the note.
    text: str  #: The note itself, as JSON text.


class Trial:
    """A run that is read. It may still be written: queries see newly committed steps.

    `path` is a directory, or a location such as "s3://bucket/prefix". `name` is the name of the
    trial; default: the last part of the path. Of `range_steps=(begin, end)` only the global steps
    begin <= step < end are loaded. `wait_for_run` is how many seconds to wait for a run that is not
    there yet; by default `MissingCollectionFiles` is raised at once.

    Steps are listed when every worker has committed them. Threads may query one trial at the same
    time. A trial that is pickled is opened again where it is unpickled.
    """

    def __init__(
        self,
        path: Union[str, os.PathLike],
        name: Optional[str] = None,
        range_steps: Optional[StepRange] = None,
        *,
        wait_for_run: float = 0.0,
    ) -> None:
        location = as_path("path", path)
        given_name = "" if name is None else as_text("name", name)
        steps = as_range("range_steps", range_steps)
        seconds = as_seconds("wait_for_run", wait_for_run)
        native = _native.open_trial(
            os.fsencode(location), os.fsencode(given_name), steps, seconds
        )
        # A trial that is pickled may be opened again in another directory.
        kept = location if "://" in location else os.path.abspath(location)
        self._hold(native, (kept, given_name or None, steps))

    def _hold(self, native: Any, opened_with: tuple) -> None:
        self._native = native
        self._opened_with = opened_with
        self._collections: Dict[str, _native.Collection] = {}
        # The names of tensors that the engine has listed so far, by collection.
        self._listed_names: Dict[str, Set[str]] = {}
        self._pin: Any = None

    @classmethod
    def _of(cls, native: Any) -> Trial:
        """The trial of a view that the engine has opened."""
        trial = cls.__new__(cls)
        trial._hold(native, (native.path, native.name, None))
        return trial

    def __reduce__(self) -> tuple:
        return (_open, (type(self), self._opened_with))

    # ---- The run

    @property
    def name(self) -> str:
        """The name of the trial."""
        return self._native.name

    @property
    def path(self) -> str:
        """The directory of the run, or its location in a store."""
        return self._native.path

    @property
    def format(self) -> str:
        """The format of the run: "cupel"."""
        return self._native.format

    @property
    def logger(self) -> Logger:
        """The logger that gets cupel's log lines."""
        return get_logger()

    @property
    def num_workers(self) -> int:
        """The number of workers that the run has."""
        return self._native.num_workers()

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the run has ended and everything was read."""
        return self._native.ended()

    @property
    def last_complete_step(self) -> int:
        """The greatest complete global step; -1 at first."""
        return self._native.last_complete_step()

    @property
    def dynamic_refresh(self) -> bool:
        """Whether queries see newly committed steps. False within `no_refresh`, and once set so."""
        return not self._native.pinned

    @dynamic_refresh.setter
    def dynamic_refresh(self, on: bool) -> None:
        on = bool(on)
        if on and self._pin is not None and self._pin.are_last():
            self._pin.end()
            self._pin = None
        if self._pin is None and on is not self._native.pinned:
            return  # as it is
        if on or (self._pin is not None and not self._native.pinned):
            raise SMDebugRuntimeError("dynamic_refresh is fixed within no_refresh() and refresh()")
        if self._pin is None:
            self._pin = _native.Pins([self._native], False)

    def refresh(self) -> bool:
        """Polls for newly committed steps: True if any came, or the run ended."""
        return self._native.refresh()

    def workers(self) -> List[str]:
        """All known workers, worker_2 before worker_10."""
        return self._native.workers()

    def notes(self, steps: Optional[StepRange] = None) -> List[Note]:
        """The notes of hooks at the global steps (begin, end), by step, then worker."""
        return [Note(*note) for note in self._native.notes(as_range("steps", steps))]

    # ---- Steps

    def steps(
        self, mode: Mode = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> List[int]:
        """The sorted steps of a mode; GLOBAL: all global steps."""
        return self._native.steps(as_mode(mode), bool(show_incomplete_steps))

    def modes(self) -> List[ModeKeys]:
        """The modes that have data."""
        return self._native.modes()

    def mode(self, global_step: int) -> Optional[ModeKeys]:
        """The mode of a global step; None if nothing was saved there."""
        return self._native.mode(as_step("global_step", global_step))

    def mode_step(self, global_step: int) -> Optional[int]:
        """The number of a global step in its mode; None if nothing was saved there."""
        return self._native.mode_step(as_step("global_step", global_step))

    def global_step(self, mode: Mode, mode_step: int) -> Optional[int]:
        """The global step of a step of a mode; None if nothing was saved there."""
        return self._native.global_step(as_mode(mode), as_step("mode_step", mode_step))

    def has_passed_step(self, step: int, mode: Mode = ModeKeys.GLOBAL) -> StepState:
        """Whether the step is available, may come, or will never come."""
        return StepState(self._native.has_passed_step(as_step("step", step), as_mode(mode)))

    def wait_for_steps(
        self,
        required_steps: Iterable[int],
        mode: Mode = ModeKeys.GLOBAL,
        *,
        timeout: Optional[float] = None,
    ) -> None:
        """Returns when all steps are available.

        Raises `StepUnavailable` for a step that the run has passed, `NoMoreData` for one behind the
        end of an ended run, and `StepNotYetAvailable` after `timeout` seconds (None: never). Works
        within `no_refresh`, too.
        """
        seconds = None if timeout is None else as_seconds("timeout", timeout)
        steps = as_steps("required_steps", required_steps)
        self._native.wait_for_steps(steps, as_mode(mode), seconds)

    # ---- Tensors

    def tensor_names(
        self,
        step: Optional[int] = None,
        mode: Mode = ModeKeys.GLOBAL,
        regex: Any = None,
        collection: Any = None,
    ) -> List[str]:
        """Sorted names of tensors: all, or those that were saved at a step, or in a mode.

        `regex` is a pattern or a list of patterns, of which one is found anywhere in the name;
        `collection` is the name of a collection, or a collection. They exclude each other.
        """
        if regex is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes regex or collection, not both")
        number = None if step is None else as_step("step", step)
        if collection is None or isinstance(collection, str):
            name = "" if collection is None else as_text("collection", collection)
            changed = self._collections.get(name)
            if changed is None:
                patterns = as_texts("regex", regex)
                return self._native.tensor_names(number, as_mode(mode), patterns, name)
            collection = self.collection(name)
        if not isinstance(collection, _native.Collection):
            raise SMDebugTypeError(f"collection is a name or a Collection, not {collection!r}")
        return self._native.tensor_names_of(number, as_mode(mode), collection)

    def tensor(self, tname: str) -> Tensor:
        """The tensor. Raises `TensorUnavailable` if no committed step contains it."""
        return Tensor(self, self._native.tensor(as_text("tname", tname)))

    def has_tensor(self, tname: str) -> bool:
        """Whether a committed step contains the tensor."""
        return self._native.has_tensor(as_text("tname", tname))

    def collections(self) -> Dict[str, _native.Collection]:
        """The collections by name, with the names that each lists or that its patterns match."""
        return {each.name: self._kept(each) for each in self._native.collections()}

    def collection(self, coll_name: str) -> _native.Collection:
        """A collection; an empty one if the run has none of the name.

        The caller may change it. Queries for the collection by name use what was changed.
        """
        return self._kept(self._native.collection(as_text("coll_name", coll_name)))

    def _kept(self, collection: _native.Collection) -> _native.Collection:
        """The object of the collection that the caller may have changed.

        Each name that the engine lists is added to the object once: a name that the caller removes
        stays removed.
        """
        kept = self._collections.setdefault(collection.name, collection)
        listed = self._listed_names.setdefault(collection.name, set())
        for name in collection.tensor_names - listed:
            listed.add(name)
            kept.add_tensor_name(name)
        return kept

    def inputs(self, step: int, mode: Mode = ModeKeys.GLOBAL) -> List[numpy.ndarray]:
        """The values of the collection `inputs` at the step, in the order of names."""
        return self._native.inputs(as_step("step", step), as_mode(mode))

    def labels(self, step: int, mode: Mode = ModeKeys.GLOBAL) -> List[numpy.ndarray]:
        """The values of tensors whose name contains `label`, in the order of names."""
        return self._native.labels(as_step("step", step), as_mode(mode))

    def predictions(self, step: int, mode: Mode = ModeKeys.GLOBAL) -> List[numpy.ndarray]:
        """The values of tensors whose name contains `prediction`, in the order of names."""
        return self._native.predictions(as_step("step", step), as_mode(mode))

    def reductions(
        self,
        name: Any = None,
        collection: Optional[str] = None,
        steps: Optional[StepRange] = None,
        mode: Mode = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        show_incomplete_steps: bool = False,
    ) -> ReductionTable:
        """Saved reductions and counts of many tensors at many steps, column by column.

        `name` is a pattern or a list of patterns, and excludes `collection`. `steps` is a pair
        (begin, end) of steps of the mode.
        """
        if name is not None and collection is not None:
            raise SMDebugValueError("reductions takes name or collection, not both")
        return ReductionTable(
            self._native.reductions(
                as_texts("name", name),
                "" if collection is None else as_text("collection", collection),
                as_range("steps", steps),
                as_mode(mode),
                None if worker is None else as_text("worker", worker),
                bool(show_incomplete_steps),
            )
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self.path!r}>"


class LocalTrial(Trial):
    """A run in a directory."""

    def __init__(
        self,
        name: Optional[str],
        dirname: Union[str, os.PathLike],
        range_steps: Optional[StepRange] = None,
        *,
        wait_for_run: float = 0.0,
    ) -> None:
        super().__init__(dirname, name, range_steps, wait_for_run=wait_for_run)


class S3Trial(Trial):
    """A run in a bucket of S3, or of a server that speaks its protocol."""

    def __init__(
        self,
        name: Optional[str],
        bucket_name: str,
        prefix_name: str,
        range_steps: Optional[StepRange] = None,
        *,
        wait_for_run: float = 0.0,
    ) -> None:
        bucket = as_text("bucket_name", bucket_name)
        prefix = as_text("prefix_name", prefix_name).strip("/")
        super().__init__(f"s3://{bucket}/{prefix}", name, range_steps, wait_for_run=wait_for_run)


def _open(kind: Type[Trial], opened_with: tuple) -> Trial:
    """Opens a trial, whatever arguments its class takes."""
    trial = kind.__new__(kind)
    Trial.__init__(trial, *opened_with)
    return trial


def create_trial(
    path: Union[str, os.PathLike],
    name: Optional[str] = None,
    range_steps: Optional[StepRange] = None,
    *,
    wait_for_run: float = 0.0,
) -> Trial:
    """Opens a run: a directory, or a location such as "s3://bucket/prefix". See `Trial`."""
    location = as_path("path", path)
    kind = S3Trial if location.startswith("s3://") else Trial if "://" in location else LocalTrial
    trial = kind.__new__(kind)
    Trial.__init__(trial, location, name, range_steps, wait_for_run=wait_for_run)
    return trial
