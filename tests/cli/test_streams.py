"""Where output goes, and what happens where it cannot go."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import click
import pytest

from tests.folders import entries
from torch_doctor.cli.streams import look_of, wants_colours, write_file
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND = [sys.executable, "-m", "torch_doctor"]
BROKEN = "import torch\nprint 'x'\n"

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "stream", "colours"),
    [
        ("auto", Terminal(), True),
        ("auto", io.StringIO(), False),
        ("auto", None, False),
        ("always", io.StringIO(), True),
        ("always", None, True),
        ("never", Terminal(), False),
    ],
)
def test_colours_are_for_terminals_unless_asked_for(folder: Path, choice: str, stream: Any, colours: bool) -> None:  # noqa: ARG001 - gives the environment
    assert wants_colours(choice, stream) is colours


def test_text_is_as_wide_as_the_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setenv("COLUMNS", "57")
    assert look_of("never", Terminal()) == Look(Paint(), 57)
    assert look_of("never", io.StringIO()) == look_of("never", None) == Look(Paint(), None)


def test_a_new_file_has_the_usual_rights_and_an_old_one_keeps_its_own(folder: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_file(folder / "new.json", "[]\n")
    finally:
        os.umask(mask)
    assert (folder / "new.json").stat().st_mode & 0o777 == 0o640
    (folder / "new.json").chmod(0o604)
    write_file(folder / "new.json", "{}\n")
    assert (folder / "new.json").stat().st_mode & 0o777 == 0o604
    assert (folder / "new.json").read_text(encoding="utf-8") == "{}\n"


def test_a_link_stays_a_link(folder: Path) -> None:
    (folder / "reports").mkdir()
    (folder / "reports/1.json").write_text("old", encoding="utf-8")
    (folder / "latest.json").symlink_to("reports/1.json")
    write_file(folder / "latest.json", "new")
    assert (folder / "latest.json").is_symlink()
    assert (folder / "reports/1.json").read_text(encoding="utf-8") == "new"
    (folder / "next.json").symlink_to("reports/2.json")
    write_file(folder / "next.json", "new")
    assert (folder / "reports/2.json").read_text(encoding="utf-8") == "new"
    assert entries(folder, "**/*") == [
        "1.json",
        "2.json",
        "latest.json",
        "next.json",
        "reports",
    ]


@needs_pipes
def test_what_is_no_plain_file_is_written_and_stays_what_it_is(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, "é\n")
    reader.join()
    assert read == ["é\n".encode()]
    assert pipe.is_fifo()


def test_what_cannot_be_written_leaves_nothing_behind(folder: Path) -> None:
    (folder / "out").mkdir()
    with pytest.raises(click.ClickException, match="out cannot be written: Is a directory"):
        write_file(folder / "out", "x")
    with pytest.raises(click.ClickException, match="cannot be written: No such file or directory"):
        write_file(folder / "nowhere" / "x", "x")
    assert entries(folder, "**/*") == ["out"]


@pytest.mark.parametrize(
    ("redirection", "arguments", "status", "said"),
    [
        (">&-", "scan .", 2, "error: stdout is closed; no report can be written\n"),
        (">&-", "rules", 2, "error: stdout is closed; no report can be written\n"),
        (">&-", "scan -q . --output-format json:out.json", 1, ""),
        ("<&-", "scan -", 2, "error: stdin is closed; no source can be read\n"),
        ("2>&-", "scan .", 1, ""),
        pytest.param(
            ">/dev/full",
            "scan .",
            2,
            "error: stdout cannot be written: No space left on device\n",
            marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full"),  # noqa: PTH110
        ),
    ],
)
def test_a_stream_that_is_closed_or_full_is_one_clear_line(
    folder: Path, write: Callable[..., Path], redirection: str, arguments: str, status: int, said: str
) -> None:
    write("train.py", BROKEN)
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *COMMAND, *arguments.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, said)
