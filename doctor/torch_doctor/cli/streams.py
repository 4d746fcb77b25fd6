"""Output to stdout or to a file, with or without colours."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any, TextIO

import click

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look

COLOURS = ("auto", "always", "never")
PLAIN = Look(Paint())


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal; a closed one is None."""
    return stream is not None and stream.isatty()


def wants_colours(choice: str, stream: TextIO | None) -> bool:
    """Return whether a stream gets colours: as requested, else by the environment, else if it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def look_of(choice: str, stream: TextIO | None) -> Look:
    """Return the colours and the width for a stream."""
    width = None
    if is_terminal(stream):
        import shutil  # noqa: PLC0415 - only for a terminal

        width = shutil.get_terminal_size().columns
    colours = wants_colours(choice, stream)
    return Look(Paint(colours, links=colours and is_terminal(stream) and "CI" not in os.environ), width)


def write(text: str, *, colours: bool = False) -> None:
    """Write to stdout; where it is no terminal, always as UTF-8.

    Raises:
        ClickException: it cannot be written, for another reason than that nobody reads any further.
    """
    stdout: Any = sys.stdout
    if stdout is None:
        message = "stdout is closed; no report can be written"
        raise click.ClickException(message)
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(encoding=None if stdout.isatty() else "utf-8", errors="backslashreplace")
    try:
        click.echo(text, nl=False, color=colours)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        message = f"stdout cannot be written: {error.strerror}"
        raise click.ClickException(message) from None


def write_bytes(content: bytes) -> None:
    """Write to stdout without changing a byte.

    Raises:
        ClickException: as `write`.
    """
    stdout: Any = sys.stdout
    if stdout is None:
        message = "stdout is closed; no source can be written"
        raise click.ClickException(message)
    try:
        stdout.flush()
        stdout.buffer.write(content)
        stdout.buffer.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        message = f"stdout cannot be written: {error.strerror}"
        raise click.ClickException(message) from None


def write_file(path: Path, text: str) -> None:
    """Write a file in one go: those who read it see the old one or the new one.

    A link stays a link, a device a device.

    Raises:
        ClickException: it cannot be written.
    """
    content = text.encode("utf-8", "backslashreplace")
    try:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG | (0o666 & ~_umask())
        if stat.S_ISREG(mode):
            _replace(Path(os.path.realpath(path)), content, stat.S_IMODE(mode))
        else:
            path.write_bytes(content)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise click.ClickException(message) from None


def _replace(path: Path, content: bytes, mode: int) -> None:
    import tempfile  # noqa: PLC0415 - only for output files

    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(beside).chmod(mode)  # a temporary file is its owner's only
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
