"""Console sessions in the README and on the pages of the site: `python -m tests.sessions` renews their output."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

from torch_doctor import cli
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/pages"
NAMES = ("get-started.md", "probe.md", "checkup.md", "shapes.md", "gradients.md", "data.md")
"""The pages whose sessions are run."""
FRAMEWORKS = {
    "accelerate.md": ("accelerate",),
    "lightning.md": ("lightning",),
    "peft.md": ("peft", "transformers"),
    "transformers.md": ("transformers", "accelerate"),
}
"""Those whose sessions are run where these libraries are installed."""
OMISSION = "..."
"""The line of a session for lines that a page leaves out."""
WIDTH = 88
"""How wide the terminal of the sessions is: as wide as a page on a usual screen."""
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
VARYING = re.compile(r"\b\d+(?:\.\d+)? s\b|\b\d+%|: Python .*$", re.MULTILINE)
"""What differs from run to run, and from machine to machine."""
INTERPRETER = re.compile(r": Python .*$", re.MULTILINE)
SHOWN = ": Python 3.13.1 with torch 2.13.0, .venv/bin/python ($VIRTUAL_ENV)"
"""What a page shows for the interpreter of whoever replaced its output."""


def replayed(page: str) -> str:
    """Return a page with the output of its sessions as it is now.

    The working directory gets the files that the page shows with a title. A line that differs only in times, percentages or
    the interpreter stays, and a line `...` stands for any lines. Commands other than `torch-doctor`, `python` and `cp` are not
    run; `cp` copies a file of the working directory or of this repository to the working directory.
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
    if "cp" in (program, *arguments):
        source, target = arguments[arguments.index("cp") + 1 :][:2] if program != "cp" else arguments
        shutil.copy(source if Path(source).is_file() else ROOT / source, Path(target).name)
    if not command.startswith("$ ") or program not in {"torch-doctor", "python"}:
        return text
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        if program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            with mock.patch("torch_doctor.cli.printing.look_of", return_value=Look(Paint(), WIDTH)):
                cli.run(arguments)
    output.flush()
    printed = INTERPRETER.sub(lambda _: SHOWN, output.buffer.getvalue().decode().strip("\n"))
    return "".join(f"{line}\n" for line in (command, *renewed(shown.strip("\n"), printed).splitlines()))


def renewed(shown: str, printed: str) -> str:
    """Return the text if it still is what was printed, else the printed lines that are nearest to its lines, else all of them."""
    before = {masked(line): line for line in shown.splitlines()}
    lines = [before.get(masked(line), line) for line in printed.splitlines()]
    nearest = [
        line if line == OMISSION else next(iter(difflib.get_close_matches(line, lines, 1, 0)), line)
        for line in shown.splitlines()
    ]
    return next(text for text in (shown, "\n".join(nearest), "\n".join(lines)) if shows(text, printed))


def shows(shown: str, printed: str) -> bool:
    """Return whether a text is what was printed, but for times; a line `...` stands for any lines, or none."""
    lines = ["(?:.*\n)?" if line == OMISSION else f"{re.escape(line)}\n" for line in masked(shown).splitlines()]
    return (
        re.fullmatch("".join(lines), "".join(f"{line}\n" for line in masked(printed).splitlines()), re.DOTALL)
        is not None
    )


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    return VARYING.sub("…", text)


if __name__ == "__main__":
    for name in sys.argv[1:] or (*NAMES, "../../README.md"):
        path = PAGES / name
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            path.write_text(replayed(path.read_text(encoding="utf-8")), encoding="utf-8")
            os.chdir(PAGES)
