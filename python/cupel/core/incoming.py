"""Values that have no plain memory: converted to ones that have, or refused with the reason.

The extension reads plain tensors and arrays by itself and calls `converted` for all others.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..exceptions import SMDebugTypeError, SMDebugValueError

__all__ = ["converted"]

_MOST_DENSE_BYTES = 64 << 20  # of a sparse tensor
_TORCH_TYPES = frozenset(
    "torch." + name
    for name in (
        *("bool", "float16", "bfloat16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)


def converted(value: Any) -> tuple[Any, str]:
    """The value as a plain tensor or array, and its kind: "", "bf16" or "text".

    A text is a list of encoded texts and the shape. Raises SMDebugTypeError for a value of a kind
    that cannot be saved, SMDebugValueError for one without values.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _plain_tensor(torch, value), ""
    array = value if isinstance(value, np.ndarray) else _as_array(value)
    if type(value) in (int, float, bool) and array.ndim == 0:
        array = array.reshape(1)
    return _plain_array(array, value)


# ---- torch


def _plain_tensor(torch: Any, value: Any) -> Any:
    """The tensor's values on the CPU, row-major or strided, real, in a type of ours."""
    if value.is_meta:
        raise SMDebugValueError("the tensor is on the device meta and has no values")
    with torch.no_grad():
        tensor = value.detach()
        for unwrap in ("to_local", "wait"):  # of DTensor; of AsyncCollectiveTensor
            if type(tensor) is not torch.Tensor and hasattr(tensor, unwrap):
                tensor = getattr(tensor, unwrap)()
        if tensor.is_nested:
            tensor = tensor.values()
        if tensor.is_quantized:
            tensor = tensor.dequantize()
        if tensor.layout != torch.strided:
            tensor = _dense(tensor)
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor.resolve_conj())
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        if str(tensor.dtype).startswith("torch.float8"):
            tensor = tensor.to(torch.float32)
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
    if str(tensor.dtype) not in _TORCH_TYPES:
        raise SMDebugValueError(f"a tensor of {value.dtype} cannot be saved")
    if tensor.numel() > 0 and tensor.data_ptr() == 0:
        raise SMDebugValueError(f"the class {type(value).__name__} hides the values of the tensor")
    return tensor


def _dense(tensor: Any) -> Any:
    size = tensor.numel() * tensor.element_size()
    if size > _MOST_DENSE_BYTES:
        raise SMDebugValueError(
            f"the sparse tensor would take {size >> 20} MiB when it is dense; at most "
            f"{_MOST_DENSE_BYTES >> 20} MiB are saved"
        )
    return tensor.to_dense()


# ---- numpy


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except SMDebugTypeError:
        raise
    except Exception as error:  # of __array__, or lists of lists that are no array
        raise SMDebugTypeError(
            f"a value of type {type(value).__name__} is no array: {error}"
        ) from error


def _refuse(array: np.ndarray, value: Any) -> SMDebugTypeError:
    if isinstance(value, np.ndarray):
        return SMDebugTypeError(f"an array of {array.dtype} cannot be saved")
    return SMDebugTypeError(f"a value of type {type(value).__name__} cannot be saved")


def _plain_array(array: np.ndarray, value: Any) -> tuple[Any, str]:
    kind = array.dtype.kind
    name = array.dtype.name
    if kind in "US":
        return _texts(array), "text"
    if kind == "T" or (kind == "O" and _is_all_text(array)):
        return _texts(array), "text"
    if name == "bfloat16":
        return np.ascontiguousarray(array).view(np.uint16), "bf16"
    if name.startswith("float8_"):
        return array.astype(np.float32), ""
    if name in ("int4", "int2"):
        return array.astype(np.int8), ""
    if name in ("uint4", "uint2"):
        return array.astype(np.uint8), ""
    if kind not in "?biufc" or name.startswith(("float4_", "float6_")):
        raise _refuse(array, value)
    if not array.dtype.isnative:
        raise SMDebugTypeError(
            f"an array of {array.dtype.str} has another byte order than this machine"
        )
    if name in ("longdouble", "clongdouble", "float128", "complex256", "float96", "complex192"):
        raise _refuse(array, value)
    return np.array(array), ""  # elements within structs lie anywhere


def _is_all_text(array: np.ndarray) -> bool:
    return array.size > 0 and all(isinstance(each, str) for each in array.ravel())


def _texts(array: np.ndarray) -> tuple[list[bytes], tuple[int, ...]]:
    """The texts in UTF-8, row-major, and the shape; a single one has the shape (1)."""
    texts = [
        each if isinstance(each, bytes) else str(each).encode("utf-8", "replace")
        for each in array.ravel().tolist()
    ]
    return texts, array.shape or (1,)
