"""Two ranks of gloo on this machine, each a fresh process: for tests of parallel training."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import traceback

import torch
from torch import distributed
from torch import multiprocessing


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _rank(rank, path, work, run, port, errors):
    sys.path[:] = path
    torch.set_num_threads(1)
    torch.manual_seed(7)
    distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    try:
        work(rank, run)
    except BaseException:
        errors.put(f"rank {rank}: {traceback.format_exc()}")
        raise
    finally:
        distributed.destroy_process_group()
    # Threads of gloo may take the GIL while the interpreter ends, which ends the process instead:
    # "terminate called without an active exception". So the interpreter does not end.
    atexit._run_exitfuncs()
    os._exit(0)


def on_two_ranks(work, run):
    """Runs work(rank, run) on both ranks. Fails with the traceback of a rank that fails."""
    context = multiprocessing.get_context("spawn")
    errors = context.SimpleQueue()
    arguments = (list(sys.path), work, run, _free_port(), errors)
    processes = [context.Process(target=_rank, args=(rank, *arguments)) for rank in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        if process.is_alive():
            process.kill()
    texts = []
    while not errors.empty():
        texts.append(errors.get())
    assert not texts, "\n".join(texts)
    assert [process.exitcode for process in processes] == [0, 0]
