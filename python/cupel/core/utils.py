"""Small functions that scripts import."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Optional, Tuple, Union

import numpy

from .. import _native
from ..exceptions import SMDebugTypeError
from .arguments import as_text, as_texts

__all__ = [
    "ensure_dir",
    "flatten",
    "get_path_to_collections",
    "is_s3",
    "make_numpy_array",
    "match_inc",
]


def make_numpy_array(x: Any) -> numpy.ndarray:
    """The values as a numpy array; a number becomes one of shape (1).

    Takes what has `__array__` (tensors of PyTorch on the CPU, too), numbers, and lists of them. Any
    other object becomes an array of shape () with the object in it.
    """
    if isinstance(x, numpy.ndarray):
        return x
    if numpy.isscalar(x):
        return numpy.array([x])
    if hasattr(x, "detach"):  # A tensor of PyTorch with a graph has no __array__.
        x = x.detach()
    try:
        return numpy.asarray(x)
    except (TypeError, ValueError) as error:  # Such as lists of different lengths in a list.
        raise SMDebugTypeError(f"no array can be made of {type(x).__name__}: {error}") from None


def is_s3(path: str) -> Tuple[bool, Optional[str], Optional[str]]:
    """Whether the path is in S3, and then its bucket and the key in it."""
    if not as_text("path", path).startswith("s3://"):
        return False, None, None
    bucket, _, key = path[len("s3://") :].partition("/")
    return True, bucket, key


def ensure_dir(file_path: Union[str, os.PathLike], is_file: bool = True) -> None:
    """Makes the directory, or the directory of the file, and those above it."""
    directory = os.path.dirname(file_path) if is_file else os.fspath(file_path)
    if directory:
        os.makedirs(directory, exist_ok=True)


def get_path_to_collections(directory: Union[str, os.PathLike]) -> str:
    """The folder of a run's collections files."""
    return os.path.join(os.fspath(directory), "collections", "000000000")


def match_inc(tname: str, include: Any) -> bool:
    """Whether one of the patterns is found anywhere in the name."""
    patterns = _native.Collection("patterns")
    patterns.include_regex = as_texts("include", include)
    return patterns.has_tensor_name(as_text("tname", tname))


def flatten(lis: Iterable[Any]) -> List[Any]:
    """The items of lists in lists of any depth, as one list."""
    flat: List[Any] = []
    for item in lis:
        if isinstance(item, list):
            flat.extend(flatten(item))
        else:
            flat.append(item)
    return flat
