"""The hook that belongs to no framework: a training loop saves by it what it likes."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Iterable, NoReturn, Optional, Union

from . import _native
from .core.arguments import as_out_dir
from .core.modes import ModeKeys

__all__ = ["Hook"]

Names = Union[str, Iterable[str]]

_open_hooks: weakref.WeakSet[Hook] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes the hooks that a script left open, while Python can still do it."""
    for hook in list(_open_hooks):
        hook.close()


class Hook(_native.Hook):
    """Saves tensors out of a training loop into a run.

    A step begins with next_step(), which also commits the step before. Collections decide which
    tensors are saved at which steps; configure them before the first step. After the constructor
    nothing is raised into the training unless `on_error` is "throw": a hook that fails logs it once
    and stops saving. A hook is closed by close(), by the end of a `with`, when nobody holds it any
    more, and when the interpreter exits. A forked child's hook and a hook that was pickled do
    nothing.

        with cupel.Hook("runs/mnist", include_collections=["weights"]) as hook:
            for batch in batches:
                hook.next_step()
                loss = train(model, batch)
                hook.save_tensor("fc.weight", model.weight)
                hook.save_scalar("loss", loss)

    Values are arrays of numpy or of any library with a buffer, DLPack or `__array__`, tensors of
    torch, numbers, texts, and lists of them. None of the first three is copied on the way.

    Arguments, each with the default that None stands for:
        out_dir: a directory, or a location such as "s3://bucket/prefix"; "~/" is the home, {time}
            becomes the UTC time, {job} TRAINING_JOB_NAME or the process id.
        existing: what becomes of a finished run in out_dir: "refuse", "replace" or "continue".
        include_collections: names of collections to save, beside losses.
        include_regex: patterns of the collection "default", which is then saved.
        save_all: whether every tensor is saved.
        save_config: the saved steps, a SaveConfig, a SaveConfigMode or a dict of them by mode;
            every 500 steps by default.
        reduction_config: what is saved of a tensor, a ReductionConfig; raw values by default.
        profile: the framework whose names the built-in collections know.
        include_workers: "one": worker_0 writes; "all": every worker writes its own files.
        worker, num_workers: this worker's name and the number of them; by default from the
            launcher's environment.
        dry_run: whether the hook only logs what it would save.
        commit: "step": the call that ends a step returns when the step is committed;
            "background": at once.
        commit_timeout: the longest wait for a commit, in seconds; 5.
        sync: what is made durable against power loss: "seal", "step" or "off".
        on_error: "disable": an error is logged once and ends saving; "throw": it is raised.
        buffer_bytes: memory for values on their way to the store; 256 MiB.
        when_full: what a save does when that is full: "block" or "drop_step".
        overhead_budget: the largest share of the time that saving may take, such as 0.01.
        segment_bytes, segment_age: the size and the age (in seconds) at which a file is sealed;
            64 MiB and 60 s (10 s where files are uploaded).
        spool_dir, spool_bytes: the local directory for a store that cannot append, and its size.
        upload_parallelism: the number of uploads at once; 4.
        close_timeout: the longest that close() waits for uploads, in seconds; 600.
        s3_sync: "on": the hook uploads; "off": another program does.
        export_tensorboard, tensorboard_dir: kept for configurations that name them.
        collections: Collection objects that take the places of those of their names.

    Raises SMDebugRuntimeError without an out_dir, and for a finished run there; SMDebugValueError
    and SMDebugTypeError for illegal arguments; StoreError where the directory cannot be written.
    """

    def __init__(
        self,
        out_dir: Union[str, os.PathLike[str]],
        *,
        existing: str = "refuse",
        include_collections: Optional[Names] = None,
        include_regex: Optional[Names] = None,
        save_all: bool = False,
        save_config: Union[
            None,
            _native.SaveConfig,
            _native.SaveConfigMode,
            dict[ModeKeys, _native.SaveConfigMode],
        ] = None,
        reduction_config: Optional[_native.ReductionConfig] = None,
        profile: _native.Profile = _native.Profile.GENERIC,
        include_workers: str = "one",
        worker: Optional[str] = None,
        num_workers: Optional[int] = None,
        dry_run: bool = False,
        commit: str = "step",
        commit_timeout: float = 5.0,
        sync: str = "seal",
        on_error: str = "disable",
        buffer_bytes: int = 256 << 20,
        when_full: str = "block",
        overhead_budget: Optional[float] = None,
        segment_bytes: int = 64 << 20,
        segment_age: Optional[float] = None,
        spool_dir: Optional[str] = None,
        spool_bytes: int = 16 << 30,
        upload_parallelism: int = 4,
        close_timeout: float = 600.0,
        s3_sync: str = "on",
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        collections: Iterable[_native.Collection] = (),
        **unknown: NoReturn,
    ) -> None:
        options = dict(locals())
        del options["self"], options["__class__"], options["collections"], options["unknown"]
        options.update(unknown)  # The engine refuses them by name.
        if out_dir is not None:
            options["out_dir"] = as_out_dir(out_dir)
        super().__init__(options, list(collections))
        self.out_dir = options["out_dir"]
        _open_hooks.add(self)

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> _native.HookReport:
        """Commits the last step and ends the run; returns what was done. Again: the same."""
        _open_hooks.discard(self)
        return super().close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_dead_hook, (type(self), self.out_dir))

    def __repr__(self) -> str:
        return f"<cupel.Hook {self.out_dir!r}, step {self.step}>"


def _dead_hook(kind: type[Hook], out_dir: str) -> Hook:
    """A hook whose calls do nothing, in place of one that was pickled or copied."""
    hook = kind.__new__(kind)
    _native.Hook.__init__(hook, {"dry_run": True, "worker": "worker_0", "num_workers": 1})
    hook.out_dir = out_dir
    hook.close()
    return hook
