"""Checks of the directory that a hook writes into."""

from __future__ import annotations

import os
from typing import Optional, Union

from ..exceptions import SMDebugRuntimeError
from .access_layer.utils import check_dir_exists
from .arguments import as_path

__all__ = ["verify_and_get_out_dir"]


def verify_and_get_out_dir(out_dir: Optional[Union[str, os.PathLike]]) -> str:
    """The directory with `~` expanded. Raises SMDebugRuntimeError without one, and where a finished
    run is there."""
    path = "" if out_dir is None else as_path("out_dir", out_dir)
    if not path:
        raise SMDebugRuntimeError("out_dir is missing: a hook needs a directory to write into")
    check_dir_exists(path)
    return path
