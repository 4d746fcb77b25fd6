"""A terminal while scripts run: findings first, a live line, the verdicts, and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_probe import BAD, GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

ENDLESS = BAD.replace("for x, y in loader:", "for epoch in range(2):\n  for x, y in loader:").replace(
    "\n    ", "\n      "
)


class Terminal:
    """A torch-doctor that somebody looks at, in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        import pty  # noqa: PLC0415 - not everywhere

        self.text = ""
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.environ.update(TERM="xterm", COLUMNS="100", NO_COLOR="1")
            os.execv(sys.executable, [sys.executable, "-m", "torch_doctor", *arguments])  # noqa: S606

    def read(self, until: str, seconds: float = 60.0) -> None:
        """Reads until some text was shown, or all of it."""
        limit = time.monotonic() + seconds
        with contextlib.suppress(OSError):  # its other end is closed
            while (not until or until not in self.text) and time.monotonic() < limit:
                self.text += os.read(self._terminal, 4096).decode("utf-8", "replace")

    def press(self, key: str) -> None:
        """Presses a key."""
        os.write(self._terminal, key.encode())

    def status(self) -> int:
        """The exit status, once it has ended."""
        self.read("")
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
@pytest.mark.usefixtures("interruptible")
def test_findings_are_shown_first_then_what_the_run_does_and_ctrl_c_ends_it(
    write: Callable[..., Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "scratch"))
    write("train.py", ENDLESS + "while True:\n    sum(range(1000))\n")
    terminal = Terminal("scan", "train.py", "--probe", "--isolated")
    terminal.read("epoch 2, batch 3 of `loader`")
    source, live = terminal.text.split("train.py: ", 1)[0], terminal.text
    assert "error[TDR101] missing-zero-grad: gradients from earlier steps" in source
    assert "call `optimizer.zero_grad()` before the backward pass of every step" in source
    assert "optimizer.zero_grad()" in source.split("help:")[1].split("\n", 1)[1]
    assert "probe:" not in live
    assert "s left" in live
    terminal.press("\x03")
    assert terminal.status() == 130
    cleared, _, end = terminal.text.rpartition("\x1b[?25h")  # the cursor is back
    assert "TDR101" not in cleared[len(source) :]
    verdict = "train.py:13:7: TDR101 missing-zero-grad\r\n    = probe: confirmed: the gradient at step 2 is "
    assert end.count("TDR101") == 1
    assert verdict in end
    assert "warning: train.py was interrupted after " in end
    assert list((folder / "scratch").iterdir()) == []


@pytest.mark.usefixtures("farm")
def test_many_scripts_say_the_same_however_many_run_at_once(run: Run, write: Callable[..., Path]) -> None:
    for number in range(3):
        write(f"{number}.py", GOOD if number == 1 else BAD)
    command = ["scan", "0.py", "1.py", "2.py", "--probe", "--isolated"]
    one, three = (run(*command, "--jobs", jobs) for jobs in ("1", "3"))
    assert one.out == three.out
    assert one.out.count("= probe: confirmed") == 2
    ran = [line.split()[1] for line in three.err.splitlines() if " ran for " in line]
    assert ran == ["0.py", "1.py", "2.py"]


@pytest.mark.usefixtures("farm")
def test_of_a_folder_beside_a_script_only_the_script_is_run(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    write("other/model.py", BAD)
    outcome = run("scan", "train.py", "other", "--probe", "--output-format", "concise")
    assert [line.split(":")[0] for line in outcome.out.splitlines()] == ["other/model.py", "train.py"]
    assert [line.endswith("[confirmed]") for line in outcome.out.splitlines()] == [False, True]
    assert " ran for " in outcome.err
    assert "model.py ran" not in outcome.err
