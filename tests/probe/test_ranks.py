"""Distributed scripts in two processes that exchange their gradients for real: `--probe-processes 2`."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries
from tests.marks import FIXTURES, MARK, fixtures, marks, name_of, rules_for
from torch_doctor.probe.protocol import Reader
from torch_doctor.probe.ranks import failed, joined
from torch_doctor.probing import Probing
from torch_doctor.rule import Verdict
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome

CODES = ("TDR710", "TDR809", "TDR811", "TDR812", "TDR814")
WHOLE = ("TDR809", "TDR811")  # of the others, what one process shows of scripts that are right is enough
CHOSEN = [
    fixture
    for fixture in fixtures()
    if fixture.parent.name in CODES and (fixture.name.startswith("bad") or fixture.parent.name in WHOLE)
]


HEAD = """\
import os
import threading
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, size):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for step in range(5):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LAUNCHED = "main(int(os.environ['RANK']), int(os.environ['WORLD_SIZE']))\n"


def probed(path: Path, code: str, seconds: float = 60.0) -> Report:
    """What a scan and a run in two processes say."""
    return scan(Options(paths=(path,), rules=rules_for(code), probe=Probing(seconds=seconds, processes=2)))


def told(report: Report) -> list[str]:
    """The evidence of all findings."""
    return [evidence.claim for finding in report.findings for evidence in finding.evidence]


def alive(folder: Path) -> list[int]:
    """The processes that run a script in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
                if (entry / "cwd").readlink() == folder and b"--probe" not in command and state != "Z":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def left(folder: Path) -> list[int]:
    """Those of them that do not end within ten seconds."""
    limit = time.monotonic() + 10
    while (found := alive(folder)) and time.monotonic() < limit:
        time.sleep(0.1)
    return found


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize("fixture", CHOSEN, ids=map(name_of, CHOSEN))
def test_two_processes_confirm_what_is_marked_and_nothing_else(fixture: Path, write: Callable[..., Path]) -> None:
    text = fixture.read_text(encoding="utf-8")
    if "from accelerate import" in text and importlib.util.find_spec("accelerate") is None:
        pytest.skip("what stands in for accelerate wraps no model")
    path = write(fixture.name, text)
    report = probed(path, fixture.parent.name)
    assert report.errors == report.warnings == []
    bugs = {(place.row, place.code) for kind, place in marks(fixture) if kind in ("", "undecided")}
    bugs = {(row, code) for row, code in bugs if code in CODES}
    confirmed = {(each.site.row, each.code) for each in report.findings if each.verdict is Verdict.CONFIRMED}
    assert confirmed == bugs, told(report)
    assert all(each.verdict in (Verdict.CONFIRMED, Verdict.REFUTED) for each in report.findings), told(report)


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize(
    ("fixture", "evidence"),
    [
        ("TDR710/bad_plain_loop.py", "epochs 1 and 2 have the same order of 32 samples in both processes"),
        ("TDR710/bad_plain_loop.py", "both processes read the same 32 samples in epoch 1"),
        ("TDR809/bad_best_checkpoint.py", "2 processes write best.pt"),
        ("TDR809/bad_log_directory.py", "2 processes write ddp"),
        ("TDR811/bad_own_part_of_the_data.py", "6 of 6 forwards bypassed the wrapper"),
        ("TDR811/bad_own_part_of_the_data.py", "the gradient of 2.bias differs between processes by 0."),
        ("TDR814/bad_sampler_without_wrapper.py", "the gradient of 2.bias differs between processes by 0."),
    ],
)
def test_the_evidence_has_the_numbers(fixture: str, evidence: str, write: Callable[..., Path]) -> None:
    path = write("train.py", (FIXTURES / fixture).read_text(encoding="utf-8"))
    assert any(claim.startswith(evidence) for claim in told(probed(path, fixture[:6])))


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize(
    "start",
    [
        LAUNCHED,
        "if __name__ == '__main__':\n    torch.multiprocessing.spawn(main, args=(2,), nprocs=2)\n",
        (
            "if __name__ == '__main__':\n"
            "    size = torch.cuda.device_count()\n"
            "    torch.multiprocessing.spawn(main, args=(size,), nprocs=size)\n"
        ),
        (
            "from torch.multiprocessing import Process\n"
            "if __name__ == '__main__':\n"
            "    started = [Process(target=main, args=(rank, 2)) for rank in range(2)]\n"
            "    for process in started:\n"
            "        process.start()\n"
            "    for process in started:\n"
            "        process.join()\n"
        ),
    ],
    ids=["torchrun", "spawn", "spawn for each GPU", "processes"],
)
def test_each_process_runs_its_own_rank(run: Run, write: Callable[..., Path], start: str) -> None:
    said = "    print('rank', dist.get_rank(), 'of', dist.get_world_size(), rank, size)\n"
    write("train.py", HEAD + said + start)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--probe-output", "--isolated")
    assert sorted(line for line in outcome.err.splitlines() if line.startswith("rank")) == [
        "rank 0 of 2 0 2",
        "rank 1 of 2 1 2",
    ]
    assert "train.py ran for " in outcome.err
    assert "in 2 processes on the CPU and reached 5 optimizer steps" in outcome.err
    assert "gloo, 2 processes on the CPU instead of `init_process_group` (the backend nccl)" in outcome.err


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize("option", ["--local_rank", "--local-rank"])
def test_a_script_that_takes_its_rank_as_an_argument_gets_it(run: Run, write: Callable[..., Path], option: str) -> None:
    does = f"""\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("{option}", type=int, default=-1)
parser.add_argument("--steps", type=int, default=1)
args = parser.parse_args()
print(f"rank {{args.local_rank}} of {{args.steps}}")
"""
    write("train.py", HEAD + does + LAUNCHED)
    command = ("scan", "train.py", "--probe", "--probe-processes", "2", "--probe-output", "--isolated")
    outcome = run(*command, "--", "--steps", "5")
    assert sorted(line for line in outcome.err.splitlines() if line.startswith("rank")) == [
        "rank 0 of 5",
        "rank 1 of 5",
    ]
    outcome = run(*command, "--", option, "7")
    assert [line for line in outcome.err.splitlines() if line.startswith("rank")] == ["rank 7 of 1"] * 2


@pytest.mark.usefixtures("farm")
def test_a_script_that_is_not_distributed_is_judged_as_ever(run: Run, write: Callable[..., Path]) -> None:
    text = (FIXTURES / "TDR101/bad_cleared_once_per_epoch.py").read_text(encoding="utf-8")
    write("train.py", text)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "3", "--isolated")
    assert "TDR101" in outcome.out
    assert "probe: confirmed" in outcome.out
    assert "in 3 processes on the CPU" in outcome.err


@pytest.mark.usefixtures("farm")
def test_what_one_process_writes_the_other_reads(run: Run, folder: Path, write: Callable[..., Path]) -> None:
    write("old.txt", "old")
    does = """\
    if rank == 0:
        os.remove("old.txt")
        os.makedirs("runs/first")
        torch.save(model.module.state_dict(), "runs/first/model.pt")
    dist.barrier(device_ids=[rank])
    if rank == 1:
        print("found", sorted(torch.load("runs/first/model.pt")), os.listdir("runs"), os.path.exists("old.txt"))
"""
    write("train.py", HEAD + does + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--probe-output", "--isolated")
    assert "found ['bias', 'weight'] ['first'] False" in outcome.err
    assert entries(folder) == ["old.txt", "train.py"]


@pytest.mark.usefixtures("farm")
def test_loops_end_at_the_same_pass_however_fast_a_process_is(run: Run, write: Callable[..., Path]) -> None:
    does = """\
    model.eval()
    total = torch.zeros(1)
    with torch.no_grad():
        for row in range(100_000):
            time.sleep(0.002 * rank)
            total += model.module(torch.randn(1, 4)).sum()
            dist.all_reduce(total)
    print("passes", row)
"""
    write("train.py", HEAD + does + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--probe-output", "--isolated")
    passes = [line for line in outcome.err.splitlines() if line.startswith("passes")]
    assert len(passes) == 2
    assert passes[0] == passes[1]
    assert "stopped" not in outcome.err


@pytest.mark.usefixtures("farm")
def test_a_process_that_fails_is_named_and_ends_the_others(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", HEAD + "    if rank == 1:\n        raise ValueError('no')\n    dist.barrier()\n" + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--isolated")
    assert outcome.status == 0
    assert "train.py (rank 1 of 2) fails on its own: ValueError: no" in outcome.err
    assert "train.py:21 in main: raise ValueError('no')" in outcome.err


@pytest.mark.usefixtures("farm")
def test_they_listen_to_nobody_but_this_machine(run: Run, write: Callable[..., Path]) -> None:
    does = """\
    dist.barrier()
    own = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{process}/cwd") != os.getcwd():
                continue
        except OSError:
            continue
        for number in os.listdir(f"/proc/{process}/fd"):
            try:
                own.add(os.readlink(f"/proc/{process}/fd/{number}"))
            except OSError:
                pass
    for name in ("tcp", "tcp6"):
        for row in list(open(f"/proc/net/{name}"))[1:]:
            words = row.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                print("listens", words[1])
    dist.barrier()
"""
    write("train.py", HEAD + does + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--probe-output", "--isolated")
    listens = [line.split()[1] for line in outcome.err.splitlines() if line.startswith("listens")]
    assert listens
    assert all(address.startswith("0100007F:") for address in listens), listens


@pytest.mark.usefixtures("farm")
def test_a_process_that_is_killed_is_named(run: Run, write: Callable[..., Path]) -> None:
    # The other one waits for no message: it would fail too, and which of the two ends first is then not decided here.
    does = "    if rank == 1:\n        os.kill(os.getpid(), 11)\n    threading.Event().wait()\n"
    write("train.py", HEAD + does + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--isolated")
    assert "train.py (rank 1 of 2) ended without an error message: signal SIGSEGV" in outcome.err


@pytest.mark.usefixtures("farm")
def test_those_that_hang_end_at_the_deadline_and_leave_nothing(
    run: Run, folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder / "scratch"))
    (folder / "scratch").mkdir()
    write("one.py", HEAD + "    if rank == 1:\n        threading.Event().wait()\n    dist.barrier()\n" + LAUNCHED)
    write("each.py", HEAD + "    if rank == 0:\n        dist.barrier()\n    dist.recv(torch.ones(1))\n" + LAUNCHED)
    began = time.monotonic()
    options = ["--probe", "--probe-processes", "2", "--isolated", "--probe-timeout", "14", "--jobs", "2"]
    outcome = run("scan", "one.py", "each.py", *options)
    assert time.monotonic() - began < 34
    for name in ("one.py", "each.py"):
        assert f"{name} did not finish within 14 s and was stopped" in outcome.err
        assert f"at the time limit: rank 0 at {name}:" in outcome.err
    assert outcome.err.count("reached 5 optimizer steps") == 2
    assert left(folder) == []
    assert list((folder / "scratch").iterdir()) == []


def test_the_memory_of_all_processes_counts(run: Run, folder: Path, write: Callable[..., Path]) -> None:
    does = """\
    held = []
    for _ in range(30 * rank):
        held.append(torch.ones(1 << 24))
        threading.Event().wait(0.1)
    dist.barrier()
"""
    write("train.py", HEAD + does + LAUNCHED)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", "2", "--isolated", "--probe-memory", "1400")
    assert "train.py used more than 1400 MiB of memory and was stopped (see `--probe-memory`)" in outcome.err
    assert "reached 5 optimizer steps" in outcome.err  # which fit
    assert left(folder) == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_an_interruption_leaves_no_process(folder: Path, write: Callable[..., Path], number: signal.Signals) -> None:
    write("train.py", HEAD + "    print('here', flush=True)\n    threading.Event().wait()\n" + LAUNCHED)
    (folder / "scratch").mkdir()
    options = ["--probe", "--probe-processes", "2", "--isolated"]
    command = [sys.executable, "-m", "torch_doctor", "scan", "train.py", *options]
    environment = os.environ | {"TMPDIR": str(folder / "scratch")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as doctor:
        limit = time.monotonic() + 60
        while len(alive(folder)) < 3 and time.monotonic() < limit:
            time.sleep(0.1)
        time.sleep(1.0)
        assert len(alive(folder)) == 3  # the launcher and two processes
        doctor.send_signal(number)
        doctor.communicate(timeout=30)
    assert left(folder) == []


@pytest.mark.usefixtures("farm")
def test_one_process_says_what_two_would_decide(run: Run, write: Callable[..., Path]) -> None:
    text = (FIXTURES / "TDR809/bad_best_checkpoint.py").read_text(encoding="utf-8")
    write("train.py", "\n".join(MARK.sub("", line) for line in text.splitlines()))
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "probe: train.py: `--probe-processes 2` can decide TDR809 every-rank-writes" in outcome.err.splitlines()


def reader(*lines: str) -> Reader:
    """What came of one process that said these lines."""
    made = Reader("train.py", lambda path: path)
    made.read(line.encode() for line in lines)
    return made


FAILS = '{"t":"ended","how":"exception","status":1,"exception":"ValueError","traceback":[],"time":%s}'
ENDS = '{"t":"ended","how":"end","status":0,"time":5.0}'


@pytest.mark.parametrize(
    ("lines", "launcher", "rank"),
    [
        ((ENDS, ENDS), "", 0),
        ((FAILS % 3.0, FAILS % 2.0), "", 1),
        ((FAILS % 2.0, FAILS % 3.0), "", 0),
        ((FAILS % 3.0, '{"t":"ended","how":"stopped","status":75,"time":2.0}'), "", 1),
        ((ENDS, '{"t":"ended","how":"exit","status":3,"time":2.0}'), "", 1),
        ((ENDS, '{"t":"ended","how":"exit","status":0,"time":2.0}'), "", 0),
        (("", FAILS % 2.0), '{"t":"failed","rank":0,"status":-15}', 1),
        ((ENDS, ""), '{"t":"failed","rank":1,"status":-11}', 1),
    ],
    ids=[
        "none",
        "the second",
        "the first",
        "out of time",
        "a status",
        "no failure",
        "ended by the launcher",
        "a signal",
    ],
)
def test_the_process_that_failed_first_is_blamed(lines: tuple[str, str], launcher: str, rank: int) -> None:
    readers = [reader(*filter(None, [said])) for said in lines]
    first = joined(readers, reader(*filter(None, [launcher])))
    assert failed(readers) == rank
    assert first is readers[0]
    assert first.trace.ranks == (readers[0].trace, readers[1].trace)
