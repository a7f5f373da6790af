"""python -m cupel.xgboost SCRIPT ARGS: runs a script with a hook in each of its trainings."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from typing import Any, Callable, Iterator

import xgboost

from ..core.script_runner import run_script
from .hook import Hook

USAGE = """\
usage: python -m cupel.xgboost SCRIPT [ARGUMENT...]

Runs a Python script, and adds a hook to each call of xgboost.train in it, of the scikit-learn
classes too. The environment variable SMDEBUG_CONFIG_FILE_PATH names the configuration file of the
hook."""


def with_hook(train: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    """`train`, with the hook as a callback, unless the call has a hook of its own."""
    signature = inspect.signature(train)

    @functools.wraps(train)
    def watched(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs).arguments
        callbacks = list(call.get("callbacks") or ())
        if not any(isinstance(each, Hook) for each in callbacks):
            evals = call.get("evals") or ()
            hook.hyperparameters = dict(call["params"])
            hook.train_data = call["dtrain"]
            hook.validation_data = evals[-1][0] if evals else None
            callbacks.append(hook)
        call["callbacks"] = callbacks
        return train(**call)

    return watched


@contextlib.contextmanager
def watched_trainings() -> Iterator[None]:
    """Gives each training a hook of the configuration file, which is closed at the end."""
    hook = Hook.create_from_json_file()
    watched = with_hook(xgboost.train, hook)
    for name in ("xgboost", "xgboost.training", "xgboost.sklearn"):
        if hasattr(sys.modules.get(name), "train"):
            setattr(sys.modules[name], "train", watched)
    try:
        yield
    finally:
        hook.close()


if __name__ == "__main__":
    sys.exit(run_script("cupel.xgboost", USAGE, sys.argv[1:], watched_trainings))
