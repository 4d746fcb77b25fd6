"""`scan --watch`: a change is followed by a scan, and Ctrl-C ends it."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Run = Any
SAVES = "import torch\nfrom torch import nn\n\nmodel = nn.Linear(2, 2)\ntorch.save(model, 'model.pt')\n"
READY = "Watching for changes. Press Ctrl-C to stop."


class Watching:
    """A scan that watches, line by line."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "torch_doctor", "scan", "--watch", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._lines.put(line.rstrip("\n"))

    def until_ready(self) -> list[str]:
        """What was said until it watches again."""
        said = []
        while (line := self._lines.get(timeout=60)) != READY:
            said.append(line)
        return said


@pytest.fixture
def watching(folder: Path, interruptible: None) -> Iterator[Callable[..., Watching]]:  # noqa: ARG001 - Ctrl-C is heard
    started = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(folder, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()
        if each.process.stdout:
            each.process.stdout.close()


def test_a_change_is_followed_by_a_scan(write: Callable[..., Path], watching: Callable[..., Watching]) -> None:
    write("train.py", "import torch\n")
    watched = watching()
    assert watched.until_ready() == ["No findings in 1 file."]
    write("notes.md", "no source")
    write("train.py", SAVES)
    finding, line, *_ = watched.until_ready()
    assert finding.startswith("train.py:5:1: warning[TDR601] ")
    assert line == "  5 | torch.save(model, 'model.pt')"
    write("torch-doctor.toml", "ignroe = []\n")
    assert any("unknown key `ignroe`; did you mean `ignore`?" in line for line in watched.until_ready())
    write("torch-doctor.toml", "ignore = ['TDR601']\n")
    assert watched.until_ready() == ["No findings in 1 file."]
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(timeout=60) == 130


def test_what_is_wrong_with_the_command_ends_it(write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\n")
    outcome = run("scan", "--watch", "--select", "TDR777")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    outcome = run("scan", "--watch", "nope.py")
    assert (outcome.status, outcome.err) == (2, "error: --watch nope.py: it does not exist\n")
    outcome = run("scan", "--watch", "-")
    assert (outcome.status, outcome.err) == (2, "error: --watch cannot be used with stdin\n")


def test_a_file_that_is_saved_by_a_rename_is_still_watched(
    folder: Path, write: Callable[..., Path], watching: Callable[..., Watching]
) -> None:
    write("train.py", "import torch\n")
    watched = watching("train.py")
    assert watched.until_ready() == ["No findings in 1 file."]
    for text, told in [("torch.save(torch.nn.Linear(1, 1), 'm.pt')\n", "TDR601"), ("", "No findings in 1 file.")]:
        new = write("train.py.new", "import torch\n" + text)
        new.replace(folder / "train.py")
        assert any(told in line for line in watched.until_ready())
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(timeout=60) == 130


def test_without_watchfiles_one_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_doctor.cli.watching.find_spec", lambda _: None)
    outcome = run("scan", "--watch")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert "pip install 'torch-doctor[watch]'" in outcome.err
