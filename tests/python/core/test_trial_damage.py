"""Errors of damaged runs, on copies of recorded ones."""

import pickle
import shutil
from pathlib import Path

import pytest

from cupel.exceptions import (
    FormatError,
    IndexReaderException,
    MissingCollectionFiles,
    StepUnavailable,
    TensorUnavailableForStep,
)
from cupel.rules import Rule, RuleRunner
from cupel.trials import create_trial

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(GOLDEN / "1.1" / "full", tmp_path / "full"))


def damage(file, offset):
    """Changes one byte of the file."""
    content = bytearray(file.read_bytes())
    content[offset] ^= 0xFF
    file.write_bytes(content)


def only(folder):
    return sorted(file for file in folder.rglob("*") if file.is_file())[0]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_every_version_of_the_format_is_read(version):
    trial = create_trial(GOLDEN / version / "full")
    assert trial.steps()[:2] == [0, 1]
    assert trial.loaded_all_steps


def test_a_run_of_a_killed_writer_is_read():
    trial = create_trial(GOLDEN / "1.1" / "killed")
    assert not trial.loaded_all_steps
    assert trial.tensor("fc.weight").value(0).shape == (4, 6)


def test_a_damaged_index_names_the_file_and_the_place(run):
    index = only(run / "index")
    damage(index, index.stat().st_size // 2)
    with pytest.raises(FormatError) as raised:
        create_trial(run).steps()
    assert raised.value.file == str(index.relative_to(run))
    assert 0 <= raised.value.offset < index.stat().st_size
    assert raised.value.file in str(raised.value)
    assert isinstance(raised.value, IndexReaderException)


def test_an_error_of_the_engine_survives_pickling(run):
    damage(only(run / "index"), 500)
    with pytest.raises(FormatError) as raised:
        create_trial(run).steps()
    again = pickle.loads(pickle.dumps(raised.value))
    assert vars(again) == vars(raised.value)
    assert str(again) == str(raised.value) == again.message


def test_a_damaged_index_answers_from_what_is_before_the_damage(run):
    damage(sorted((run / "index").rglob("*.arrow"))[1], 600)
    trial = create_trial(run)
    with pytest.raises(FormatError):
        trial.steps()
    assert trial.steps()[:3] == [0, 1, 2]


def test_a_damaged_value_is_a_format_error_each_time(run):
    events = only(run / "events")
    content = events.read_bytes()
    value = b"".join(bytes.fromhex(f) for f in ("0000803f", "00000040", "00004040"))  # 1, 2, 3
    assert value in content
    damage(events, content.index(value))
    tensor = create_trial(run).tensor("fc.weight")
    for _ in range(2):
        with pytest.raises(FormatError) as raised:
            tensor.value(0)
        assert raised.value.file == str(events.relative_to(run))


def test_a_rule_skips_a_step_whose_value_is_damaged(run):
    class Reads(Rule):
        def invoke_at_step(self, step):
            self.base_trial.tensor("fc.weight").value(step)
            return False

    events = only(run / "events")
    content = events.read_bytes()
    damage(events, content.index(bytes.fromhex("0000803f" "00000040" "00004040")))
    trial = create_trial(run)
    runner = RuleRunner(trial, wait=False)
    runner.add(Reads(trial))
    (line,) = runner.run()
    assert line["status"] != "Error"
    assert line["steps_damaged"] == 1


def test_a_value_whose_file_is_gone_is_unavailable(run):
    only(run / "events").unlink()
    with pytest.raises(TensorUnavailableForStep):
        create_trial(run).tensor("fc.weight").value(0)


def test_a_damaged_collections_file_is_a_format_error(run):
    collections = only(run / "collections")
    collections.write_text("{")
    with pytest.raises(FormatError) as raised:
        create_trial(run)
    assert raised.value.file == str(collections.relative_to(run))


def test_an_ended_run_that_lacks_files_of_workers_is_refused(tmp_path):
    run = Path(shutil.copytree(GOLDEN / "1.1" / "small", tmp_path / "small"))
    (run / "collections" / "000000000" / "worker_1_collections.json").unlink()
    with pytest.raises(MissingCollectionFiles):
        create_trial(run)


def test_a_step_behind_the_range_does_not_exist(run):
    trial = create_trial(run, range_steps=(1, None))
    with pytest.raises(StepUnavailable):
        trial.tensor("fc.weight").value(0)
