"""A scan is handed to a Dask cluster of two workers, and tells what one process tells."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
import pytest

from tests.test_sharding import BUG
from torch_doctor.scan import cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

pytestmark = pytest.mark.tools
OPTIONS = ("--isolated", "--no-cache", "--output-format", "json")


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    local: Any = distributed.LocalCluster
    with local(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50) as found:
        yield found


@pytest.fixture
def repositories(write: Callable[..., Path], folder: Path) -> list[str]:
    for name in ("one", "two", "three"):
        write(f"{name}/train.py", BUG.format(imports="import helper"))
        write(
            f"{name}/helper.py", "import torch\ndef unused(model, x):\n    return torch.load(x, weights_only=False)\n"
        )
        write(f"{name}/other.py", BUG.format(imports=""))
        write(f"{name}/broken.py", "import torch\n(")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder / name)]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
            subprocess.run([*git, *command], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", "three", "three.git"], cwd=folder, check=True)
    return ["one", "two", "three.git"]


def test_projects_and_bare_clones_are_scanned_as_by_one_process(
    run: Run, repositories: list[str], workers: Any
) -> None:
    whole = run("scan", *OPTIONS, *repositories)
    assert whole.out.count('"TDR101"') == 6
    assert '"three.git/train.py"' in whole.out
    spread = run("scan", *OPTIONS, "--executor", f"dask:{workers.scheduler_address}", *repositories)
    assert (spread.out, spread.err, spread.status) == (whole.out, whole.err, whole.status)
    full = ("--isolated", "--no-cache", "two")
    assert run("scan", *full, "--executor", f"dask:{workers.scheduler_address}").out == run("scan", *full).out


def test_a_worker_that_is_killed_costs_nothing(run: Run, folder: Path, repositories: list[str], workers: Any) -> None:
    whole = run("scan", *OPTIONS, *repositories)
    command = [sys.executable, "-m", "torch_doctor", "scan", *OPTIONS, "--executor"]
    scan = subprocess.Popen(
        [*command, f"dask:{workers.scheduler_address}", *repositories],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (parts := _parts()):
        assert time.monotonic() < until
        time.sleep(0.01)
    part, worker = parts[0]
    os.kill(worker, signal.SIGKILL)
    out, err = scan.communicate(timeout=120)
    assert (out, scan.returncode) == (whole.out, whole.status), err
    while Path(f"/proc/{part}").exists():
        assert time.monotonic() < until, "the part goes on without its worker"
        time.sleep(0.1)


def _parts() -> list[tuple[int, int]]:
    """The processes that do parts, each with the worker that started it."""
    return [part for entry in Path("/proc").iterdir() if (part := _part(entry)) is not None]


def _part(entry: Path) -> tuple[int, int] | None:
    try:
        if b"torch_doctor.scan.cluster" in (entry / "cmdline").read_bytes():
            return int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None
    return None


def test_a_part_that_fails_is_an_error_and_costs_no_other(
    run: Run, folder: Path, repositories: list[str], workers: Any
) -> None:
    (folder / "two").rename(folder / "gone")
    outcome = run("scan", *OPTIONS, "--executor", f"dask:{workers.scheduler_address}", *repositories)
    assert outcome.err.splitlines()[0] == "error: two does not exist"
    assert outcome.out.count('"TDR101"') == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--executor", "ray:local"], "such as `dask:tcp://10.0.0.1:8786`"),
        (["--executor", "dask:"], "such as `dask:tcp://10.0.0.1:8786`"),
        (["--executor", "dask:tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1"),
        (["--executor", "dask:tcp://127.0.0.1:1", "--shard", "1/2"], "--executor cannot be used with --shard"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_said(
    run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    write("train.py", BUG.format(imports=""))
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    outcome = run("scan", *options)
    assert outcome.status == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_clone_that_cannot_be_checked_out_is_said(
    run: Run, write: Callable[..., Path], repositories: list[str]
) -> None:
    write("odd.git/HEAD", "nonsense")
    write("odd.git/objects/x", "")
    write("odd.git/refs/x", "")
    outcome = run("scan", *OPTIONS, "odd.git", *repositories)
    assert outcome.status == 2
    assert "error: odd.git cannot be checked out: " in outcome.err
    assert outcome.out.count('"TDR101"') == 6
