"""What saving costs other threads and memory: no copy of a value, and the GIL is free meanwhile."""

from __future__ import annotations

import gc
import sys
import threading
import time
import tracemalloc

import numpy as np

import cupel

MEDIAN = cupel.ReductionConfig(["median"])
EVERY_STEP = cupel.SaveConfig(save_interval=1)
MIB = 1 << 20


class CountingThread:
    """Counts as fast as it gets the GIL and a processor."""

    def __init__(self) -> None:
        self.count = 0
        self._ends = False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._ends:
            self.count += 1

    def __enter__(self) -> CountingThread:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends = True
        self._thread.join()


def _shares(hook: cupel.Hook, values: np.ndarray, counting: CountingThread) -> float:
    """The speed of the thread while a value is saved, over its speed while nothing happens."""
    hook.next_step()
    count, begin = counting.count, time.perf_counter()
    hook.save_tensor("x", values)
    hook.end_step()
    saving, took = counting.count - count, time.perf_counter() - begin
    idle = threading.Event()
    count = counting.count
    idle.wait(took)
    return saving / (counting.count - count)


def test_the_gil_is_free_while_a_value_is_copied_and_reduced(tmp_path):
    values = np.random.default_rng(0).random(64 * MIB, dtype=np.float32)  # 256 MiB
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP, reduction_config=MEDIAN)
    with CountingThread() as counting:
        # The best of a few: on a machine that is busy the thread may get no processor.
        assert max(_shares(hook, values, counting) for _ in range(4)) >= 0.5
    assert hook.close().problems == []


def test_saving_allocates_nothing_of_the_size_of_the_value(tmp_path):
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP, commit="background")
    values = np.zeros((4 * MIB,), np.float32)
    views = {"plain": values, "strided": values[::3], "transposed": values.reshape(2048, -1).T}
    hook.next_step()
    tracemalloc.start()
    try:
        for name, view in views.items():
            hook.save_tensor(name, view)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert hook.close().problems == []
    assert peak < MIB


def test_a_saved_value_may_change_when_the_call_has_returned(tmp_path):
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP, commit="background")
    values = np.zeros(MIB, np.float32)
    hook.next_step()
    for number in range(4):
        values[:] = number
        hook.save_tensor(f"x{number}", values)
    values[:] = -1
    hook.close()
    trial = cupel.create_trial(str(tmp_path))
    for number in range(4):
        assert (trial.tensor(f"x{number}").value(0) == number).all()


def test_a_save_keeps_no_reference_to_its_value(tmp_path):
    hook = cupel.Hook(tmp_path, save_all=True, save_config=EVERY_STEP)
    values = [np.zeros(3), [1.0, 2.0], np.array(["a"]), np.zeros(2, dtype="M8[s]")]
    before = [sys.getrefcount(value) for value in values]
    for _ in range(20):
        hook.next_step()
        for number, value in enumerate(values):
            hook.save_tensor(f"x{number}", value)
    del value
    assert [sys.getrefcount(value) for value in values] == before
    hook.close()


def test_names_are_given_back_with_the_hook(tmp_path):
    name = "a name of its own " + str(tmp_path)
    before = sys.getrefcount(name)
    hook = cupel.Hook(tmp_path, save_all=True)
    hook.next_step()
    for _ in range(10):
        hook.save_tensor(name, 1.0)
    assert sys.getrefcount(name) == before + 1
    hook.close()
    del hook
    gc.collect()
    assert sys.getrefcount(name) == before
