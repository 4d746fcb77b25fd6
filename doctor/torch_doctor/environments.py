"""The Pythons that may run a project's scripts, in the order in which they are tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = (".venv", "venv", ".env", "env")
NAMES = ("python", "python3")
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")


class NoInterpreterError(Exception):
    """There is no Python that can run the script; the message is one line that says what to do."""


class Candidate(NamedTuple):
    """A Python, and how it was found."""

    path: Path
    origin: str


def named(asked: str) -> Path:
    """The interpreter that was asked for, by its path, its name, or the folder of its environment.

    Raises:
        NoInterpreterError: it is not there.
    """
    path = Path(asked).expanduser()
    if path.is_dir():
        inside = of_environment(path)
        if inside is None:
            message = f"{asked} contains no Python: `--python` takes an interpreter or an environment"
            raise NoInterpreterError(message)
        return inside
    if path.parent == Path() and not path.is_file():
        on_path = _on_path(asked)
        path = Path(on_path) if on_path else path
    if not path.is_file():
        message = f"{asked} does not exist: `--python` takes an interpreter or an environment"
        raise NoInterpreterError(message)
    return path.absolute()


def candidates(project: Path) -> Iterator[Candidate]:
    """The active environment, those that lie in the project, what the shell would start, and what we run in ourselves."""
    for variable in VARIABLES:
        value = os.environ.get(variable)
        if value and (path := of_environment(Path(value))) is not None:
            yield Candidate(path, f"${variable}")
    for name in FOLDERS:
        path = of_environment(project / name)
        if path is not None:
            yield Candidate(path, f"the project's {name}")
    for name in NAMES:
        on_path = _on_path(name)
        if on_path:
            yield Candidate(Path(on_path).absolute(), f"`{name}` on PATH")
    yield Candidate(Path(sys.executable), "torch-doctor's own interpreter")


def _on_path(name: str) -> str | None:
    import shutil  # noqa: PLC0415 - only where an environment is looked for

    return shutil.which(name)


def of_environment(folder: Path) -> Path | None:
    """The interpreter of an environment; None where the folder is none."""
    for name in ("bin/python", "bin/python3", "Scripts/python.exe"):
        if (folder / name).is_file():
            return (folder / name).absolute()
    return None
