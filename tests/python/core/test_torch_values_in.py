# requires: torch
"""Tensors of torch that come in, kind by kind, read back as they were saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cupel.exceptions import SMDebugValueError
from saved_values import assert_left_out, assert_saved


def has(name: str) -> bool:
    """Whether this version of torch has it."""
    return hasattr(torch, name)


TORCH_KINDS = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}

@pytest.mark.parametrize("name", [name for name in TORCH_KINDS if has(name)])
def test_a_tensor_is_saved_in_its_type(tmp_path, name):
    values = torch.tensor([[0, 1], [2, 3]]).to(getattr(torch, name))
    expected = np.array([[0, 1], [2, 3]]).astype(bool if name == "bool" else float)
    assert_saved(tmp_path / "run", values, TORCH_KINDS[name], expected)

@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[::2, 1::2],
        lambda t: t[:1].expand(3, 6),
        lambda t: t[1, 2],
        lambda t: t[:0],
        lambda t: t.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
        lambda t: torch.nn.Parameter(t),
        lambda t: t.clone().requires_grad_() * 2,
        lambda t: t[1:, 1:],
    ],
    ids=["t", "strided", "expand", "scalar", "empty", "channels", "parameter", "graph", "offset"],
)
def test_a_view_of_a_tensor_is_saved_row_major(tmp_path, view):
    values = view(torch.arange(24, dtype=torch.float32).reshape(4, 6))
    assert_saved(tmp_path / "run", values, "f32", values.detach().numpy())

def test_complex_tensors_are_pairs_with_their_conjugation(tmp_path):
    values = torch.tensor([1 + 2j, 3 - 4j])
    assert_saved(tmp_path / "plain", values, "f32", [[1, 2], [3, -4]])
    assert_saved(tmp_path / "conj", values.conj(), "f32", [[1, -2], [3, 4]])
    assert_saved(tmp_path / "neg", values.conj().imag, "f32", [-2, 4])

def test_sparse_tensors_are_dense(tmp_path):
    dense = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    assert_saved(tmp_path / "coo", dense.to_sparse(), "f32", dense.numpy())
    assert_saved(tmp_path / "csr", dense.to_sparse_csr(), "f32", dense.numpy())

def test_sparse_tensors_that_are_not_coalesced_are_summed(tmp_path):
    values = torch.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,))
    assert_saved(tmp_path / "run", values, "f32", [0, 5, 0])

def test_a_sparse_tensor_that_is_large_when_dense_is_left_out(tmp_path):
    values = torch.sparse_coo_tensor([[0], [0]], [1.0], (1 << 13, 1 << 12))
    assert_left_out(tmp_path / "run", values, "128 MiB", SMDebugValueError)

def test_quantized_tensors_are_dequantized(tmp_path):
    values = torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 0, torch.qint8)
    assert_saved(tmp_path / "run", values, "f32", [0.5, 1.0])

def test_a_tensor_without_values_is_left_out(tmp_path):
    values = torch.zeros(2, device="meta")
    assert_left_out(tmp_path / "run", values, "meta", SMDebugValueError)

def test_a_subclass_gives_its_values(tmp_path):
    class Marked(torch.Tensor):
        pass

    values = torch.arange(3.0).as_subclass(Marked)
    assert_saved(tmp_path / "run", values, "f32", [0, 1, 2])

class Wrapper(torch.Tensor):
    """A tensor whose own memory has nothing, as DTensor and AsyncCollectiveTensor are."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapper:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].inner)
        raise RuntimeError(f"no {function}")


class Sharded(Wrapper):
    def to_local(self) -> torch.Tensor:
        return self.inner


class Awaited(Wrapper):
    def wait(self) -> torch.Tensor:
        return self.inner


@pytest.mark.parametrize("kind", [Sharded, Awaited])
def test_a_tensor_that_holds_another_one_gives_the_values_of_that(tmp_path, kind):
    assert_saved(tmp_path / "run", kind(torch.arange(3.0)), "f32", [0, 1, 2])


def test_a_tensor_that_hides_its_values_is_left_out(tmp_path):
    assert_left_out(tmp_path / "run", Wrapper(torch.ones(3)), "", SMDebugValueError)


if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):

    def test_a_nested_tensor_gives_its_values(tmp_path):
        values = torch.nested.nested_tensor([torch.ones(2), torch.zeros(1)])
        assert_saved(tmp_path / "run", values, "f32", [1, 1, 0])


if has("float8_e4m3fn"):

    @pytest.mark.parametrize(
        "name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
    )
    def test_a_float8_tensor_is_exact_in_f32(tmp_path, name):
        values = torch.tensor([0.5, -2, 8]).to(getattr(torch, name))
        assert_saved(tmp_path / "run", values, "f32", [0.5, -2, 8])

if has("float4_e2m1fn_x2"):

    def test_a_float4_tensor_is_left_out(tmp_path):
        values = torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
        assert_left_out(tmp_path / "run", values, "float4", SMDebugValueError)

def test_half_complex_tensors_are_pairs(tmp_path):
    values = torch.zeros(2, dtype=torch.complex32)
    assert_saved(tmp_path / "run", values, "f16", np.zeros((2, 2)))
