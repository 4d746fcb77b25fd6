"""Console sessions on the pages of the site: `python -m tests.sessions` replaces their output by what is printed now."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from pathlib import Path
from unittest import mock

from torch_doctor import cli
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look

PAGES = Path(__file__).parents[1] / "docs/pages"
NAMES = ("get-started.md", "probe.md", "checkup.md")
"""The pages whose sessions are run."""
WIDTH = 88
"""How wide the terminal of the sessions is: as wide as a page on a usual screen."""
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
VARYING = re.compile(r"\b\d+(?:\.\d+)? s\b|: Python .*$", re.MULTILINE)
"""What differs from run to run, and from machine to machine."""
INTERPRETER = re.compile(r": Python .*$", re.MULTILINE)
SHOWN = ": Python 3.13.1 with torch 2.13.0, .venv/bin/python ($VIRTUAL_ENV)"
"""What a page shows for the interpreter of whoever replaced its output."""


def replayed(page: str) -> str:
    """Return a page with the output of its sessions as it is now.

    The working directory gets the files that the page shows with a title. A line that differs only in times and in the
    interpreter stays. Commands other than `torch-doctor` and `python` are not run.
    """

    def block(found: re.Match[str]) -> str:
        text = found["text"]
        if found["file"]:
            Path(found["file"]).write_text(text, encoding="utf-8")
        elif found["language"] == "console":
            commands = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
            return f"```console\n{''.join(map(session, commands))}```"
        return found[0]

    return BLOCK.sub(block, page)


def session(text: str) -> str:
    """Return a command of a session with what it prints."""
    command, _, shown = text.partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ ")) or [""]
    if not command.startswith("$ ") or program not in {"torch-doctor", "python"}:
        return text
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        if program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            with mock.patch("torch_doctor.cli.printing.look_of", return_value=Look(Paint(), WIDTH)):
                cli.run(arguments)
    before = {masked(line): line for line in shown.splitlines()}
    printed = INTERPRETER.sub(lambda _: SHOWN, output.getvalue().strip("\n")).splitlines()
    return "".join(f"{line}\n" for line in [command, *(before.get(masked(line), line) for line in printed)])


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    return VARYING.sub("…", text)


if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        path = PAGES / name
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            path.write_text(replayed(path.read_text(encoding="utf-8")), encoding="utf-8")
            os.chdir(PAGES)
