"""What the hooks of all frameworks share: options, collections, steps, scalars, the end.

A BaseHook keeps everything in Python until the first step begins, since only then it is known
which worker this is and which collections there are. Then it makes the native hook, which saves
from there on. The native hook reports errors after that moment and does not raise them, unless
`on_error` is "throw".
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any, Iterable, Optional, Type, TypeVar, Union

from .. import _native
from ..exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugTypeError,
    SMDebugValueError,
    StoreError,
)
from . import hook_registry
from .arguments import as_out_dir, as_step, as_text, as_texts
from .collection_manager import CollectionManager, copy_of
from .logger import get_logger
from .modes import ModeKeys

__all__ = ["BaseHook"]

AnyHook = TypeVar("AnyHook", bound="BaseHook")
Names = Union[None, str, Iterable[Any]]

_log = get_logger()

# What a collection is compared by.
_SETTINGS = ("include_regex", "tensor_names", "save_config", "reduction_config", "save_histogram")

# Calls that save before the first step; the values of further ones are dropped.
_MOST_EARLY_SAVES = 1000


def _save_config(value: Any) -> Optional[_native.SaveConfig]:
    if value is None or isinstance(value, _native.SaveConfig):
        return value
    if isinstance(value, _native.SaveConfigMode):
        return _native.SaveConfig(mode_save_configs={mode: value for mode in ModeKeys})
    if isinstance(value, dict):
        return _native.SaveConfig(mode_save_configs=value)
    raise SMDebugTypeError(f"save_config is a SaveConfig, not {type(value).__name__}")


def _copy(value: Any) -> Any:
    """A copy of a value that waits for the first step."""
    if hasattr(value, "detach"):
        return value.detach().clone()
    return value.copy() if hasattr(value, "copy") else value


class BaseHook:
    """A hook of a framework. Its subclasses see into the framework and save what they see.

    out_dir: the directory or location of the run.
    export_tensorboard, tensorboard_dir: whether, and where, the run is written for TensorBoard too.
    dry_run: whether the hook only logs what it would save.
    reduction_config: what is saved of a tensor; by default its raw value.
    save_config: the saved steps: a SaveConfig, a SaveConfigMode, or a dict of them by mode.
    include_regex: patterns of tensors to save, beside those of collections.
    include_collections: names of collections to save, beside those that are always saved.
    save_all: whether every tensor is saved.
    include_workers: "one", or "all" workers of a job write.
    existing: what to do with a finished run in out_dir: "refuse", "replace" or "continue".
    commit: whether a step's end waits until the step is on disk: "step", or "background".
    overhead_budget: the largest share of the training's time that saving may take, such as 0.01.
    on_error: whether an error ends saving, "disable", or leaves the call, "throw".

    `options` are the other options of the writer by name: worker, num_workers, commit_timeout,
    sync, buffer_bytes, when_full, segment_bytes, segment_age, spool_dir, spool_bytes,
    upload_parallelism, close_timeout, s3_sync. Times are seconds.

    The constructor raises SMDebugRuntimeError without an out_dir or for a finished run in it, and
    SMDebugValueError for an illegal option.
    """

    _profile = _native.Profile.GENERIC
    _collection_class: type = _native.Collection

    def __init__(
        self,
        out_dir: Optional[str] = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Optional[_native.ReductionConfig] = None,
        save_config: Any = None,
        include_regex: Names = None,
        include_collections: Names = None,
        save_all: bool = False,
        include_workers: str = "one",
        *,
        existing: str = "refuse",
        commit: str = "step",
        overhead_budget: Optional[float] = None,
        on_error: str = "disable",
        **options: Any,
    ) -> None:
        if "profile" in options:
            raise SMDebugTypeError("the profile of a hook is that of its framework")
        self._options: dict[str, Any] = {
            **options,
            "out_dir": "" if out_dir is None else as_out_dir(out_dir),
            "export_tensorboard": export_tensorboard,
            "tensorboard_dir": tensorboard_dir,
            "dry_run": dry_run,
            "reduction_config": reduction_config,
            "save_config": _save_config(save_config),
            "include_regex": as_texts("include_regex", include_regex),
            "include_collections": as_texts("include_collections", include_collections),
            "save_all": save_all,
            "include_workers": include_workers,
            "existing": existing,
            "commit": commit,
            "overhead_budget": overhead_budget,
            "on_error": on_error,
        }
        self._begin_life()
        _native.check_hook({**self._options, "profile": self._profile})
        # The native hook is given these collections in the place of its own.
        self.collection_manager.get("default").include(self._options["include_regex"])
        if save_all:
            self.collection_manager.get("all").include([".*"])
        _open_hooks.add(self)
        hook_registry.remember(self)

    def _begin_life(self) -> None:
        """Sets what a hook has before its first step, and what a dead one has for ever."""
        self.collection_manager = CollectionManager(
            create_default=True, collection_class=self._collection_class, profile=self._profile
        )
        self.report: Optional[_native.HookReport] = None
        self._engine: Any = None  # the native hook
        self._closed = False
        self._mode = ModeKeys.GLOBAL
        self._identity: Optional[tuple[str, int]] = None
        self._lock = threading.RLock()  # guards the change from waiting values to the native hook
        # Saves before the first step, by name: value, collections, whether it needs no due step.
        self._waiting: dict[str, tuple[Any, list[str], bool]] = {}
        self._early_saves = 0  # calls before the first step
        self._may_be_empty: set[str] = set()  # collections of a configuration file
        # Collections as the native hook has them, as far as get_collection() has returned them.
        self._as_begun: dict[str, _native.Collection] = {}
        self._refused: set[str] = set()  # names of values that could not be saved
        self._has_warned = False

    # ---- The life of a hook

    @classmethod
    def create_from_json_file(
        cls: Type[AnyHook], json_file_path: Optional[str] = None
    ) -> AnyHook:
        """Makes a hook of a configuration file, by default of SMDEBUG_CONFIG_FILE_PATH's."""
        return cls._configured(
            _native.read_hook_configuration(json_file_path or "", cls._profile)
        )

    @classmethod
    def _configured(cls: Type[AnyHook], configuration: tuple[Any, ...]) -> AnyHook:
        options, collections = configuration
        hook = cls(**options)
        for collection in collections:
            hook._may_be_empty.add(collection.name)
            hook.collection_manager.add(copy_of(collection, cls._collection_class))
        return hook

    def _first_step_options(self) -> dict[str, Any]:
        """Options that are known only when the first step begins: worker, num_workers.

        What the constructor was given wins.
        """
        return {}

    def _selects(self, collection: _native.Collection) -> bool:
        """Whether the collection selects any tensor."""
        return bool(collection.include_regex or collection.tensor_names)

    def _check_collections(self) -> None:
        builtin = _native.builtin_collections(self._profile)
        filled = {name for _, names, _ in self._waiting.values() for name in names}
        for name, collection in self.collection_manager.get_collections().items():
            if name in builtin or name in filled or name in self._may_be_empty:
                continue
            if not self._selects(collection):
                raise InvalidCollectionConfiguration(name)

    def _open(self) -> bool:
        """Makes the native hook unless there is one; false for a hook that does nothing any more.

        Raises the mistakes of the configuration. Of several threads, one makes the hook.
        """
        if self._engine is None and not self._closed:
            with self._lock:
                if self._engine is None and not self._closed:
                    self._engine = self._made_engine()
        return self._engine is not None

    def _made_engine(self) -> Any:
        """The native hook; None, and the hook is closed, if its directory cannot be written."""
        self._check_collections()
        collections = list(self.collection_manager.get_collections().values())
        options = {"profile": self._profile, **self._first_step_options()}
        options.update({k: v for k, v in self._options.items() if v is not None})
        self._identity = _native.worker_identity(
            options.get("worker") or "", options.get("num_workers") or 0
        )
        options["worker"], options["num_workers"] = self._identity
        try:
            engine = _native.Hook(options, collections)
        except StoreError as error:
            self._waiting.clear()
            self._closed = True
            if self._options["on_error"] == "throw":
                raise
            _log.error("nothing is saved: %s", error)
            return None
        self._as_begun = {each.name: copy_of(each) for each in collections}
        engine.set_mode(self._mode)
        return engine

    def _waits(self, name: str, value: Any, collections: list[str], always: bool) -> bool:
        """Keeps the last value of a name for the first step; false if that has begun."""
        with self._lock:
            if self._engine is not None or self._closed:
                return False
            self._early_saves += 1
            if self._early_saves <= _MOST_EARLY_SAVES:
                _, before, _ = self._waiting.get(name, (None, [], False))
                joined = list(dict.fromkeys([*before, *collections]))
                self._waiting[name] = (_copy(value), joined, always)
            elif self._early_saves == _MOST_EARLY_SAVES + 1:
                _log.warning(
                    "no step has begun after %d saved values; further values are dropped until the "
                    "first step begins",
                    _MOST_EARLY_SAVES,
                )
            return True

    def _save_waiting(self, is_due: bool) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            dropped, self._early_saves = self._early_saves - _MOST_EARLY_SAVES, 0
        for name, (value, collections, always) in waiting.items():
            if always or is_due:
                self._save_always(name, value, collections)
        if dropped > 0:
            self._engine.report_problem(
                f"{dropped} values were dropped, saved before the first step after "
                f"{_MOST_EARLY_SAVES} others"
            )

    def _save_always(self, name: str, value: Any, collections: list[str]) -> None:
        """Saves a value; one that cannot be saved is reported once for each name."""
        try:
            self._engine.save_tensor_always(name, value, collections)
        except Exception as error:
            if self._options["on_error"] == "throw":
                raise
            if name not in self._refused:
                self._refused.add(name)
                self._engine.report_problem(f"cannot save {name}: {error}")

    def next_step(self, step: Optional[int] = None) -> None:
        """Ends the step and begins the next one, or the one of this number."""
        if self._closed:
            return
        number = None if step is None else as_step("step", step)
        if not self._open():
            return
        self._engine.next_step(number)
        if self._waiting:
            self._save_waiting(self._engine.due)

    def end_step(self) -> None:
        """Ends the step and commits it now."""
        if self._engine is not None:
            self._engine.end_step()

    def close(self) -> Optional[_native.HookReport]:
        """Commits the last step and ends the run; returns what was done.

        Every call after it does nothing, and get_hook() no longer returns the hook. A hook that has
        begun no step and was given no values writes nothing, and has no report.
        """
        if self._closed:  # A forked child may not wait for the lock.
            return self.report
        with self._lock:
            return self.report if self._closed else self._close_now()

    def _close_now(self) -> Optional[_native.HookReport]:
        try:
            if self._engine is None and self._waiting and self._open():
                self._save_waiting(True)
            if self._engine is not None:
                self._warn_of_changes()
                self.report = self._engine.close()
        except SMDebugError as error:
            if self._options["on_error"] == "throw":
                raise
            _log.error("the values before the first step are lost: %s", error)
        finally:
            self._closed = True
            _open_hooks.discard(self)
            hook_registry.forget(self)
        return self.report

    def _cleanup(self) -> Optional[_native.HookReport]:
        """Closes the hook; the SDK's name of close()."""
        return self.close()

    def __enter__(self: AnyHook) -> AnyHook:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_closed" in self.__dict__:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_dead_hook, (type(self), self._options["out_dir"]))

    # ---- Steps and modes

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the steps that begin from now on."""
        if self._closed:
            return
        if not isinstance(mode, ModeKeys):
            known = ", ".join(each.name for each in ModeKeys)
            raise SMDebugValueError(f"a mode is a member of ModeKeys, {known}: {mode!r}")
        self._mode = mode
        if self._engine is not None:
            self._engine.set_mode(mode)

    @property
    def mode(self) -> ModeKeys:
        """The mode of the steps that begin from now on."""
        return self._mode

    @property
    def step(self) -> int:
        """The global step; -1 before the first."""
        return -1 if self._engine is None else self._engine.step

    @property
    def mode_steps(self) -> dict[ModeKeys, int]:
        """The last step of each mode that has one."""
        steps = {} if self._engine is None else {m: self._engine.mode_step(m) for m in ModeKeys}
        return {mode: step for mode, step in steps.items() if step >= 0}

    @property
    def stop_requested(self) -> bool:
        """Whether a rule, or anybody else, has asked the training to stop."""
        return self._engine is not None and self._engine.stop_requested

    # ---- Values

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: Optional[float] = None
    ) -> None:
        """Saves one number as `scalar/<name>`, at every call.

        It is in the collection losses if the name ends in "loss". With `sm_metric` it is also
        written to the metric log. `timestamp` is accepted and not kept: a step has one time.
        Raises SMDebugTypeError for what is not one number.
        """
        if self._closed:
            return
        name = as_text("the name of a scalar", name)
        number = _native.scalar_number(name, value)
        collections = ["losses"] if name.endswith("loss") else []
        if sm_metric:
            collections.append("sm_metrics")
        self._save("scalar/" + name, [number], collections, True)

    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Names = "default"
    ) -> None:
        """Saves the raw value of a tensor at every step at which any collection is due.

        The tensor joins the collections, which are created if they are missing.
        """
        if self._closed:
            return
        name = as_text("tensor_name", tensor_name)
        collections = as_texts("collections_to_write", collections_to_write)
        self._save(name, tensor_value, collections, False)

    def _save(self, name: str, value: Any, collections: list[str], always: bool) -> None:
        if self._engine is None and self._waits(name, value, collections, always):
            return
        if self._engine is not None and (always or self._engine.due):
            self._save_always(name, value, collections)

    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Saves a tensor that its collections want at this step as `<tensor_name>_output_<k>`.

        `k` counts the calls of a step with this name. A name that ends in "loss" or "Loss" is in
        the collection losses.
        """
        if self._engine is None or self._closed:
            return
        name = as_text("tensor_name", tensor_name)
        collections = ["losses"] if name.endswith(("loss", "Loss")) else []
        self._engine.save(self._engine.next_output(name, collections), tensor_value)

    # ---- Collections

    def get_collection(self, name: str, create: bool = True) -> _native.Collection:
        """The collection `name`, which is created if it is missing.

        Configure it before the first step. After it, the collection has the names of all tensors
        that were found so far.
        """
        if self._engine is not None:
            self._take_names()
        return self.collection_manager.get(name, create)

    def get_collections(self) -> dict[str, _native.Collection]:
        """All collections by name, as get_collection() gives them."""
        if self._engine is not None:
            self._take_names()
        return self.collection_manager.get_collections()

    def add_collection(self, collection: _native.Collection) -> None:
        """Adds a collection, or replaces the one of its name; before the first step."""
        if self._closed:
            return
        if not isinstance(collection, _native.Collection):
            raise SMDebugTypeError(f"a Collection is needed, not {type(collection).__name__}")
        self.collection_manager.add(collection)
        self._warn_of_changes()

    def _take_names(self) -> None:
        """Gives the collections the names of the tensors that the native hook knows."""
        self._warn_of_changes()
        for name, collection in self._engine.collections_now().items():
            self._as_begun.setdefault(name, collection).tensor_names = collection.tensor_names
            self.collection_manager.get(name).tensor_names = collection.tensor_names

    def _warn_of_changes(self) -> None:
        """Warns once of collections that were changed after the first step began."""
        if self._engine is None or self._has_warned:
            return
        for name, collection in self.collection_manager.get_collections().items():
            begun = self._as_begun.get(name)
            if begun is None:
                is_changed = self._selects(collection)
            else:
                # Modules of a collection became patterns when the first step began.
                is_changed = bool(getattr(collection, "modules", None)) or any(
                    getattr(begun, each) != getattr(collection, each) for each in _SETTINGS
                )
            if is_changed:
                self._has_warned = True
                _log.warning(
                    "the collection %s was changed after the first step began, without effect", name
                )
                return

    def should_save_tensor_or_collection(self, name: str, collection: str) -> bool:
        """Whether the tensor would be saved at this step, as one of `collection` or by itself."""
        if self._engine is None or self._closed or not self._engine.due:
            return False
        name, collection = as_text("name", name), as_text("collection", collection)
        collections = self.collection_manager.get_collections()
        if collection in collections and self._engine.due_beyond(
            [other for other in collections if other != collection]
        ):
            asked = collections[collection]
            if not asked.include_regex or asked.has_tensor_name(name):
                return True
        return bool(self._engine.would_save(name))

    # ---- What the hook is

    @property
    def out_dir(self) -> str:
        """The directory or location of the run."""
        return str(self._options["out_dir"])

    @property
    def tensorboard_dir(self) -> Optional[str]:
        """The directory that is written for TensorBoard; None if none is."""
        if self._options["tensorboard_dir"]:
            return str(self._options["tensorboard_dir"])
        if self._options["export_tensorboard"]:
            return os.path.join(self.out_dir, "tensorboard")
        return None

    @property
    def save_config(self) -> _native.SaveConfig:
        """The steps that are saved of collections that have no steps of their own."""
        config: Optional[_native.SaveConfig] = self._options["save_config"]
        if config is None:
            defaults, _ = _native.parse_hook_configuration("{}", "defaults", self._profile)
            config = defaults["save_config"]
        assert config is not None
        return config

    @property
    def reduction_config(self) -> _native.ReductionConfig:
        """The reductions of tensors whose collections have no reduction_config."""
        return self._options["reduction_config"] or _native.ReductionConfig(save_raw_tensor=True)

    @property
    def include_collections(self) -> list[str]:
        """The names of the collections that are saved."""
        names = [*self._options["include_collections"]]
        names += _native.default_saved_collections(self._profile)
        if self._options["include_regex"]:
            names.append("default")
        if self._options["save_all"]:
            names.append("all")
        return list(dict.fromkeys(names))

    @property
    def worker(self) -> str:
        """The name of this worker, such as worker_0."""
        return self._get_worker_name()

    def _get_worker_name(self) -> str:
        return self._place()[0]

    def _get_num_workers(self) -> int:
        return self._place()[1]

    def _place(self) -> tuple[str, int]:
        """The worker's name and the number of workers: of now, or of the first step."""
        if self._identity is not None:
            return self._identity
        found = {**self._first_step_options()}
        found.update({k: v for k, v in self._options.items() if v is not None})
        name, count = _native.worker_identity(
            found.get("worker") or "", found.get("num_workers") or 0
        )
        return name, count

    def has_default_hook_configuration(self) -> bool:
        """Whether only the collections that are always saved are saved, and as by default."""
        given = self._options
        known = _native.builtin_collections(self._profile)
        always = _native.default_saved_collections(self._profile)
        return (
            given["save_config"] is None
            and given["reduction_config"] is None
            and set(self.include_collections) == set(always)
            and set(self.collection_manager.get_collections()) <= set(known)
        )


_open_hooks: weakref.WeakSet[BaseHook] = weakref.WeakSet()


def _dead_hook(hook_class: Type[AnyHook], out_dir: str) -> AnyHook:
    """What a copy of a hook is: its calls do nothing."""
    hook = hook_class.__new__(hook_class)
    hook._options = {
        "out_dir": out_dir,
        "tensorboard_dir": None,
        "export_tensorboard": False,
        "save_config": None,
        "reduction_config": None,
        "include_collections": [],
        "include_regex": [],
        "save_all": False,
        "on_error": "disable",
    }
    hook._begin_life()
    hook._closed = True
    return hook


def _close_open_hooks() -> None:
    """Closes each hook; one that fails does not keep the others from their data."""
    for hook in list(_open_hooks):
        try:
            hook.close()
        except Exception as error:
            _log.error("the run %s was not closed: %s", hook.out_dir, error)


def _leave_hooks_to_the_parent() -> None:
    for hook in list(_open_hooks):
        hook._closed = True


atexit.register(_close_open_hooks)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_hooks_to_the_parent)
