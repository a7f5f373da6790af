"""Hooks and processes: forked and spawned children, exits without close(), interrupts."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import cupel

EVERY_STEP = cupel.SaveConfig(save_interval=1)
FOUR = np.arange(4, dtype=np.float32)


def run_script(code: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
    """Runs a script of its own, as users do."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=check,
        timeout=120,
    )


def steps_of(run: pathlib.Path, name: str = "x") -> list:
    trial = cupel.create_trial(str(run))
    assert trial.loaded_all_steps
    return trial.tensor(name).steps()


def _in_child(hook: cupel.Hook, answer: Any) -> None:
    hook.next_step()
    hook.save_tensor("x", FOUR)
    hook.save_scalar("of the child", 1)
    answer.put((hook.step, hook.close().rows))


def test_a_forked_child_does_nothing_and_its_parent_writes_on(tmp_path):
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP)
    hook.next_step()
    hook.save_tensor("x", FOUR)
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking beside threads
        child = context.Process(target=_in_child, args=(hook, answer))
        child.start()
    child.join(60)
    assert child.exitcode == 0 and answer.get() == (0, 0)
    hook.next_step()
    hook.save_tensor("x", FOUR)
    assert hook.close().problems == []
    assert steps_of(tmp_path) == [0, 1]
    assert cupel.create_trial(str(tmp_path)).tensor_names() == ["x"]


def test_a_forked_child_that_exits_as_a_script_leaves_the_run_alone(tmp_path):
    code = """
        import os, sys, cupel
        hook = cupel.Hook(sys.argv[1], save_all=True, save_config=cupel.SaveConfig(save_interval=1))
        hook.next_step()
        hook.save_tensor("x", 1.0)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        hook.next_step()
        hook.save_tensor("x", 2.0)
    """
    run_script(code, str(tmp_path))
    assert steps_of(tmp_path) == [0, 1]


def _spawned(run: str, rank: int, all_have_begun: Any) -> None:
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), "2"
    with cupel.Hook(run, save_all=True, save_config=EVERY_STEP, include_workers="all") as hook:
        hook.next_step()
        all_have_begun.wait(100)
        hook.save_tensor("x", FOUR + rank)


def test_spawned_processes_are_workers_of_one_run(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    children = [
        context.Process(target=_spawned, args=(str(tmp_path), rank, barrier)) for rank in (0, 1)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
        assert child.exitcode == 0
    trial = cupel.create_trial(str(tmp_path))
    assert trial.workers() == ["worker_0", "worker_1"] and trial.loaded_all_steps
    for rank, worker in enumerate(trial.workers()):
        np.testing.assert_array_equal(trial.tensor("x").value(0, worker=worker), FOUR + rank)


@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(3)", "raise ValueError('of the loop')", "del hook", "import gc; gc.disable()"],
)
def test_a_hook_that_is_not_closed_is_closed_when_the_interpreter_exits(tmp_path, ending):
    code = """
        import sys, cupel
        hook = cupel.Hook(sys.argv[1], save_all=True, save_config=cupel.SaveConfig(save_interval=1))
        hook.next_step()
        hook.save_tensor("x", 1.0)
    """
    done = run_script(textwrap.dedent(code) + ending, str(tmp_path), check=False)
    assert steps_of(tmp_path) == [0]
    assert "leaked" not in done.stderr and "Segmentation" not in done.stderr
    assert done.returncode == (3 if "exit" in ending else 1 if "raise" in ending else 0)


def test_a_hook_in_a_cycle_is_closed_when_the_interpreter_exits(tmp_path):
    code = """
        import sys, cupel
        class Loop: pass
        loop = Loop()
        loop.itself = loop
        loop.hook = cupel.Hook(sys.argv[1], save_all=True)
        loop.hook.next_step()
        loop.hook.save_tensor("x", 1.0)
        del loop
    """
    run_script(code, str(tmp_path))
    assert steps_of(tmp_path) == [0]


def test_a_killed_process_loses_no_committed_step(tmp_path):
    code = """
        import os, signal, sys, cupel
        hook = cupel.Hook(sys.argv[1], save_all=True, save_config=cupel.SaveConfig(save_interval=1))
        for step in range(3):
            hook.next_step()
            hook.save_tensor("x", float(step))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run_script(code, str(tmp_path), check=False).returncode == -signal.SIGKILL
    trial = cupel.create_trial(str(tmp_path))
    assert trial.tensor("x").steps() == [0, 1] and not trial.loaded_all_steps


def test_a_hook_saves_from_several_threads(tmp_path):
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP)
    hook.next_step()

    def save(number: int) -> None:
        for k in range(50):
            hook.save_tensor(f"t{number}/{k}", FOUR + number)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hook.close().rows == 200
    trial = cupel.create_trial(str(tmp_path))
    np.testing.assert_array_equal(trial.tensor("t3/49").value(0), FOUR + 3)


def test_a_hook_may_be_made_and_closed_in_a_thread(tmp_path):
    def train() -> None:
        with cupel.Hook(tmp_path, save_all=True) as hook:
            hook.next_step()
            hook.save_tensor("x", FOUR)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert steps_of(tmp_path) == [0]


def test_an_interrupt_passes_through_the_wait_for_a_commit(tmp_path):
    code = """
        import os, signal, sys, threading, time, numpy, cupel
        hook = cupel.Hook(sys.argv[1], save_all=True, save_config=cupel.SaveConfig(save_interval=1),
                          commit_timeout=60, buffer_bytes=1 << 30)
        hook.next_step()
        hook.save_tensor("x", numpy.zeros(200 << 20, numpy.uint8))
        interrupt = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
        try:
            interrupt.start()
            hook.next_step()  # waits for the disk
            time.sleep(60)    # or that was fast
        except KeyboardInterrupt:
            print("interrupted")
        assert hook.close().problems == []
    """
    assert run_script(code, str(tmp_path)).stdout == "interrupted\n"
    assert steps_of(tmp_path) == [0]


def test_saving_is_switched_off_by_the_environment(tmp_path):
    code = """
        import sys, cupel
        hook = cupel.Hook(sys.argv[1], save_all=True)
        hook.next_step()
        hook.save_tensor("x", 1.0)
        assert not hook.due
        hook.close()
    """
    environment = {**os.environ, "USE_SMDEBUG": "0"}
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "run")],
        check=True,
        env=environment,
    )
    assert not (tmp_path / "run").exists()
