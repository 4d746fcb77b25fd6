"""The command line as a process of its own: pipes, encodings, terminals."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from torch_doctor.cli import progress
from torch_doctor.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND = [sys.executable, "-m", "torch_doctor"]
BROKEN = "import torch\nprint 'epoch 1 é loss'\n"


def test_the_module_is_the_command(folder: Path, write: Callable[..., Path]) -> None:
    write("train.py", BROKEN)
    done = subprocess.run([*COMMAND, "scan"], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(b"train.py:2:1: TDR000")


def test_output_is_utf8_whatever_the_locale_says(folder: Path, write: Callable[..., Path]) -> None:
    write("träin.py", BROKEN)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([*COMMAND, "scan"], cwd=folder, capture_output=True, check=False, env=environment)
    assert done.returncode == 1
    assert "träin.py:2:1" in done.stdout.decode()
    assert "é" in done.stdout.decode()
    assert b"Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_reason_to_complain(folder: Path, write: Callable[..., Path]) -> None:
    for number in range(200):
        write(f"{number}.py", BROKEN)
    with subprocess.Popen(
        [*COMMAND, "scan", "-q"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("wanted", "patience", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_long_work_shows_progress_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, patience: float, shown: bool
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(wanted=wanted) as bar:
        bar(0, 2, "[bold]a.py")
        bar(1, 2, "b.py")
    assert ("b.py" in stream.getvalue()) is shown


def test_no_progress_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress(wanted=True) as bar:
        bar(0, 1, "a.py")
    assert stream.getvalue() == ""
