"""A command that is interrupted or killed in the middle of a probe leaves no process and no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.probe.test_bad_scripts import left_behind, tree
from tests.probe.test_launch import gone
from torch_doctor.probe.scratch import Scratch, sweep

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not to be seen"),
    pytest.mark.usefixtures("interruptible"),
]

DEAF = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
os.makedirs("run")
while True:
    try:
        time.sleep(0.01)
    except BaseException:
        pass
"""
SERVES = """
import sys, time
from pathlib import Path
from torch_doctor.probe import server
started = server._started(Path(sys.executable), Path(sys.argv[1]), 0.0)
print(started.pid, flush=True)
time.sleep(60)
"""


def until(holds: Callable[[], object]) -> bool:
    """Whether something comes to be so in time."""
    limit = time.monotonic() + 30
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_of_a_command_that_is_ended(
    folder: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, temporary = folder / "project", folder / "temporary"
    for each in (project, temporary):
        each.mkdir()
    (project / "train.py").write_text(DEAF, encoding="utf-8")
    (project / "report.txt").write_text("of before", encoding="utf-8")
    before = tree(project)
    command = [
        sys.executable,
        "-m",
        "torch_doctor",
        "scan",
        "train.py",
        "--probe",
        "--isolated",
        "--no-cache",
        "--output-format",
        "concise:report.txt",
    ]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as started:
        try:
            assert until(lambda: any(temporary.glob("*/overlay/**/run")))
            started.send_signal(number)
            started.wait(30)
        finally:
            started.kill()
    assert until(lambda: not left_behind(project))
    if number == signal.SIGKILL:
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        sweep.cache_clear()
        Scratch().remove()  # as the next run begins
    assert list(temporary.iterdir()) == []
    if number != signal.SIGINT:  # that lets it tell what it has
        assert tree(project) == before
    assert {path.name for path in project.iterdir()} == {"train.py", "report.txt"}


def test_a_server_ends_with_the_command_whose_it_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVES, str(tmp_path / "socket")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        serving = int(started.stdout.readline())
        assert until(lambda: "--serve" in Path(f"/proc/{serving}/cmdline").read_text(encoding="utf-8"))
        time.sleep(0.5)  # it imports torch, and has heard what it ends with
        started.kill()
    assert gone(serving)
