"""Files are examined in any number of processes, and what comes out is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.processes import WORTH, cores, jobs_for
from torch_doctor.scan import spreading
from torch_doctor_rules.update.missing_zero_grad import MissingZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.conftest import Outcome
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace

TRAIN = """
import torch
from torch import nn
from parts import build, fit

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
fit(model, optimizer)
"""
PARTS = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))

def fit(model, optimizer):
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
        loss.backward()
        optimizer.step()

def unused(model, loader):
    total = 0
    for x, y in loader:
        total += nn.functional.mse_loss(model(x), y)
    return total
"""
CALLER = """
from shared.losses import smooth

smooth(None)
"""
LOSSES = """
import torch

def smooth(loss):
    torch.save(loss, "loss.pt")
"""


SLOW = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from torch_doctor.__main__ import main
from torch_doctor.scan import examining
import sys

examining.Examiner.file = lambda *_: time.sleep(120)
sys.argv[1:] = ["scan", "--isolated", "--no-cache", "-j", "2"]
main()
"""


@pytest.fixture
def project(write: Callable[..., Path], folder: Path) -> Path:
    """Scripts that share files, files that import each other, and one that nobody asked about."""
    write(".git/HEAD", "")
    for name in "abc":
        write(f"work/{name}/train.py", TRAIN)
        write(f"work/{name}/parts.py", PARTS)
        write(f"work/{name}/left.py", "import torch, work.shared.circle\nimport right\n")
        write(f"work/{name}/right.py", f"import torch\nimport left\ndef {name}(): left\n")
    write("work/shared/circle.py", "import torch\nimport shared.losses\n")
    write("work/shared/losses.py", LOSSES)
    write("work/broken.py", "import torch\n)\n")
    write("other/run.py", "import torch\nfrom work.shared.losses import smooth\nsmooth(torch.nn.Linear(1, 1))\n")
    return folder


def test_it_takes_as_many_processes_as_are_worth_their_start() -> None:
    assert jobs_for(1, 0) == jobs_for(2 * WORTH - 1, 0) == 1
    assert jobs_for(1000, 0) == cores()
    assert (jobs_for(3, 8), jobs_for(3, 2), jobs_for(0, 2)) == (3, 2, 1)


def test_what_comes_out_is_the_same_in_any_number_of_processes(project: Path, run: Callable[..., Outcome]) -> None:
    alone, *others = (run("scan", "work", "--isolated", "--no-cache", "-v", "-j", jobs) for jobs in ("1", "2", "3"))
    assert "TDR101" in alone.out
    assert "broken.py" in alone.out
    for each in others:
        assert (each.out, each.err, each.status) == (alone.out, alone.err, alone.status)
    folders = [f"work/{path.name}" for path in (project / "work").iterdir()]
    assert run("scan", *sorted(folders, reverse=True), "--isolated", "--no-cache", "-v", "-j", "2").out == alone.out


@pytest.mark.usefixtures("project")
def test_a_process_that_ends_costs_one_file(run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    inner, parent = MissingZeroGrad.check, os.getpid()

    def check(rule: MissingZeroGrad, trace: Trace) -> Iterable[Finding]:
        if trace.path == "work/b/train.py" and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(rule, trace)

    whole = run("scan", "work", "--isolated", "--no-cache", "--output-format", "concise", "-j", "1")
    monkeypatch.setattr(MissingZeroGrad, "check", check)
    monkeypatch.setattr(spreading, "processes", lambda: get_context("fork"))
    outcome = run("scan", "work", "--isolated", "--no-cache", "--output-format", "concise", "-j", "2")
    assert outcome.err.count("internal error") == 1
    assert "internal error while scanning work/b/train.py: the process ended unexpectedly" in outcome.err
    assert outcome.status == 2
    kept = [line for line in whole.out.splitlines() if not line.startswith("work/b/")]
    assert [line for line in outcome.out.splitlines() if not line.startswith("work/b/")] == kept


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_scan(write: Callable[..., Path], folder: Path, sent: signal.Signals) -> None:
    for number in range(4):
        write(f"slow_{number}.py", "import torch\n")
    scan = subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    until = time.monotonic() + 60
    while len(_session(scan.pid)) < 3:
        assert time.monotonic() < until, "no processes were started"
        assert scan.poll() is None
        time.sleep(0.02)
    scan.send_signal(sent)
    _, told = scan.communicate(timeout=60)
    while _session(scan.pid):
        assert time.monotonic() < until, f"left behind: {_session(scan.pid)}"
        time.sleep(0.02)
    assert scan.returncode != 0, told.decode()
    assert b"Traceback" not in told, told.decode()


def _session(leader: int) -> list[int]:
    """The processes of a session that are not zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(session) == leader and state != "Z":
            found.append(int(entry.name))
    return found


def test_processes_are_forked_where_nothing_else_runs_that_a_fork_could_tear_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spreading, "active_count", lambda: 2)
    assert spreading.processes().get_start_method() == "spawn"
    monkeypatch.setattr(spreading, "active_count", lambda: 1)
    monkeypatch.setattr(sys, "platform", "linux")
    assert spreading.processes().get_start_method() == "fork"
