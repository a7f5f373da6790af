"""Values that come in, row by row of their kinds, read back as they were saved."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest

import cupel
from cupel.exceptions import SMDebugTypeError, SMDebugValueError
from saved_values import assert_left_out, assert_saved, saved

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


KINDS = {
    "?": "bool",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
}


# ---- numpy and buffers


@pytest.mark.parametrize("kind", KINDS)
def test_an_array_of_numbers_is_saved_in_its_type(tmp_path, kind):
    values = np.array([[0, 1, 2], [3, 4, 5]]).astype(kind)
    assert_saved(tmp_path / "run", values, KINDS[kind], values)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::-2, 1::2],
        lambda a: np.broadcast_to(a[:1], (3, 6)),
        lambda a: a[1, 2],
        lambda a: a[:0],
        lambda a: np.asfortranarray(a),
        lambda a: a.reshape((1,) * 28 + a.shape),
    ],
    ids=["transposed", "strided", "broadcast", "scalar", "empty", "fortran", "rank 30"],
)
def test_a_view_is_saved_row_major(tmp_path, view):
    values = view(np.arange(24, dtype=np.float32).reshape(4, 6))
    report_rank = values.shape
    dtype, array = saved(tmp_path / "run", values)
    assert (dtype, array.shape) == ("f32", report_rank)
    np.testing.assert_array_equal(array, values)


def test_a_field_of_a_struct_is_saved(tmp_path):
    values = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i1"), ("b", "f8")])["b"]
    assert values.strides == (9,)
    assert_saved(tmp_path / "run", values, "f64", [2.5, 4.5])


@pytest.mark.parametrize("kind, dtype", [("c8", "f32"), ("c16", "f64")])
def test_complex_numbers_are_pairs(tmp_path, kind, dtype):
    values = np.array([[1 + 2j, 3 - 4j], [5j, 6]]).astype(kind).T
    expected = np.stack([values.real, values.imag], axis=-1)
    assert_saved(tmp_path / "run", values, dtype, expected)


def test_a_single_complex_number_is_a_pair(tmp_path):
    assert_saved(tmp_path / "run", np.complex64(1 + 2j), "f32", [1, 2])


def test_an_object_with_a_buffer_is_saved(tmp_path):
    assert_saved(tmp_path / "run", array.array("h", [1, -2]), "i16", [1, -2])
    matrix = memoryview(bytes(range(6))).cast("B", (2, 3))
    assert_saved(tmp_path / "matrix", matrix, "u8", [[0, 1, 2], [3, 4, 5]])


def test_an_array_of_ctypes_which_has_no_strides_is_saved(tmp_path):
    values = ((ctypes.c_float * 3) * 2)((1, 2, 3), (4, 5, 6))
    assert_saved(tmp_path / "run", values, "f32", np.array([[1, 2, 3], [4, 5, 6]]))


def test_a_number_of_ctypes_is_saved(tmp_path):
    assert_saved(tmp_path / "run", ctypes.c_int32(7), "i32", np.array(7))


def test_a_read_only_array_is_saved(tmp_path):
    values = np.arange(3.0)
    values.flags.writeable = False
    assert_saved(tmp_path / "run", values, "f64", [0, 1, 2])


def test_another_byte_order_is_a_type_error(tmp_path):
    values = np.arange(3, dtype=">f4")
    assert_left_out(tmp_path / "run", values, "byte order", SMDebugTypeError)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]),
        np.zeros(2, dtype="M8[s]"),
        np.zeros(2, dtype="m8[s]"),
        np.zeros(2, dtype=np.longdouble),
        np.zeros(2, dtype=np.clongdouble),
        np.zeros(2, dtype="V5"),
        np.array([None, 1.5]),
        np.array([1 << 70, 0], dtype=object),
    ],
    ids=lambda values: str(values.dtype),
)
def test_an_array_of_another_type_is_a_type_error(tmp_path, values):
    assert_left_out(tmp_path / "run", values, str(values.dtype), SMDebugTypeError)


def test_an_array_of_too_many_axes_is_left_out(tmp_path):
    # numpy 1.24 has no more than 32 axes, a buffer has no more than 64.
    shape = (1,) * 33
    values = memoryview(b"a").cast("B", shape[:32]) if np.__version__ < "2" else np.zeros(shape)
    if np.__version__ < "2":
        assert_saved(tmp_path / "run", values, "u8", np.full(shape[:32], ord("a")))
    else:
        assert_left_out(tmp_path / "run", values, "", SMDebugValueError)


# ---- texts


@pytest.mark.parametrize(
    "value, expected",
    [
        ("grün", ["grün"]),
        ("", [""]),
        (["a", "bb"], ["a", "bb"]),
        ([["a"], ["bb"]], [["a"], ["bb"]]),
        (np.array([["a", "ü"]]), [["a", "ü"]]),
        (np.array([b"a", b"bb"]), ["a", "bb"]),
        (np.array(["a", "b"], dtype=object), ["a", "b"]),
        (np.str_("a"), ["a"]),
        (b"bytes", ["bytes"]),
        (np.array(["a", "b", "c", "d"])[::2], ["a", "c"]),
    ],
    ids=repr,
)
def test_texts_are_saved_as_texts(tmp_path, value, expected):
    assert_saved(tmp_path / "run", value, "utf8", expected)


def test_a_text_that_utf8_does_not_have_keeps_the_rest(tmp_path):
    assert_saved(tmp_path / "run", "a\ud800b", "utf8", ["a?b"])
    assert_saved(tmp_path / "array", np.array(["a\ud800b"]), "utf8", ["a?b"])


if hasattr(np.dtypes if hasattr(np, "dtypes") else np, "StringDType"):

    def test_texts_of_any_length_are_saved_as_texts(tmp_path):
        values = np.array([["a", "longer than a word"]], dtype=np.dtypes.StringDType())
        assert_saved(tmp_path / "run", values, "utf8", [["a", "longer than a word"]])


# ---- numbers, lists and other objects


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (2.5, "f64", [2.5]),
        (7, "i64", [7]),
        (-(1 << 63), "i64", [-(1 << 63)]),
        ((1 << 64) - 1, "u64", [(1 << 64) - 1]),
        (True, "bool", [True]),
        (np.float32(2.5), "f32", 2.5),
        (np.float64(2.5), "f64", 2.5),
        (np.int16(3), "i16", 3),
        (np.bool_(True), "bool", True),
        ([1, 2, 3], "i64", [1, 2, 3]),
        ([[1.5, 2], [3, 4]], "f64", [[1.5, 2], [3, 4]]),
        ((1.0, 2.0), "f64", [1, 2]),
        ([], "f64", np.zeros(0)),
        (range(3), "i64", [0, 1, 2]),
    ],
    ids=repr,
)
def test_numbers_and_lists_are_saved(tmp_path, value, dtype, expected):
    assert_saved(tmp_path / "run", value, dtype, expected)


class WithArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.arange(3, dtype=np.int16)


class WithInterface:
    def __init__(self) -> None:
        self.values = np.arange(4, dtype=np.float32)
        self.__array_interface__ = self.values.__array_interface__


def test_an_object_that_gives_an_array_is_saved(tmp_path):
    assert_saved(tmp_path / "array", WithArray(), "i16", [0, 1, 2])
    assert_saved(tmp_path / "interface", WithInterface(), "f32", [0, 1, 2, 3])


class WithDLPack:
    """An array as another library has it: DLPack, and nothing else."""

    def __init__(self, values: np.ndarray, device: int = 1) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.arange(3, dtype=np.uint16),
        np.full((), 2.5),
        np.zeros((0, 3), np.int8),
    ],
    ids=["transposed", "u16", "scalar", "empty"],
)
def test_an_object_with_dlpack_is_saved(tmp_path, values):
    dtype, array = saved(tmp_path / "run", WithDLPack(values))
    assert dtype == KINDS[values.dtype.str[1:]]
    assert array.shape == values.shape
    np.testing.assert_array_equal(array, values)


def test_an_object_on_another_device_is_a_type_error_that_names_cpu(tmp_path):
    value = WithDLPack(np.zeros(3), device=2)
    assert_left_out(tmp_path / "run", value, ".cpu()", SMDebugTypeError)


class Failing:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise OSError("the cable is out")


@pytest.mark.parametrize(
    "value, why",
    [
        (None, "NoneType"),
        (object(), "object"),
        ({"a": 1}, "dict"),
        ({1, 2}, "set"),
        (1 << 70, "int"),
        ([[1, 2], [3]], "list"),
        (int, "type"),
        (Failing(), "the cable is out"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_one_warning_and_nothing_saved(tmp_path, value, why):
    assert_left_out(tmp_path / "run", value, why, SMDebugTypeError)


class Interrupting:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise KeyboardInterrupt


def test_a_device_of_an_impossible_number_is_left_out(tmp_path):
    class Far:
        def __dlpack__(self, **options):
            raise AssertionError("is not asked")

        def __dlpack_device__(self):
            return (2**40, 0)

    assert_left_out(tmp_path / "run", Far(), "Far", SMDebugTypeError)


def test_an_exception_without_a_readable_text_is_reported(tmp_path):
    class Unreadable(Exception):
        def __str__(self):
            return "\udcff"

    class Raising:
        def __array__(self, *arguments, **options):
            raise Unreadable

    assert_left_out(tmp_path / "run", Raising(), "udcff", SMDebugTypeError)


def test_an_interrupt_in_a_conversion_is_not_swallowed(tmp_path):
    hook = cupel.Hook(tmp_path / "run", save_all=True)
    hook.next_step()
    with pytest.raises(KeyboardInterrupt):
        hook.save_tensor("x", Interrupting())
    assert hook.close().problems == []


def test_a_value_is_not_read_where_nothing_is_due(tmp_path):
    hook = cupel.Hook(tmp_path / "run")
    hook.next_step()
    hook.save_tensor("x", Interrupting())
    assert hook.close().problems == []


# ---- types of ml_dtypes

if ml_dtypes is not None:

    def test_bf16_of_numpy_is_bf16(tmp_path):
        values = np.array([1.5, -2, 3], dtype=ml_dtypes.bfloat16)[::-1]
        assert_saved(tmp_path / "run", values, "bf16", values.astype(np.float32))

    @pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"])
    def test_float8_of_numpy_is_exact_in_f32(tmp_path, name):
        values = np.array([0.5, -2, 16], dtype=getattr(ml_dtypes, name))
        assert_saved(tmp_path / "run", values, "f32", [0.5, -2, 16])

    def test_float4_of_numpy_is_a_type_error(tmp_path):
        values = np.array([0.5, 1], dtype=ml_dtypes.float4_e2m1fn)
        assert_left_out(tmp_path / "run", values, "float4", SMDebugTypeError)
