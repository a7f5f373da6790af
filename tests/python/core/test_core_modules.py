"""The small modules below cupel.core: constants, utilities, the logger."""

import logging
import os
import subprocess
import sys
import threading

import numpy
import pytest

from cupel import _native
from cupel.core import config_constants, json_config
from cupel.core.logger import get_logger
from cupel.core.utils import (
    ensure_dir,
    flatten,
    get_path_to_collections,
    is_s3,
    make_numpy_array,
    match_inc,
)
from cupel.core.writer import FileWriter
from cupel.exceptions import SMDebugTypeError, SMDebugValueError

WARNING = 2  # the engine's levels: debug, info, warning, error


# ---- Constants


@pytest.mark.parametrize("module", [config_constants, json_config])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONFIG_FILE_PATH_ENV_STR", "SMDEBUG_CONFIG_FILE_PATH"),
        ("DEFAULT_WORKER_NAME", "worker_0"),
        ("DEFAULT_COLLECTIONS_FILE_NAME", "worker_0_collections.json"),
        ("INCOMPLETE_STEP_WAIT_WINDOW_KEY", "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"),
    ],
)
def test_a_constant_has_the_value_of_the_ported_sdk(module, name, value):
    assert getattr(module, name) == value


# ---- Utilities


@pytest.mark.parametrize(
    ("value", "shape"),
    [(3, (1,)), (2.5, (1,)), (True, (1,)), ([1, 2], (2,)), ((1.5, 2.0), (2,)), ([[1]], (1, 1))],
)
def test_values_become_arrays(value, shape):
    array = make_numpy_array(value)
    assert array.shape == shape
    assert array.tolist() == numpy.asarray(value).reshape(shape).tolist()


def test_an_array_stays_itself():
    array = numpy.zeros(3)
    assert make_numpy_array(array) is array


@pytest.mark.parametrize("value", [None, {"a": 0.5}])
def test_an_object_without_numbers_becomes_an_array_of_the_object(value):
    array = make_numpy_array(value)
    assert array.shape == () and array.dtype == object
    assert array == numpy.array(value)


def test_a_list_of_lists_of_different_lengths_is_a_type_error():
    with pytest.raises(SMDebugTypeError, match="array"):
        make_numpy_array([[1], [2, 3]])


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("s3://bucket/a/b", (True, "bucket", "a/b")),
        ("s3://bucket", (True, "bucket", "")),
        ("s3://bucket/", (True, "bucket", "")),
        ("/data/s3://bucket", (False, None, None)),
        ("runs/mnist", (False, None, None)),
    ],
)
def test_a_path_in_s3_has_a_bucket_and_a_key(path, parts):
    assert is_s3(path) == parts


def test_the_directory_of_a_file_is_made(tmp_path):
    ensure_dir(tmp_path / "a" / "b" / "file")
    assert os.listdir(tmp_path / "a" / "b") == []
    ensure_dir(str(tmp_path / "c" / "d"), is_file=False)
    assert (tmp_path / "c" / "d").is_dir()
    ensure_dir("file_without_directory")


def test_collections_files_are_below_their_path(tmp_path):
    with FileWriter(tmp_path) as writer:
        writer.write_tensor(1.0, "x")
    assert os.listdir(get_path_to_collections(tmp_path)) == [
        config_constants.DEFAULT_COLLECTIONS_FILE_NAME
    ]


@pytest.mark.parametrize(
    ("name", "include", "found"),
    [
        ("relu_0", ["tanh", "relu"], True),
        ("my_relu", "relu", True),
        ("conv", ["relu"], False),
        ("conv", [], False),
        ("conv", ["^(?!relu)"], True),
    ],
)
def test_a_name_is_searched_for_patterns(name, include, found):
    assert match_inc(name, include) is found


def test_a_bad_pattern_is_a_value_error():
    with pytest.raises(SMDebugValueError):
        match_inc("conv", ["("])


def test_nested_lists_become_flat():
    assert flatten([1, [2, [3, []], "four"], (5, 6)]) == [1, 2, 3, "four", (5, 6)]


# ---- The logger


def test_the_logger_is_cupels():
    assert get_logger() is logging.getLogger("cupel")


def test_a_line_of_the_engine_goes_to_logging(caplog):
    _native.log(WARNING, "100 % of a line")
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("cupel", "WARNING", "100 % of a line")
    ]


def test_lines_keep_their_order_and_levels(caplog):
    with caplog.at_level(logging.DEBUG, "cupel"):
        for level in range(4):
            _native.log(level, f"line {level}")
    assert [record.levelname for record in caplog.records] == ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert [record.getMessage() for record in caplog.records] == [f"line {i}" for i in range(4)]


def test_lines_of_other_threads_are_kept(caplog):
    threads = [
        threading.Thread(target=lambda: [_native.log(WARNING, "line") for _ in range(100)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _native.pass_on_log_lines()
    assert len(caplog.records) == 400


def test_a_handler_that_calls_cupel_does_not_wait_for_itself(caplog):
    class Again(logging.Handler):
        def emit(self, record):
            if record.getMessage() == "first":
                _native.log(WARNING, "second")

    handler = Again()
    get_logger().addHandler(handler)
    try:
        _native.log(WARNING, "first")
        _native.pass_on_log_lines()
    finally:
        get_logger().removeHandler(handler)
    assert [record.getMessage() for record in caplog.records] == ["first", "second"]


def run(program, **environment):
    """Runs a program in Python, and returns what it wrote to standard error."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_LOG_LEVEL")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, **environment},
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stderr


LINES = """
from cupel import _native
for level, name in enumerate(["debug", "info", "warning", "error"]):
    _native.log(level, "a line: " + name)
"""


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (None, ["warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("ERROR", ["error"]),
        ("off", []),
    ],
)
def test_a_program_without_handlers_has_lines_on_standard_error(level, shown):
    error = run(LINES, **({} if level is None else {"CUPEL_LOG_LEVEL": level}))
    assert [line.rpartition("a line: ")[2] for line in error.splitlines()] == shown


def test_the_level_of_the_ported_sdk_counts():
    assert "a line: debug" in run(LINES, SMDEBUG_LOG_LEVEL="debug")


def test_a_program_with_handlers_has_each_line_once():
    error = run("import logging; logging.basicConfig(format='mine: %(message)s')" + LINES)
    assert error.splitlines() == ["mine: a line: warning", "mine: a line: error"]


def test_lines_at_the_end_of_a_program_are_shown():
    error = run(
        "import atexit\n"
        "from cupel import _native\n"
        "atexit.register(lambda: _native.log(2, 'at exit'))\n"
        "class Late:\n"
        "    def __del__(self, log=_native.log):\n"
        "        log(2, 'later still')\n"
        "late = Late()\n"
    )
    assert "at exit" in error
    assert "later still" in error


def test_a_forked_child_logs_and_does_not_repeat_its_parents_lines():
    error = run(
        "import os, threading\n"
        "from cupel import _native\n"
        "stop = threading.Event()\n"
        "def log():\n"
        "    while not stop.is_set():\n"
        "        _native.log(0, 'busy')\n"
        "thread = threading.Thread(target=log)\n"
        "thread.start()\n"
        "for number in range(50):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        _native.log(2, f'child {number}')\n"
        "        _native.pass_on_log_lines()\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "stop.set()\n"
        "thread.join()\n"
    )
    lines = [line.partition("WARNING: ")[2] for line in error.splitlines()]
    assert [line for line in lines if "child" in line] == [f"child {n}" for n in range(50)]
