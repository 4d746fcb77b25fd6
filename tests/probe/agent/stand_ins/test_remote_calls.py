"""Other processes: remote calls that cannot be answered, and those that are not started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("farm", "records")

WORKER = """
import torch.distributed.rpc as rpc

rpc.init_rpc("server", rank=0, world_size=3)
rpc.shutdown()
"""
TOGETHER = """
import torch
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp

class Server:
    done = torch.futures.Future()
    count = 0

    @staticmethod
    @rpc.functions.async_execution
    def update(value):
        Server.count += value
        if Server.count == 2:
            Server.done.set_result(Server.count)
        return Server.done

def work(rank, size):
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank:
        print(rpc.rpc_sync("worker0", Server.update, args=(1,)))
    rpc.shutdown()

if __name__ == "__main__":
    mp.spawn(work, args=(3,), nprocs=3)
"""
UNPREPARED = """
import torch.distributed.rpc as rpc

rpc.rpc_sync("server", print)
"""
MANY = """
import torch
from torch import nn
from torch.multiprocessing import Process


def work(model, number):
    torch.manual_seed(number)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    model = nn.Linear(4, 1).share_memory()
    processes = [Process(target=work, args=(model, number)) for number in range(12)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"""


@pytest.fixture
def probe(run: Callable[..., Any], write: Callable[[str, str], Path]) -> Callable[[str], str]:
    """Probes a script that is written first; gives what the command says of it."""

    def probed(script: str) -> str:
        write("train.py", script)
        return str(run("scan", "train.py", "--probe", "--isolated").err)

    return probed


def test_a_worker_that_only_answers_calls_is_told_of(probe: Callable[[str], str]) -> None:
    assert "`server` only answers the calls of other workers" in probe(WORKER)


def test_a_wait_for_several_workers_ends_at_once(probe: Callable[[str], str]) -> None:
    assert "`worker1` waits for calls of several workers" in probe(TOGETHER)


def test_a_call_without_a_worker_is_an_error_of_the_script(probe: Callable[[str], str]) -> None:
    assert "RPC has not been initialized" in probe(UNPREPARED)


def test_processes_that_a_shortened_loop_does_not_start_have_ended(probe: Callable[[str], str]) -> None:
    said = probe(MANY)
    assert "reached 12 optimizer steps" in said
    assert "fails" not in said
