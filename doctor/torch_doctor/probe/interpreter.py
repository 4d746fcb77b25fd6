"""Which Python runs the script: the one that was asked for, else the project's, that of the shell, or our own."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from torch_doctor.environments import NoInterpreterError, candidates, named

OLDEST_PYTHON = (3, 10)
OLDEST_TORCH = (2, 4)
PATIENCE = 30.0  # seconds for an interpreter to say who it is

QUESTION = """
import sys
sys.path[:] = [each for each in sys.path if each]
import json
try:
    from importlib.metadata import version
    torch = version("torch")
except Exception:
    torch = ""
print(json.dumps([list(sys.version_info[:2]), torch]))
"""
"""What an interpreter is asked; files of the current folder, which may be named like a library's, have no part in it."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python and where we know it from."""

    path: Path
    origin: str

    @property
    def torch(self) -> str:
        """The version of its torch; empty where it has none."""
        return self._answer()[1]

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
            said = f"{self.path} ({self.origin}) has no torch: pass the script's interpreter with `--python`"
        elif _numbers(torch) < OLDEST_TORCH:
            said = f"{self.path} has torch {torch}; the probe needs {_dotted(OLDEST_TORCH)} or later"
        return NoInterpreterError(said) if said else None

    def _answer(self) -> tuple[tuple[int, ...], str]:
        if self.path == Path(sys.executable):  # no need to start it
            return sys.version_info[:2], _own_torch()
        try:
            version, torch = json.loads(_asked(str(self.path)))
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            message = f"{self.path} ({self.origin}) is not a working Python interpreter: pass another with `--python`"
            raise NoInterpreterError(message) from None
        return tuple(version), torch or ""


@functools.lru_cache(maxsize=16)
def _asked(python: str) -> str:
    """What an interpreter answers to the question; several scripts have the same."""
    done = subprocess.run(  # noqa: S603 - what we were asked to run
        [python, "-c", QUESTION], capture_output=True, text=True, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
    )
    return done.stdout.splitlines()[-1]


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
        only = Interpreter(named(asked), "--python")
        if problem := only.problem():
            raise problem
        return only
    problems: dict[Path, NoInterpreterError] = {}
    for candidate in (Interpreter(path, origin) for path, origin in candidates(project)):
        if candidate.path not in problems:
            problem = candidate.problem()
            if problem is None:
                return candidate
            problems[candidate.path] = problem
    if len(problems) == 1:
        raise next(iter(problems.values()))
    message = f"none of {', '.join(map(str, problems))} has torch: pass the script's interpreter with `--python`"
    raise NoInterpreterError(message)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("+", maxsplit=1)[0].split(".")[:2]
    return tuple(int("".join(char for char in part if char.isdecimal()) or 0) for part in parts)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
