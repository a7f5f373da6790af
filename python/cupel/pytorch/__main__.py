"""Runs a script with a hook that the script does not know: python -m cupel.pytorch SCRIPT ARGS."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator

from torch.nn.modules.module import register_module_forward_pre_hook

from cupel import _native
from cupel.core import hook_registry
from cupel.core.script_runner import run_script

from ._registrar import Registrar
from .hook import Hook

USAGE = """usage: python -m cupel.pytorch SCRIPT [ARGS]

Runs SCRIPT with a hook for the outermost module that has trainable parameters and is called first,
and for every loss module of torch.nn that is called. The configuration is the file that
SMDEBUG_CONFIG_FILE_PATH names."""


def _hook_of_configuration() -> Hook:
    """The hook of the configuration file; modes are those of the root, the optimizer is seen."""
    options, collections = _native.read_hook_configuration("", _native.Profile.PYTORCH)
    options["include_collections"] = [*options.get("include_collections", []), "optimizer"]
    return Hook._configured(({**options, "mode": "auto"}, collections))


@contextlib.contextmanager
def watched_models() -> Iterator[None]:
    """Has the hook see what the script calls; it is closed at the end."""
    hook = _hook_of_configuration()
    hook_registry.set_hook(hook)
    registered = register_module_forward_pre_hook(Registrar(hook))
    try:
        yield
    finally:
        registered.remove()
        hook.close()


if __name__ == "__main__":
    sys.exit(run_script("cupel.pytorch", USAGE, sys.argv[1:], watched_models))
