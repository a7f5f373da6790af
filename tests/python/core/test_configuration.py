"""SaveConfig, ReductionConfig and Collection as values: construction, changes, JSON, copies."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from cupel import _native
from cupel.core.collection import Collection, CollectionKeys
from cupel.core.modes import ModeKeys
from cupel.core.reduction_config import ReductionConfig
from cupel.core.save_config import SaveConfig, SaveConfigMode
from cupel.exceptions import SMDebugTypeError, SMDebugValueError

EVERY_MODE = list(ModeKeys)


def saved_steps(last: int = 25, **values: object) -> list:
    config = SaveConfig(**values)
    return [step for step in range(last) if config.should_save_step(ModeKeys.TRAIN, step)]


def example_collection() -> Collection:
    collection = Collection("head")
    collection.include(["^fc", "out$"])
    collection.add_tensor_name("extra")
    of_modes = {ModeKeys.EVAL: SaveConfigMode(end_step=3)}
    collection.save_config = SaveConfig(of_modes, save_interval=7)
    collection.reduction_config = ReductionConfig(["mean"], norms=["l2"], save_shape=True)
    collection.save_histogram = False
    return collection


# ---- SaveConfig


@pytest.mark.parametrize(
    "values, steps",
    [
        (dict(save_interval=10), [0, 10, 20]),
        (dict(save_interval=10, end_step=20), [0, 10]),
        (dict(save_interval=2, start_step=8, end_step=14), [8, 10, 12]),
        (dict(save_steps=[3, 7]), [0, 3, 7]),
        (dict(end_step=0, save_steps=[2, 0]), [0, 2]),
        (dict(save_interval=3, start_step=4, end_step=14, save_steps=[0, 20]), [0, 6, 9, 12, 20]),
    ],
)
def test_the_interval_counts_from_zero_and_listed_steps_join_it(values, steps):
    assert saved_steps(**values) == steps


def test_a_mode_has_its_configuration_and_the_others_have_the_values_for_all():
    config = SaveConfig({ModeKeys.EVAL: SaveConfigMode(save_interval=2)}, save_interval=5)
    assert config.get_save_config(ModeKeys.EVAL).save_interval == 2
    assert config.get_save_config(ModeKeys.TRAIN).save_interval == 5
    assert config.mode_save_configs == {ModeKeys.EVAL: SaveConfigMode(save_interval=2)}


def test_values_that_are_set_are_for_all_modes():
    config = SaveConfig({ModeKeys.EVAL: SaveConfigMode(save_interval=2)})
    config.save_interval = 3
    config.start_step = 6
    config.end_step = 10
    config.save_steps = [1]
    for mode in EVERY_MODE:
        assert config.get_save_config(mode) == SaveConfigMode(3, 6, 10, [1])
    config.end_step = None
    assert config.get_save_config(ModeKeys.EVAL).end_step is None


@pytest.mark.parametrize("value", ["7", 7.0, 7])
def test_numbers_may_be_texts(value):
    assert SaveConfig(save_interval=value).save_interval == 7


@pytest.mark.parametrize(
    "values",
    [
        dict(save_interval=0),
        dict(save_interval=-1),
        dict(save_interval="often"),
        dict(save_interval=1.5),
        dict(save_interval=1 << 70),
        dict(start_step=-1),
        dict(end_step=-2),
        dict(save_steps=[1, -2]),
        dict(save_steps=3),
        dict(save_steps=["x"]),
    ],
)
@pytest.mark.parametrize("kind", [SaveConfig, SaveConfigMode])
def test_illegal_values_are_value_errors(kind, values):
    with pytest.raises(SMDebugValueError):
        kind(**values)


def test_an_illegal_value_that_is_set_changes_nothing():
    config = SaveConfig(save_interval=4)
    with pytest.raises(SMDebugValueError, match="save_interval must be at least 1"):
        config.save_interval = 0
    assert config.save_interval == 4


@pytest.mark.parametrize(
    "modes", [5, {"TRAIN": SaveConfigMode()}, {ModeKeys.TRAIN: 5}, {None: SaveConfigMode()}]
)
def test_other_modes_are_type_errors(modes):
    with pytest.raises(SMDebugTypeError):
        SaveConfig(mode_save_configs=modes)


def test_a_save_config_survives_json():
    config = SaveConfig({ModeKeys.EVAL: SaveConfigMode(2, 1, 9, [4])}, save_interval=5)
    assert json.loads(config.to_json())["EVAL"] == {
        "save_interval": 2,
        "start_step": 1,
        "end_step": 9,
        "save_steps": [4],
    }
    assert SaveConfig.from_json(config.to_json()) == config
    mode = SaveConfigMode(2, 1, 9, [4])
    assert SaveConfigMode.from_json(mode.to_json()) == mode


def test_json_that_lacks_modes_has_defaults():
    config = SaveConfig.from_json('{"TRAIN": {"save_interval": 3}, "EVAL": null}')
    assert config.get_save_config(ModeKeys.TRAIN).save_interval == 3
    assert config.get_save_config(ModeKeys.EVAL) == SaveConfigMode()


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"TRAIN": {"save_interval": 0}}'])
@pytest.mark.parametrize("kind", [SaveConfig, SaveConfigMode])
def test_other_json_is_a_value_error(kind, text):
    if kind is SaveConfigMode and "TRAIN" in text:
        text = '{"save_interval": 0}'
    with pytest.raises(SMDebugValueError):
        kind.from_json(text)


# ---- ReductionConfig


def test_reductions_are_lists_of_names():
    config = ReductionConfig(reductions=["min"], abs_norms=["l1"], save_raw_tensor=True)
    assert (config.reductions, config.abs_norms) == (["min"], ["l1"])
    assert (config.abs_reductions, config.norms) == ([], [])
    assert config.save_raw_tensor is True and config.save_shape is False


@pytest.mark.parametrize("name", ["reductions", "abs_reductions", "norms", "abs_norms"])
def test_an_unknown_reduction_is_a_value_error_that_lists_the_known_ones(name):
    with pytest.raises(SMDebugValueError, match="l1|median"):
        ReductionConfig(**{name: ["mode"]})
    config = ReductionConfig()
    with pytest.raises(SMDebugValueError):
        setattr(config, name, ["mode"])
    assert getattr(config, name) == []


@pytest.mark.parametrize("flag", [1, "yes", None])
def test_a_flag_that_is_no_boolean_is_a_value_error(flag):
    with pytest.raises(SMDebugValueError, match="save_raw_tensor is True or False"):
        ReductionConfig(save_raw_tensor=flag)


def test_a_reduction_config_survives_json_in_the_form_of_norms():
    config = ReductionConfig(["min"], ["max"], ["l2"], ["l1"], save_shape=True)
    assert json.loads(config.to_json()) == {
        "save_raw_tensor": False,
        "reductions": "min,l2_norm,abs_max,abs_l1_norm",
        "save_shape": True,
    }
    assert ReductionConfig.from_json(config.to_json()) == config


# ---- Collection


def test_patterns_come_as_a_text_or_as_nested_lists():
    collection = Collection("c")
    collection.include("a")
    collection.include(["b", ["c", ("d",)]])
    assert collection.include_regex == ["a", "b", "c", "d"]
    collection.include_regex = ["e"]
    assert collection.include_regex == ["e"]


@pytest.mark.parametrize("patterns", [5, None, ["a", 5], ["a", None], {"a": 1}])
def test_other_patterns_are_type_errors(patterns):
    collection = Collection("c")
    with pytest.raises(SMDebugTypeError):
        collection.include(patterns)
    assert collection.include_regex == []


def test_patterns_nested_without_an_end_are_an_error():
    patterns: list = []
    patterns.append(patterns)
    with pytest.raises(RecursionError):
        Collection("c").include(patterns)


def test_a_bad_pattern_is_a_value_error_when_it_is_added():
    with pytest.raises(SMDebugValueError):
        Collection("c").include("(")


def test_names_are_listed_and_removed():
    collection = Collection("c")
    collection.tensor_names = ["b", "a"]
    collection.add_tensor_name("d")
    collection.remove_tensor_name("b")
    collection.remove_tensor_name("never there")
    assert collection.tensor_names == {"a", "d"}
    assert collection.has_tensor_name("a") and not collection.has_tensor_name("b")


@pytest.mark.parametrize("names", ["a", 5, [5]])
def test_names_that_are_no_list_or_set_are_type_errors(names):
    with pytest.raises(SMDebugTypeError):
        Collection("c").tensor_names = names


def test_a_collection_takes_every_form_of_a_save_config():
    collection = Collection("c")
    assert collection.save_config is None
    collection.save_config = SaveConfigMode(save_interval=3)
    assert collection.save_config.get_save_config(ModeKeys.EVAL).save_interval == 3
    collection.save_config = {ModeKeys.TRAIN: SaveConfigMode(save_interval=4)}
    assert collection.save_config.get_save_config(ModeKeys.TRAIN).save_interval == 4
    collection.save_config = None
    assert collection.save_config is None


@pytest.mark.parametrize("name", ["save_config", "reduction_config"])
def test_other_configurations_are_type_errors(name):
    with pytest.raises(SMDebugTypeError):
        setattr(Collection("c"), name, "often")


def test_the_save_config_of_a_collection_is_changed_in_place():
    collection = Collection("c")
    collection.save_config = SaveConfig(save_interval=3)
    collection.save_config.end_step = 0
    assert collection.save_config == SaveConfig(save_interval=3, end_step=0)


def test_a_save_config_that_the_collection_gave_up_may_still_be_used():
    collection = Collection("c")
    collection.save_config = SaveConfig(save_interval=3)
    held = collection.save_config
    collection.save_config = None
    collection.reduction_config = ReductionConfig(save_shape=True)
    held.save_interval = 5
    assert held.save_interval == 5 and collection.save_config is None


def test_a_configuration_is_taken_away_and_the_other_one_stays():
    collection = example_collection()
    collection.reduction_config = None
    assert collection.reduction_config is None
    assert collection.save_config == example_collection().save_config
    assert collection.include_regex == ["^fc", "out$"]


def test_a_collection_is_copied_by_its_class():
    twin = Collection(example_collection())
    twin.add_tensor_name("more")
    assert twin != example_collection() and twin.include_regex == ["^fc", "out$"]


def test_a_collection_survives_json():
    collection = example_collection()
    values = collection.to_json_dict()
    assert values == json.loads(collection.to_json())
    assert list(values) == [
        "name",
        "include_regex",
        "tensor_names",
        "reduction_config",
        "save_config",
        "save_histogram",
    ]
    assert values["tensor_names"] == ["extra"]
    assert Collection.from_json(collection.to_json()) == collection


@pytest.mark.parametrize(
    "value",
    [
        SaveConfig({ModeKeys.EVAL: SaveConfigMode(2, 1, 9, [4])}, save_interval=5),
        SaveConfigMode(2, 1, 9, [4]),
        ReductionConfig(["min"], ["max"], ["l2"], ["l1"], True, True),
        example_collection(),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_are_equal_and_independent(value, copied):
    twin = copied(value)
    assert twin == value and twin is not value
    if isinstance(value, Collection):
        twin.save_config.save_interval = 99
        twin.add_tensor_name("more")
    elif isinstance(value, ReductionConfig):
        twin.save_shape = False
    else:
        twin.save_interval = 99
    assert twin != value


def test_a_copied_save_config_still_leaves_open_modes_to_the_hook():
    config = SaveConfig({ModeKeys.EVAL: SaveConfigMode(save_interval=2)})
    assert pickle.loads(pickle.dumps(config)).mode_save_configs == config.mode_save_configs


def test_a_value_is_shown_with_its_contents():
    assert repr(SaveConfigMode(2)) == "SaveConfigMode(2, 0, None, [])"
    assert "save_interval" in repr(example_collection())


def test_keys_are_the_names_of_built_in_collections():
    known = set()
    for profile in ("GENERIC", "PYTORCH", "XGBOOST"):
        known |= set(_native.builtin_collections(getattr(_native.Profile, profile)))
    keys = {value for name, value in vars(CollectionKeys).items() if name.isupper()}
    assert known <= keys
