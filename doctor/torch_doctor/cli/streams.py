"""Where output goes: stdout or a file, in colours or not."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TextIO

import click

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look

COLOURS = ("auto", "always", "never")
PLAIN = Look(Paint())


def wants_colours(choice: str, stream: TextIO) -> bool:
    """Whether a stream gets colours: as asked for, else as the environment says, else if it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def look_of(choice: str, stream: TextIO) -> Look:
    """How text for the stream is to look."""
    width = None
    if stream.isatty():
        import shutil  # noqa: PLC0415 - only for a terminal

        width = shutil.get_terminal_size().columns
    return Look(Paint(wants_colours(choice, stream)), width)


def write(text: str, *, colours: bool = False) -> None:
    """Write to stdout; where it is no terminal, always as UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="backslashreplace")
    click.echo(text, nl=False, color=colours)


def write_file(path: Path, text: str) -> None:
    """Write a file in one go: those who read it see the old one or the new one.

    Raises:
        ClickException: it cannot be written.
    """
    import tempfile  # noqa: PLC0415 - only for output files

    try:
        descriptor, beside = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            Path(beside).chmod(0o666 & ~mask)  # a temporary file is its owner's only
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise click.ClickException(message) from None
