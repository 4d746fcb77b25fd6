"""Which Python runs the script: the one that was asked for, else the project's, that of the shell, or our own."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = (".venv", "venv", ".env", "env")
NAMES = ("python", "python3")
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
OLDEST_PYTHON = (3, 10)
OLDEST_TORCH = (2, 4)
PATIENCE = 30.0  # seconds for an interpreter to say who it is

QUESTION = """
import json, sys
try:
    from importlib.metadata import version
    torch = version("torch")
except Exception:
    torch = ""
print(json.dumps([list(sys.version_info[:2]), torch]))
"""


class NoInterpreterError(Exception):
    """There is no Python that can run the script; the message is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python and where we know it from."""

    path: Path
    origin: str

    def problem(self) -> NoInterpreterError | None:
        """Why it cannot run a script under the probe: it does not start, is too old, or has no torch that we know."""
        try:
            version, torch = self._answer()
        except NoInterpreterError as error:
            return error
        said = ""
        if version < OLDEST_PYTHON:
            said = f"{self.path} is Python {_dotted(version)}; the probe needs {_dotted(OLDEST_PYTHON)} or later"
        elif not torch:
            said = f"{self.path} ({self.origin}) has no torch: give the script's interpreter with `--python`"
        elif _numbers(torch) < OLDEST_TORCH:
            said = f"{self.path} has torch {torch}; the probe needs {_dotted(OLDEST_TORCH)} or later"
        return NoInterpreterError(said) if said else None

    def _answer(self) -> tuple[tuple[int, ...], str]:
        if self.path == Path(sys.executable):  # no need to start it
            return sys.version_info[:2], _own_torch()
        command = [str(self.path), "-c", QUESTION]
        try:
            done = subprocess.run(  # noqa: S603 - what we were asked to run
                command, capture_output=True, text=True, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
            )
            version, torch = json.loads(done.stdout.splitlines()[-1])
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            message = f"{self.path} ({self.origin}) does not run as a Python: give another with `--python`"
            raise NoInterpreterError(message) from None
        return tuple(version), torch or ""


@functools.cache
def _own_torch() -> str:
    from importlib import metadata  # noqa: PLC0415 - only here

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def interpreter(asked: str, project: Path) -> Interpreter:
    """The Python that can run the scripts of a project; `asked` names one, or the folder of an environment, or is empty.

    Where nothing was asked for, it is the first that has torch: of the active environment, of those in the project, what
    the shell calls `python`, and our own.

    Raises:
        NoInterpreterError: none can.
    """
    if asked:
        only = Interpreter(_named(asked), "--python")
        if problem := only.problem():
            raise problem
        return only
    problems: dict[Path, NoInterpreterError] = {}
    for candidate in _found(project):
        if candidate.path not in problems:
            problem = candidate.problem()
            if problem is None:
                return candidate
            problems[candidate.path] = problem
    if len(problems) == 1:
        raise next(iter(problems.values()))
    message = f"none of {', '.join(map(str, problems))} has torch: give the script's interpreter with `--python`"
    raise NoInterpreterError(message)


def _named(asked: str) -> Path:
    path = Path(asked).expanduser()
    if path.is_dir():
        inside = _of_environment(path)
        if inside is None:
            message = f"{asked} is a folder without a Python in it: `--python` takes an interpreter or an environment"
            raise NoInterpreterError(message)
        return inside
    if path.parent == Path() and not path.is_file():
        on_path = shutil.which(asked)
        path = Path(on_path) if on_path else path
    if not path.is_file():
        message = f"{asked} is not there: `--python` takes an interpreter or an environment"
        raise NoInterpreterError(message)
    return path.absolute()


def _found(project: Path) -> Iterator[Interpreter]:
    """The active environment, those that lie in the project, what the shell would start, and what we run in ourselves."""
    for variable in VARIABLES:
        value = os.environ.get(variable)
        if value and (path := _of_environment(Path(value))) is not None:
            yield Interpreter(path, f"${variable}")
    for name in FOLDERS:
        path = _of_environment(project / name)
        if path is not None:
            yield Interpreter(path, f"the project's {name}")
    for name in NAMES:
        on_path = shutil.which(name)
        if on_path:
            yield Interpreter(Path(on_path).absolute(), f"`{name}` of the shell")
    yield Interpreter(Path(sys.executable), "torch-doctor's own")


def _of_environment(folder: Path) -> Path | None:
    for name in ("bin/python", "bin/python3", "Scripts/python.exe"):
        if (folder / name).is_file():
            return (folder / name).absolute()
    return None


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("+", maxsplit=1)[0].split(".")[:2]
    return tuple(int("".join(char for char in part if char.isdecimal()) or 0) for part in parts)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
