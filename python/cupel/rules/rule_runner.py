"""RuleRunner: evaluates several rules over one run while it grows."""

from __future__ import annotations

import atexit
import json
import os
import weakref
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Union

from .. import _native
from ..exceptions import SMDebugTypeError
from ..trials import Trial
from .rule import Rule, _engine_of, fingerprint_of

__all__ = ["RuleRunner"]

Line = Dict[str, Any]

# Threads of the engine end before the interpreter does.
_runners: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for runner in list(_runners):
        runner.close()


class RuleRunner:
    """Evaluates rules over one trial, in step order, as data arrives, until the training ends.

        runner = RuleRunner(create_trial("runs/mnist"))
        runner.add("VanishingGradient", threshold="1e-6")
        runner.add("my_rule.lua")
        runner.add(MyRule(trial))
        for line in runner.run():
            print(line["step"], line["name"], line["status"], line["message"])

    Lines come in the order of global steps, then of rules as added, whatever the number of `jobs`
    (threads). One rule in Python judges at a time. A failing rule ends alone, with the status
    "Error" and its traceback in the message.

    Options: `start_step`, `end_step` (exclusive); `stop_at_first`, a rule ends at its first firing;
    `wait=False` judges the steps that are there now; `idle_timeout` in seconds ends a runner that
    sees no new step, `until_writer_gone` one whose run is interrupted; `on_status` is called, in
    the thread that takes the lines, with "interrupted", and with "running" when a process writes
    the run again; `explain` adds lines about what each rule read; `out` is a file that keeps the
    lines, from which a runner resumes (`out_interval` in seconds for stores); `actions` are texts
    such as "stop" or "exec:COMMAND", which `dry_run` only reports; `webhook_authority` is a file of
    certificates; `tick_interval` in seconds is how often rules are asked between steps.
    """

    def __init__(
        self,
        trial: Trial,
        jobs: int = 1,
        *,
        start_step: int = 0,
        end_step: Optional[int] = None,
        stop_at_first: bool = False,
        wait: bool = True,
        idle_timeout: Optional[float] = None,
        until_writer_gone: bool = False,
        on_status: Optional[Callable[[str], None]] = None,
        explain: bool = False,
        out: Union[str, os.PathLike] = "",
        out_interval: Optional[float] = None,
        actions: Union[str, Sequence[str]] = (),
        dry_run: bool = False,
        webhook_authority: Union[str, os.PathLike] = "",
        tick_interval: Optional[float] = None,
    ) -> None:
        if not isinstance(trial, Trial):
            raise SMDebugTypeError(f"a runner takes a trial (create_trial), not {trial!r}")
        options = {
            "jobs": jobs,
            "start_step": start_step,
            "end_step": end_step,
            "stop_at_first": stop_at_first,
            "wait": wait,
            "idle_timeout": idle_timeout,
            "until_writer_gone": until_writer_gone,
            "explain": explain,
            "out": os.fspath(out),
            "out_interval": out_interval,
            "actions": [actions] if isinstance(actions, str) else list(actions),
            "dry_run": dry_run,
            "webhook_authority": os.fspath(webhook_authority),
            "tick_interval": tick_interval,
        }
        self.trial = trial
        self._on_status = on_status
        self._native = _native.RuleRunner(trial, options)

    def add(self, rule: Union[str, os.PathLike, Rule], **parameters: Any) -> None:
        """Adds a rule: by name, from a file (`my.lua`, `my.py:Class`), or an object.

        Parameters of named rules are text, as on the command line; numbers, bools and lists are
        taken, too. Raises SMDebugValueError with every mistake.
        """
        if isinstance(rule, Rule):
            if parameters:
                raise SMDebugTypeError("the parameters of a rule object are given to its class")
            _engine_of(rule)
            self._native.add_python_rule(rule, rule.action_str, fingerprint_of(rule))
            return
        if not isinstance(rule, (str, os.PathLike)):
            raise SMDebugTypeError(f"a rule is a name, a file or a cupel.rules.Rule, not {rule!r}")
        texts = {
            name: _parameter_text(value)
            for name, value in parameters.items()
            if value is not None
        }
        self._native.add_rule(os.fspath(rule), texts)

    def run(self) -> _Lines:
        """Begins to judge, once per runner, and returns the lines as they come.

        Each is a dict as `cupel watch --json` prints it. The last lines are the closing lines of
        the rules; behind them an error of the run, such as damage, is raised. Closing the iterator
        stops the runner.
        """
        self._native.start()
        _runners.add(self._native)
        return _Lines(self._native, self._on_status)

    def stop(self) -> None:
        """Ends the run soon, from any thread: its last lines follow, and open rules are Stopped.

        A rule in Python that has not returned two seconds later gets `RuleInterrupted`; one that
        waits outside of Python is waited for, unless the iterator is closed.
        """
        self._native.stop()

    def close(self) -> None:
        """Stops the runner and drops the lines that nobody took.

        A rule in Python that is judging gets `RuleInterrupted`. Where it still waits outside of
        Python after five seconds, the thread is left behind with it.
        """
        self._native.close()

    @property
    def progress(self) -> Any:
        """How far the runner has come: newest_step, newest_at, steps_judged, steps_behind."""
        return self._native.progress

    @property
    def summary(self) -> Any:
        """The results, once all lines were taken: rules, found_issues, had_errors. Else None."""
        return self._native.summary


class _Lines:
    """The lines of a runner. Closing the iterator, or letting it go, stops the runner."""

    def __init__(self, native: Any, on_status: Optional[Callable[[str], None]]) -> None:
        self._native = native
        self._on_status = on_status

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        try:
            text = self._native.next()
            while isinstance(text, tuple):  # a status of the run
                if self._on_status is not None:
                    self._on_status(*text)
                text = self._native.next()
        except BaseException:  # of the run, or of a handler of a signal
            self.close()
            raise
        if text is None:
            raise StopIteration
        return json.loads(text)

    def close(self) -> None:
        self._native.close()

    def __del__(self) -> None:
        self.close()


def _parameter_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return _native.join_list([_parameter_text(each) for each in value])
    if hasattr(value, "item"):
        value = value.item()
    return str(value)
