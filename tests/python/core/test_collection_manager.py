"""Collections by name, and their file."""

import json
import os

import numpy as np
import pytest

from cupel import _native, create_trial
from cupel.core.collection_manager import CollectionManager
from cupel.core.writer import FileWriter
from cupel.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError


def test_a_manager_begins_empty():
    assert CollectionManager().get_collections() == {}


def test_a_manager_begins_with_the_built_in_collections_of_a_profile():
    manager = CollectionManager(create_default=True, profile=_native.Profile.XGBOOST)
    assert "feature_importance" in manager.get_collections()


def test_get_creates_a_missing_collection():
    assert CollectionManager().get("relu").name == "relu"


def test_get_refuses_a_missing_collection_if_none_is_to_be_created():
    with pytest.raises(SMDebugError, match="relu"):
        CollectionManager().get("relu", create=False)


def test_a_created_collection_is_the_same_at_each_call():
    manager = CollectionManager()
    manager.create_collection("relu")
    relu = manager.get("relu")
    manager.create_collection("relu")
    assert manager.get("relu") is relu


def test_add_replaces_the_collection_of_the_name():
    manager = CollectionManager()
    manager.get("relu").include(["a"])
    manager.add(_native.Collection("relu"))
    assert manager.get("relu").include_regex == []


def test_add_takes_a_name():
    manager = CollectionManager()
    manager.add("relu")
    assert list(manager.get_collections()) == ["relu"]


def test_add_refuses_what_is_no_collection():
    with pytest.raises(SMDebugTypeError, match="int"):
        CollectionManager().add(3)


def test_created_collections_are_of_the_given_class():
    class Mine(_native.Collection):
        pass

    manager = CollectionManager(create_default=True, collection_class=Mine)
    assert isinstance(manager.get("mine"), Mine)
    assert isinstance(manager.get("weights"), Mine)


def test_managers_with_equal_collections_are_equal():
    one, other = CollectionManager(), CollectionManager()
    one.get("relu").include(["relu"])
    other.get("relu").include(["relu"])
    assert one == other


def test_managers_with_different_collections_are_not_equal():
    one, other = CollectionManager(), CollectionManager()
    one.get("relu").include(["relu"])
    other.get("relu").include(["tanh"])
    assert one != other
    assert one != 3


def test_an_exported_file_loads_as_an_equal_manager(tmp_path):
    manager = CollectionManager(create_default=True)
    relu = manager.get("relu")
    relu.include(["relu_output"])
    relu.save_config = _native.SaveConfig(save_interval=7)
    relu.reduction_config = _native.ReductionConfig(reductions=["min"], norms=["l2"])
    manager.set_num_workers(3)
    manager.export(str(tmp_path), "worker_0_collections.json")
    file = tmp_path / "collections" / "000000000" / "worker_0_collections.json"
    loaded = CollectionManager.load(str(file))
    assert loaded == manager
    assert loaded.get_num_workers() == 3


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"collections": 3}', '{"collections": {"a": 3}}']
)
def test_a_file_of_something_else_is_refused(tmp_path, text):
    file = tmp_path / "collections.json"
    file.write_text(text)
    with pytest.raises(SMDebugValueError, match="collections.json"):
        CollectionManager.load(str(file))


def test_an_exported_file_has_the_words_of_the_format(tmp_path):
    manager = CollectionManager()
    manager.get("relu").include(["relu"])
    manager.export(str(tmp_path), "file.json")
    content = json.loads((tmp_path / "collections" / "000000000" / "file.json").read_text())
    assert content["_meta"] == {"num_workers": 1}
    assert content["collections"]["relu"]["include_regex"] == ["relu"]
    assert os.listdir(tmp_path) == ["collections"]


def test_an_export_into_a_run_gives_the_run_these_collections(tmp_path):
    with FileWriter(tmp_path, step=0) as writer:
        writer.write_tensor(np.ones(3), "one")
    manager = CollectionManager()
    manager.get("mine").tensor_names = ["one"]
    manager.export(str(tmp_path), "worker_0_collections.json")
    with FileWriter(tmp_path, step=1) as writer:
        writer.write_tensor(np.ones(3), "two")
    manager.get("mine").tensor_names = ["one", "two"]
    manager.export(str(tmp_path), "worker_0_collections.json")
    trial = create_trial(tmp_path)
    assert trial.steps() == [0, 1]
    assert trial.tensor_names(collection="mine") == ["one", "two"]


def test_an_export_into_a_run_that_is_being_written_is_refused(tmp_path):
    writer = FileWriter(tmp_path, step=0)
    with pytest.raises(SMDebugValueError, match="worker_0"):
        CollectionManager().export(str(tmp_path), "worker_0_collections.json")
    writer.close()
