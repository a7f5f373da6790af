"""Values of a trial as numpy arrays."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

from cupel.core.writer import FileWriter
from cupel.trials import create_trial

GOLDEN = Path(__file__).parents[2] / "golden" / "1.1"
DTYPES = {
    "bool": numpy.bool_,
    "i8": numpy.int8,
    "i16": numpy.int16,
    "i32": numpy.int32,
    "i64": numpy.int64,
    "u8": numpy.uint8,
    "u16": numpy.uint16,
    "u32": numpy.uint32,
    "u64": numpy.uint64,
    "f16": numpy.float16,
    "f32": numpy.float32,
    "f64": numpy.float64,
}


def saved(directory, value):
    """The tensor of a run that holds the value."""
    with FileWriter(directory) as writer:
        writer.write_tensor(value, "x")
    return create_trial(directory).tensor("x")


@pytest.mark.parametrize("name", DTYPES)
def test_a_value_has_the_saved_dtype(tmp_path, name):
    value = numpy.array([[0, 1, 1], [1, 0, 1]]).astype(DTYPES[name])
    tensor = saved(tmp_path, value)
    read = tensor.value(0)
    assert tensor.dtype(0) == name
    assert read.dtype == value.dtype
    assert isinstance(read, numpy.ndarray)
    numpy.testing.assert_array_equal(read, value)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 1, 4)])
def test_a_value_has_the_saved_shape(tmp_path, shape):
    assert saved(tmp_path, numpy.zeros(shape, numpy.float32)).value(0).shape == shape


def test_a_scalar_stays_without_dimensions(tmp_path):
    value = saved(tmp_path, numpy.array(2.5)).value(0)
    assert isinstance(value, numpy.ndarray)
    assert value.ndim == 0
    assert value.item() == 2.5


def test_special_elements_keep_their_bits(tmp_path):
    value = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 5e-324])
    assert saved(tmp_path, value).value(0).tobytes() == value.tobytes()


def test_text_is_text(tmp_path):
    value = saved(tmp_path, numpy.array([["a", "für"], ["", "日本"]])).value(0)
    assert value.dtype.kind == "U"
    assert value.tolist() == [["a", "für"], ["", "日本"]]


def test_an_array_may_be_changed_and_is_the_callers_own(tmp_path):
    tensor = saved(tmp_path, numpy.arange(1000.0))
    first = tensor.value(0)
    first[:] = -1
    assert tensor.value(0)[999] == 999


def test_an_array_outlives_its_trial(tmp_path):
    value = saved(tmp_path, numpy.arange(100_000)).value(0)
    assert value.sum() == 100_000 * 99_999 // 2


def test_a_value_reaches_numpy_without_a_copy(tmp_path):
    size = 64 << 20
    with FileWriter(tmp_path) as writer:
        writer.write_tensor(numpy.ones(size, numpy.uint8), "x")
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from cupel.trials import create_trial\n"
        "def peak():\n"
        "    status = Path('/proc/self/status').read_text()\n"
        "    return 1024 * int(re.search(r'VmHWM:\\s*(\\d+) kB', status)[1])\n"
        "tensor = create_trial(sys.argv[1]).tensor('x')\n"
        "before = peak()\n"
        "value = tensor.value(0)\n"
        "assert value.nbytes == 64 << 20 and value[-1] == 1\n"
        "print(peak() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    assert 0.9 * size < int(done.stdout) < 1.5 * size


def test_a_value_is_read_while_other_threads_run(tmp_path):
    tensor = saved(tmp_path, numpy.zeros(4_000_000))
    stop = threading.Event()
    counts = [0]

    def count():
        while not stop.is_set():
            counts[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counts[0]
        while counts[0] - before < 1000:  # Would not end if reading held the GIL throughout.
            tensor.value(0)
    finally:
        stop.set()
        counter.join()


def test_many_threads_read_one_trial(tmp_path):
    tensor = saved(tmp_path, numpy.arange(10_000))
    sums = []

    def read():
        sums.append(sum(int(tensor.value(0).sum()) for _ in range(50)))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [50 * 49_995_000] * 8


def test_bf16_becomes_float32_exactly():
    tensor = create_trial(GOLDEN / "full").tensor("bf16.weight")
    value = tensor.value(0)
    assert tensor.dtype(0) == "bf16"
    assert value.dtype == numpy.float32
    assert value.view(numpy.uint32).tolist() == [[0x01010000, 0x01010000]]


def test_a_recorded_run_reads_as_it_was_written():
    trial = create_trial(GOLDEN / "full")
    assert trial.tensor("words").value(0).tolist() == ["gold", "", "sìlver"]
    assert trial.tensor("fc.weight").value(1).tolist() == (
        numpy.arange(1, 25).reshape(4, 6).tolist()
    )
    assert trial.tensor("u64.weight").value(0).tolist() == [[0x0101010101010101] * 2]
    assert trial.tensor("loss").value(1).item() == 0.5
