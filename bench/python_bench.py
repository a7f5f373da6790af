#!/usr/bin/env python3
"""What the hook costs a loop in Python, and what a value costs that is read into numpy.

    python_bench.py [--repetitions N] [--only TEXT]

Two sides of a case run in turn, in blocks of some milliseconds, so that both see the same machine.
A row has the median of the blocks of a case, in ns a call less an empty call, the ratio of that to
its other side (an empty loop, or a copy of the same bytes), and the quartiles of the pairs. Times
are processor times of the thread that calls.

Runs lie in CUPEL_BENCH_DIR, else on tmpfs. PYTHONPATH has the package.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

import cupel
import numpy as np
from cupel.core.writer import FileWriter

BLOCK_SECONDS = 0.004
MIB = 1 << 20


class Case(NamedTuple):
    """A call, what it is compared with, and how often a block has it."""

    name: str
    call: Callable[[], Any]
    other: Callable[[], Any]
    budget: Optional[str] = None


def nothing() -> None:
    """The call that the others are compared with."""


def seconds_of(call: Callable[[], Any], calls: int) -> float:
    """The processor time of so many calls."""
    begin = time.thread_time_ns()
    for _ in itertools.repeat(None, calls):
        call()
    return (time.thread_time_ns() - begin) * 1e-9


def calls_of_a_block(call: Callable[[], Any]) -> int:
    calls = 1
    while seconds_of(call, calls) < BLOCK_SECONDS and calls < 1_000_000:
        calls *= 2
    return calls


def run(case: Case, repetitions: int) -> None:
    """Measures one case and prints its row."""
    calls = calls_of_a_block(case.call)
    other_calls = calls_of_a_block(case.other)
    pairs = []
    for _ in range(repetitions):
        own = seconds_of(case.call, calls) / calls
        pairs.append((own, seconds_of(case.other, other_calls) / other_calls))
    empty = 0.0
    if case.other is nothing:
        empty = statistics.median(other for _, other in pairs)
    nanoseconds = (statistics.median(own for own, _ in pairs) - empty) * 1e9
    low, ratio, high = statistics.quantiles([own / other for own, other in pairs], n=4)
    print(
        f"{case.name:32} {nanoseconds:14.0f} ns  {ratio:8.2f}  [{low:.2f}, {high:.2f}]"
        f"  {case.budget or ''}",
        flush=True,
    )


# ---- The cases


@contextlib.contextmanager
def hook_at(directory: str, name: str, **options: Any) -> Iterator[cupel.Hook]:
    """A hook that does not wait for the disk."""
    options.setdefault("save_config", cupel.SaveConfig(save_interval=2))
    run = str(pathlib.Path(directory, name))
    with cupel.Hook(run, save_all=True, commit="background", sync="off", **options) as hook:
        yield hook


def saving(hook: cupel.Hook, name: str, value: Any) -> Callable[[], None]:
    """A save of an own name in every step: a second save in a step costs more."""
    names = [f"{name}{number}" for number in range(256)]
    handles = [hook.handle(each) for each in names]
    numbers = itertools.count(1)

    def save() -> None:
        number = next(numbers)
        if number % 256 == 0:
            hook.next_step()
            hook.next_step()
        hook.save(handles[number % 256], value)

    return save


def small_cases(hook: cupel.Hook, idle: cupel.Hook) -> Iterator[Case]:
    """Calls with a (4,4) f32: `hook` is at a step that is due, `idle` at one that is not."""
    values = np.ones((4, 4), np.float32)
    handle = idle.handle("x")
    yield Case("due", lambda: idle.due, nothing, "at most 50 ns")
    yield Case("wants/handle", lambda: idle.wants(handle), nothing)
    yield Case("not_due/handle", lambda: idle.save(handle, values), nothing, "at most 150 ns")
    yield Case("not_due/name", lambda: idle.save_tensor("x", values), nothing, "at most 150 ns")
    kinds = {"numpy": values, "number": 1.0, "list": [1.0, 2.0], "text": "text"}
    torch = sys.modules.get("torch")
    if torch is not None:
        kinds["torch"] = torch.ones(4, 4)
        kinds["torch_parameter"] = torch.nn.Parameter(torch.ones(4, 4))
    for kind, value in kinds.items():
        budget = "at most 1200 ns" if kind in ("numpy", "torch") else None
        yield Case(f"saved/{kind}", saving(hook, kind, value), nothing, budget)


def large_cases(hook: cupel.Hook) -> Iterator[Case]:
    """Saves of 16 MiB against a copy by numpy."""
    values = np.ones(4 * MIB, np.float32)
    copied = np.empty_like(values)

    def save() -> None:
        hook.next_step(hook.step + 2 if hook.step >= 0 else 0)
        hook.save_tensor("large", values)

    yield Case("large/raw", save, lambda: np.copyto(copied, values))


def reading_cases(directory: str) -> Iterator[Case]:
    """Values of 4 bytes and of 64 MiB into numpy; the large one against a read of a file."""
    values = np.arange(16 * MIB, dtype=np.float32)
    with FileWriter(directory) as writer:
        writer.write_tensor(values[:1], "small")
        writer.write_tensor(values, "large")
    file = pathlib.Path(directory, "bytes")
    values.tofile(file)
    trial = cupel.create_trial(directory)
    small, large = trial.tensor("small"), trial.tensor("large")
    yield Case("value/4B", lambda: small.value(0), nothing)
    yield Case("value/64MiB", lambda: large.value(0), lambda: np.fromfile(file, np.float32))


def run_import(repetitions: int) -> None:
    """Measures `import cupel` in new interpreters that have imported numpy, and prints its row."""
    script = (
        "import time, numpy\n"
        "begin = time.process_time_ns()\n"
        "import cupel, cupel._native\n"
        "print(time.process_time_ns() - begin)"
    )
    command = [sys.executable, "-c", script]
    times = [int(subprocess.check_output(command)) for _ in range(repetitions)]
    print(f"{'import':32} {statistics.median(times):14.0f} ns  {'':24}at most 50 ms", flush=True)


# ---- XGBoost, where it is there


class Boosting:
    """Trainings with 3000 rows and 20 features by one thread, some 1.6 ms a round."""

    def __init__(self, directory: str) -> None:
        import xgboost

        self._xgboost = xgboost
        self._runs = (str(pathlib.Path(directory, f"boost{i}")) for i in itertools.count())
        random = np.random.default_rng(1)
        self._data = []
        for rows in (3000, 750):
            values = random.random((rows, 20), np.float32)
            labels = values[:, 0] + values[:, 1] * values[:, 2] + random.random(rows, np.float32)
            self._data.append(xgboost.DMatrix(values, labels))

    def train(self, rounds: int, eta: float = 0.3, callbacks: tuple = ()) -> float:
        """Trains, and returns the processor time of this thread."""
        params = {"tree_method": "hist", "nthread": 1, "eta": eta}
        evals = list(zip(self._data, ("train", "validation")))
        begin = time.thread_time_ns()
        self._xgboost.train(
            params, self._data[0], rounds, evals=evals, verbose_eval=False, callbacks=callbacks
        )
        return (time.thread_time_ns() - begin) * 1e-9

    def watched(self, rounds: int, collections: list[str]) -> float:
        """The time of a training whose hook saves metrics at each round, the rest at each tenth."""
        from cupel.xgboost import Hook

        with Hook(next(self._runs), include_collections=collections) as hook:
            hook.get_collection("metrics").save_config = cupel.SaveConfig(save_interval=1)
            return self.train(rounds, callbacks=(hook,))

    def seconds_of_trees(self, rounds: int) -> list[float]:
        """The time of the hook in each round that saves the trees of the round."""
        from cupel.xgboost import Hook

        seconds = []

        class TimedHook(Hook):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                begin = time.thread_time_ns()
                ends = super().after_iteration(model, epoch, evals_log)
                seconds.append((time.thread_time_ns() - begin) * 1e-9)
                return ends

        every = cupel.SaveConfig(save_interval=1)
        with TimedHook(next(self._runs), include_collections=["trees"], save_config=every) as hook:
            # It learns so slowly that its trees are of one size.
            self.train(rounds, eta=0.001, callbacks=(hook,))
        return seconds


def run_boosting(directory: str, repetitions: int, only: str) -> None:
    """Measures trainings in pairs, with a hook and without, and prints their rows."""
    rounds, around = 200, 10
    boosting = Boosting(directory)
    everything = ["feature_importance", "trees"]
    cases = {"metrics": [], "metrics+importance+trees": everything}
    for name, collections in cases.items():
        if only not in f"xgboost/{name}":
            continue
        pairs = []
        for _ in range(repetitions):
            own = boosting.watched(rounds, collections)
            pairs.append((own, boosting.train(rounds)))
        own = statistics.median(own for own, _ in pairs) / rounds * 1e9
        low, ratio, high = statistics.quantiles([own / other for own, other in pairs], n=4)
        budget = "at most 1.15" if not collections else ""
        print(
            f"{'xgboost/' + name:32} {own:14.0f} ns  {ratio:8.2f}  [{low:.2f}, {high:.2f}]"
            f"  {budget}",
            flush=True,
        )
    if only in "xgboost/trees/1000_to_100":
        seconds = boosting.seconds_of_trees(1000 + around)
        early = statistics.median(seconds[100 - around : 100 + around])
        late = statistics.median(seconds[1000 - around :])
        print(
            f"{'xgboost/trees/1000_to_100':32} {late * 1e9:14.0f} ns  {late / early:8.2f}"
            f"  {'':14}at most 1.50",
            flush=True,
        )


def torch_loop(layers: int, width: int, hook: Any = None) -> Callable[[], None]:
    """The training step of a network, which the hook watches."""
    import torch

    pairs = ((torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(layers))
    net = torch.nn.Sequential(*itertools.chain.from_iterable(pairs))
    criterion = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    inputs, targets = torch.ones(32, width), torch.zeros(32, width)
    if hook is not None:
        hook.register_module(net)
        hook.register_loss(criterion)

    def step() -> None:
        optimizer.zero_grad()
        criterion(net(inputs), targets).backward()
        optimizer.step()

    step()  # the step 0 is always due
    return step


@contextlib.contextmanager
def torch_cases(directory: str) -> Iterator[list[Case]]:
    """Steps of networks with the hook for PyTorch against steps without one."""
    import cupel.pytorch
    import torch

    torch.set_num_threads(1)
    each = cupel.SaveConfig(save_interval=1)
    never = cupel.SaveConfig(save_interval=1 << 40)
    parameters = ["weights", "biases", "gradients"]
    six = cupel.ReductionConfig(
        reductions=["min", "max", "mean"], abs_reductions=["max", "mean"], norms=["l2"]
    )
    kinds: dict[str, dict[str, Any]] = {
        "nothing_due": {"save_all": True, "save_config": never},
        "raw": {"include_collections": parameters, "save_config": each},
        "six_reductions": {
            "include_collections": parameters,
            "save_config": each,
            "reduction_config": six,
        },
    }
    budgets = {
        ("nothing_due", 11): "at most 1.05",
        ("nothing_due", 51): "at most 1.10",
        ("raw", 10): "at most 2.0",
        ("six_reductions", 10): "at most 1.5",
    }
    cases = []
    with contextlib.ExitStack() as hooks:
        for layers, width in ((11, 256), (51, 64), (10, 64)):
            for kind, options in kinds.items():
                name = f"torch/{layers}x{width}/{kind}"
                run = str(pathlib.Path(directory, name.replace("/", "_")))
                hook = cupel.pytorch.Hook(run, commit="background", sync="off", **options)
                hooks.callback(hook.close)
                watched = torch_loop(layers, width, hook)
                budget = budgets.get((kind, layers))
                cases.append(Case(name, watched, torch_loop(layers, width), budget))
        yield cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--only", default="", help="a part of the names of what is run")
    arguments = parser.parse_args()
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401: its cases run where it is there

    place = os.environ.get("CUPEL_BENCH_DIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    print(f"{'case':32} {'time of a call':>17}  {'ratio':>8}  [quartiles]")
    with tempfile.TemporaryDirectory(dir=place) as directory, contextlib.ExitStack() as hooks:
        hook = hooks.enter_context(hook_at(directory, "small"))
        idle = hooks.enter_context(hook_at(directory, "idle"))
        large = hooks.enter_context(hook_at(directory, "large"))
        hook.next_step()
        idle.next_step(1)
        reading = reading_cases(str(pathlib.Path(directory, "read")))
        loops: list[Case] = []
        if "torch" in sys.modules:
            loops = hooks.enter_context(torch_cases(directory))
        groups = (small_cases(hook, idle), large_cases(large), reading, loops)
        for case in itertools.chain.from_iterable(groups):
            if arguments.only in case.name:
                run(case, arguments.repetitions)
        if arguments.only in "import":
            run_import(arguments.repetitions)
        if importlib.util.find_spec("xgboost"):
            run_boosting(directory, arguments.repetitions, arguments.only)


if __name__ == "__main__":
    main()
