"""
The engine of cupel. Import cupel and its modules instead: names here may change.
"""

from collections.abc import Mapping, Sequence
import datetime
import enum
from typing import Final, overload

import cupel.core.modes


def version() -> str: ...

def pass_on_log_lines() -> None: ...

def stop_log_lines() -> None: ...

def log(arg0: int, arg1: str, /) -> None: ...

def log_level() -> int: ...

class SaveConfigMode:
    """
    The saved steps of one mode: those of save_steps, and every save_interval-th step from
    start_step on, before end_step. The interval counts from step 0.
    """

    def __init__(self, save_interval: int | str | None = None, start_step: int | str | None = None, end_step: int | str | None = None, save_steps: Sequence[int] | None = None) -> None: ...

    def should_save_step(self, step: int) -> bool: ...

    @staticmethod
    def from_json(json: str) -> SaveConfigMode: ...

    def __eq__(self, arg: SaveConfigMode, /) -> bool: ...

    def __reduce__(self) -> tuple: ...

    @property
    def save_interval(self) -> int:
        """The interval of saved steps, counted from step 0."""

    @save_interval.setter
    def save_interval(self, arg: object, /) -> None: ...

    @property
    def start_step(self) -> int:
        """The first step that the interval saves."""

    @start_step.setter
    def start_step(self, arg: object, /) -> None: ...

    @property
    def end_step(self) -> int | None:
        """The step before which the interval ends; None: it does not end."""

    @end_step.setter
    def end_step(self, value: object | None) -> None: ...

    @property
    def save_steps(self) -> list[int]:
        """Steps that are saved beside those of the interval."""

    @save_steps.setter
    def save_steps(self, value: object | None) -> None: ...

    def to_json(self) -> str:
        """The values as JSON."""

    def __repr__(self) -> str: ...

class SaveConfig:
    """
    The saved steps of all modes. A mode in mode_save_configs has that SaveConfigMode; the other
    values are for the modes that are not in it. Values that are set later are for all modes.
    """

    def __init__(self, mode_save_configs: SaveConfig | SaveConfigMode | dict[cupel.core.modes.ModeKeys, SaveConfigMode] | None = None, save_interval: int | str | None = None, start_step: int | str | None = None, end_step: int | str | None = None, save_steps: Sequence[int] | None = None) -> None: ...

    @property
    def mode_save_configs(self) -> dict[cupel.core.modes.ModeKeys, SaveConfigMode]:
        """The configurations of single modes."""

    @mode_save_configs.setter
    def mode_save_configs(self, arg: object, /) -> None: ...

    def get_save_config(self, mode: cupel.core.modes.ModeKeys) -> SaveConfigMode:
        """The configuration of a mode."""

    def should_save_step(self, mode: cupel.core.modes.ModeKeys | None, step: int) -> bool:
        """Whether the step of this number of the mode is saved."""

    @staticmethod
    def from_json(json: str) -> SaveConfig: ...

    def __eq__(self, arg: SaveConfig, /) -> bool: ...

    def __reduce__(self) -> tuple: ...

    @property
    def save_interval(self) -> int:
        """The interval of saved steps, counted from step 0."""

    @save_interval.setter
    def save_interval(self, arg: object, /) -> None: ...

    @property
    def start_step(self) -> int:
        """The first step that the interval saves."""

    @start_step.setter
    def start_step(self, arg: object, /) -> None: ...

    @property
    def end_step(self) -> int | None:
        """The step before which the interval ends; None: it does not end."""

    @end_step.setter
    def end_step(self, value: object | None) -> None: ...

    @property
    def save_steps(self) -> list[int]:
        """Steps that are saved beside those of the interval."""

    @save_steps.setter
    def save_steps(self, value: object | None) -> None: ...

    def to_json(self) -> str:
        """The values as JSON."""

    def __repr__(self) -> str: ...

class ReductionConfig:
    """
    What is saved of a tensor: reductions, the raw value, its shape. Reductions are min, max,
    mean, std, variance, sum, prod and median; norms are l1 and l2.
    """

    def __init__(self, reductions: Sequence[str] | None = None, abs_reductions: Sequence[str] | None = None, norms: Sequence[str] | None = None, abs_norms: Sequence[str] | None = None, save_raw_tensor: bool = False, save_shape: bool = False) -> None: ...

    @property
    def reductions(self) -> list[str]: ...

    @reductions.setter
    def reductions(self, arg: object, /) -> None: ...

    @property
    def abs_reductions(self) -> list[str]: ...

    @abs_reductions.setter
    def abs_reductions(self, arg: object, /) -> None: ...

    @property
    def norms(self) -> list[str]: ...

    @norms.setter
    def norms(self, arg: object, /) -> None: ...

    @property
    def abs_norms(self) -> list[str]: ...

    @abs_norms.setter
    def abs_norms(self, arg: object, /) -> None: ...

    @property
    def save_raw_tensor(self) -> bool: ...

    @save_raw_tensor.setter
    def save_raw_tensor(self, arg: object, /) -> None: ...

    @property
    def save_shape(self) -> bool: ...

    @save_shape.setter
    def save_shape(self, arg: object, /) -> None: ...

    def to_json(self) -> str:
        """The values as JSON."""

    @staticmethod
    def from_json(json: str) -> ReductionConfig: ...

    def __eq__(self, arg: ReductionConfig, /) -> bool: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple: ...

class Collection:
    """
    A named group of tensors that are saved alike: listed names, and patterns that are searched
    anywhere in a name. A configuration that is None is the hook's.
    """

    @overload
    def __init__(self, other: Collection) -> None: ...

    @overload
    def __init__(self, name: str, include_regex: str | Sequence[str] | None = None, tensor_names: Sequence[str] | set[str] | None = None, reduction_config: ReductionConfig | None = None, save_config: SaveConfig | SaveConfigMode | dict[cupel.core.modes.ModeKeys, SaveConfigMode] | None = None, save_histogram: bool = True) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def include_regex(self) -> list[str]:
        """The patterns; a copy: assign, or call include()."""

    @include_regex.setter
    def include_regex(self, arg: object, /) -> None: ...

    def include(self, patterns: object | None) -> None:
        """Adds a pattern, or several, also in nested lists."""

    @property
    def tensor_names(self) -> set[str]:
        """The listed names; a copy: assign, or call add_tensor_name()."""

    @tensor_names.setter
    def tensor_names(self, arg: object, /) -> None: ...

    @property
    def save_config(self) -> SaveConfig:
        """
        When the collection is saved; may be changed in place. None: as the hook.
        """

    @save_config.setter
    def save_config(self, config: object | None) -> None: ...

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """
        What is saved of its tensors; a copy: assign to change it. None: as the hook.
        """

    @reduction_config.setter
    def reduction_config(self, config: object | None) -> None: ...

    @property
    def save_histogram(self) -> bool: ...

    @save_histogram.setter
    def save_histogram(self, arg: object, /) -> None: ...

    def has_tensor_name(self, tname: str) -> bool:
        """Whether the name is listed or a pattern finds it."""

    def add_tensor_name(self, tname: str) -> None: ...

    def remove_tensor_name(self, tname: str) -> None:
        """Removes a listed name; one that is not listed is no mistake."""

    def to_json(self) -> str: ...

    def to_json_dict(self) -> object: ...

    @staticmethod
    def from_json(json: str) -> Collection: ...

    def __eq__(self, arg: Collection, /) -> bool: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

class Profile(enum.Enum):
    GENERIC = 0

    PYTORCH = 1

    XGBOOST = 4

def builtin_collections(profile: Profile) -> dict[str, Collection]: ...

class HookReport:
    @property
    def steps_begun(self) -> int: ...

    @property
    def steps_committed(self) -> int: ...

    @property
    def last_committed_step(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def tensors_saved(self) -> int: ...

    @property
    def value_bytes(self) -> int: ...

    @property
    def steps_dropped(self) -> int: ...

    @property
    def steps_left_out(self) -> int: ...

    @property
    def overhead(self) -> float: ...

    @property
    def waiting(self) -> float: ...

    @property
    def steps_not_uploaded(self) -> int: ...

    @property
    def bytes_not_uploaded(self) -> int: ...

    @property
    def never_saved(self) -> list[str]: ...

    @property
    def problems(self) -> list[str]: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def disabled(self) -> bool: ...

def check_hook(options: dict, collections: Sequence[Collection] = []) -> None:
    """
    Raises what a hook of these options and collections would raise, and writes nothing.
    """

def scalar_number(name: str, value: object | None) -> float:
    """The number that save_scalar() of a hook saves."""

class Handle:
    """A name of a tensor that a hook has looked up."""

class HookBase:
    """What functions of the extension take as a hook."""

class Hook(HookBase):
    """Saves tensors out of a training loop into a run."""

    def __init__(self, options: dict, collections: Sequence[Collection] = []) -> None: ...

    def get_collection(self, name: str) -> Collection:
        """
        The collection of that name, made if there is none; configure it before the first
        step.
        """

    def collections_now(self) -> dict[str, Collection]:
        """The collections with the names of all tensors found so far."""

    def collections_as_configured(self) -> dict[str, Collection]:
        """The collections without the tensors that calls put there."""

    def set_mode(self, mode: object | None) -> None:
        """Changes the mode of the steps that begin from now on."""

    @property
    def mode(self) -> cupel.core.modes.ModeKeys:
        """The mode of the steps that begin from now on."""

    def next_step(self, step: int | None = None) -> None:
        """Begins a step, or the one of this number, and commits the step before."""

    def end_step(self) -> None:
        """Ends the step and commits it."""

    @property
    def step(self) -> int:
        """The global step; -1 before the first."""

    def mode_step(self, mode: cupel.core.modes.ModeKeys) -> int:
        """The last step of a mode; -1 before its first."""

    @property
    def due(self) -> bool:
        """Whether anything is saved at this step."""

    def due_beyond(self, collections: Sequence[str]) -> bool:
        """Whether a collection is due that is none of these."""

    def would_save(self, name: str) -> bool:
        """
        Whether a save of this name would be written; the hook does not learn the name.
        """

    def handle(self, name: str, collections: object = ()) -> Handle:
        """Looks a name up, joining the named collections."""

    def next_input(self, module: str, collections: object = ()) -> Handle:
        """The handle of <module>_input_<k>, k counting the calls of a step."""

    def next_output(self, module: str, collections: object = ()) -> Handle:
        """The handle of <module>_output_<k>, k counting the calls of a step."""

    @overload
    def wants(self, handle: Handle) -> bool: ...

    @overload
    def wants(self, name: str) -> bool:
        """Whether a save of this tensor would be written at this step."""

    def save(self, handle: Handle, value: object | None) -> None:
        """Saves the tensor if it is due."""

    def save_tensor(self, name: str, value: object | None, collections: object = ()) -> None:
        """
        Saves the tensor if its collections want it at this step. The named collections have
        it from now on. A value that cannot be saved is reported once and left out.
        """

    def save_tensor_always(self, name: str, value: object | None, collections: object = ()) -> None:
        """Saves the raw value at every call, whatever is due."""

    def save_scalar(self, name: str, value: object | None, collections: object = ()) -> None:
        """Saves one number at every call, whatever is due."""

    def leave_out(self, handle: Handle, why: str) -> None:
        """Reports once that a due tensor cannot be saved."""

    def report_outside_step(self, handle: Handle) -> None:
        """Reports a save that no step can have."""

    def report_problem(self, what: str) -> None:
        """Adds a problem to the log and to the report."""

    @property
    def committed_step(self) -> int:
        """The last step that is in the run."""

    @property
    def stop_requested(self) -> bool:
        """Whether a rule has asked the training to stop."""

    def close(self) -> HookReport:
        """Ends the run, and returns what was done."""

def read_hook_configuration(path: str, profile: Profile) -> tuple:
    """
    The options and the collections that a configuration file gives a hook.
    """

def parse_hook_configuration(json: str, source: str, profile: Profile) -> tuple:
    """The options and the collections that a configuration gives a hook."""

def default_saved_collections(profile: Profile) -> list[str]:
    """The names of the collections that are saved whatever is configured."""

def worker_identity(name: str = '', count: int = 0) -> tuple:
    """
    The name of this worker and the number of workers, as a hook finds them.
    """

class TreeTable:
    """The nodes of trees by column."""

    def columns(self) -> dict:
        """The columns as lists, by name."""

    def save(self, hook: HookBase) -> None:
        """Saves the columns that are due, as trees/<column>."""

    names: Final[list[str]] = ...
    """The names of the columns."""

def read_trees(first: int, dumps: Sequence[str], features: Sequence[str]) -> TreeTable:
    """
    The nodes of trees, from XGBoost's dumps as JSON; `first` is the number of the first.
    """

class Tensor:
    @property
    def name(self) -> str: ...

    def steps(self, mode: cupel.core.modes.ModeKeys | None, show_incomplete_steps: bool) -> list[int]: ...

    def prev_steps(self, step: int, n: int, mode: cupel.core.modes.ModeKeys | None) -> list[int]: ...

    def workers(self, step: int, mode: cupel.core.modes.ModeKeys | None) -> list[str]: ...

    def value(self, step: int, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> object: ...

    def values(self, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> dict: ...

    def reduction_value(self, step: int, reduction: str, mode: cupel.core.modes.ModeKeys | None, worker: str | None, abs: bool) -> float: ...

    def reduction_values(self, step: int, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> list: ...

    def shape(self, step: int, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> tuple: ...

    def shapes(self, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> dict: ...

    def dtype(self, step: int, mode: cupel.core.modes.ModeKeys | None, worker: str | None) -> str: ...

class RunWriter:
    def __init__(self, directory: bytes, worker: str, num_workers: int, collections: Sequence[Collection]) -> None: ...

    def step(self, global_step: int, mode: cupel.core.modes.ModeKeys | None, mode_step: int) -> None: ...

    def save(self, name: str, value: object) -> None: ...

    def close(self) -> None: ...

def run_has_ended(location: bytes) -> bool: ...

def end_run(location: bytes) -> None: ...

def replace_collections(directory: bytes, file_name: str, collections: Sequence[Collection]) -> bool: ...

class Trial:
    @property
    def name(self) -> object: ...

    @property
    def path(self) -> object: ...

    @property
    def format(self) -> str: ...

    @property
    def pinned(self) -> bool: ...

    def view(self) -> Trial: ...

    def steps(self, mode: cupel.core.modes.ModeKeys | None, show_incomplete_steps: bool) -> list[int]: ...

    def modes(self) -> list[cupel.core.modes.ModeKeys]: ...

    def mode(self, global_step: int) -> cupel.core.modes.ModeKeys | None: ...

    def mode_step(self, global_step: int) -> int | None: ...

    def global_step(self, mode: cupel.core.modes.ModeKeys | None, mode_step: int) -> int | None: ...

    def last_complete_step(self) -> int: ...

    def has_passed_step(self, step: int, mode: cupel.core.modes.ModeKeys | None) -> int: ...

    def ended(self) -> bool: ...

    def refresh(self) -> bool: ...

    def wait_for_steps(self, steps: Sequence[int], mode: cupel.core.modes.ModeKeys | None, timeout: float | None) -> None: ...

    def workers(self) -> list[str]: ...

    def num_workers(self) -> int: ...

    def notes(self, steps: tuple[int | None, int | None] | None) -> list[tuple[int, str, str]]: ...

    def tensor_names(self, step: int | None, mode: cupel.core.modes.ModeKeys | None, regex: Sequence[str], collection: str) -> list[str]: ...

    def tensor_names_of(self, step: int | None, mode: cupel.core.modes.ModeKeys | None, collection: Collection) -> list[str]: ...

    def tensor(self, tname: str) -> Tensor: ...

    def has_tensor(self, tname: str) -> bool: ...

    def collections(self) -> list[Collection]: ...

    def collection(self, name: str) -> Collection: ...

    def inputs(self, step: int, mode: cupel.core.modes.ModeKeys | None) -> list: ...

    def labels(self, step: int, mode: cupel.core.modes.ModeKeys | None) -> list: ...

    def predictions(self, step: int, mode: cupel.core.modes.ModeKeys | None) -> list: ...

    def reductions(self, name: Sequence[str], collection: str, steps: tuple[int | None, int | None] | None, mode: cupel.core.modes.ModeKeys | None, worker: str | None, show_incomplete_steps: bool) -> dict: ...

def open_trial(path: bytes, name: bytes, range_steps: tuple[int | None, int | None] | None, wait_for_run: float) -> Trial: ...

def saved_bit(name: str) -> int: ...

class Pins:
    def __init__(self, trials: Sequence[Trial], refresh: bool) -> None: ...

    def end(self) -> None: ...

    def are_last(self) -> bool: ...

class RuleEngine:
    def __init__(self, base_trial: object, other_trials: list, rule: object) -> None: ...

    def views(self) -> list[Trial]: ...

    def invoke(self, step: int) -> None: ...

    def invoke_all(self, start_step: int, end_step: int | None, raise_eval_cond: bool) -> None: ...

def check_actions(arg: str, /) -> None: ...

class RuleSummary:
    @property
    def rule(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def first_step(self) -> int | None: ...

    @property
    def steps_fired(self) -> int: ...

    @property
    def steps_evaluated(self) -> int: ...

    @property
    def steps_skipped(self) -> int: ...

    @property
    def steps_damaged(self) -> int: ...

    @property
    def message(self) -> str: ...

    @property
    def has_judged(self) -> bool: ...

class RunSummary:
    @property
    def rules(self) -> list[RuleSummary]: ...

    @property
    def found_issues(self) -> bool: ...

    @property
    def had_errors(self) -> bool: ...

class RunnerProgress:
    @property
    def newest_step(self) -> int | None: ...

    @property
    def newest_at(self) -> datetime.datetime: ...

    @property
    def steps_judged(self) -> int: ...

    @property
    def steps_behind(self) -> int: ...

class RuleRunner:
    def __init__(self, trial: object, options: dict) -> None: ...

    def add_rule(self, spec: str, parameters: Mapping[str, str]) -> None: ...

    def add_python_rule(self, rule: object, actions: str, fingerprint: str) -> None: ...

    def start(self) -> None: ...

    def next(self) -> object: ...

    def close(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def progress(self) -> RunnerProgress: ...

    @property
    def summary(self) -> RunSummary | None: ...

def join_list(entries: Sequence[str]) -> str: ...

def run_command(program: str, arguments: Sequence[bytes]) -> int: ...
