"""The progress bar: only on a terminal, only after a while, and gone at the end."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest

from torch_doctor.cli import progress
from torch_doctor.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BROKEN = "import torch\nprint 'x'\n"
IMPATIENT = """
from torch_doctor.cli import progress, main
progress.PATIENCE = 0.0
main()
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return stream


@pytest.mark.parametrize(("wanted", "patience", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_long_work_shows_progress_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, patience: float, shown: bool
) -> None:
    stderr = look_at(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with Progress(wanted=wanted) as bar:
        bar.reading(0, 2, "[bold]a.py")
        bar.reading(1, 2, "b.py")
    assert ("b.py" in stderr.getvalue()) is shown


def test_of_a_long_path_the_end_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = look_at(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress(wanted=True) as bar:
        bar.reading(1, 2, "a/folder/with/many/" + "levels/" * 20 + "experiments/train.py")
    assert "…/experiments/train.py" in stderr.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_no_progress_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress(wanted=True) as bar:
        bar.reading(0, 1, "a.py")
    assert stream is None or stream.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
def test_a_real_terminal_is_left_as_it_was(folder: Path, write: Callable[..., Path]) -> None:  # noqa: ARG001 - where it runs
    import pty  # noqa: PLC0415 - not everywhere

    for number in range(3):
        write(f"{number}.py", BROKEN)
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.execv(sys.executable, [sys.executable, "-c", IMPATIENT, "scan", "--statistics"])  # noqa: S606
    shown = b""
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # its other end is closed
            break
        if not read:
            break
        shown += read
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    text = shown.decode()
    assert re.search(r"\d/3", text), "no progress"
    bar, end = text.rsplit("\x1b[2K", 1)  # the bar's row is cleared
    assert "/3" in bar
    assert "\x1b[?25h" in bar  # the cursor is back
    assert "/3" not in end
    assert "TDR000" in end
