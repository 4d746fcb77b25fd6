"""Environments with a torch on a Python, as somebody's project may have them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from torch_doctor.environments import NoInterpreterError, named, of_environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
NOT_NEEDED = {"torch", "ruff", "mypy", "pre-commit"}
"""What the test extra names and an environment gets none of, or another version of."""


class NoEnvironmentError(Exception):
    """There can be no such environment; the message is one line that says why."""


class Version(NamedTuple):
    """What an environment is made of: the numbers of torch, and those of a Python."""

    torch: str
    python: str

    def __str__(self) -> str:
        return f"torch {self.torch}, Python {self.python}"


def python_of(version: str, given: str = "") -> Path:
    """The interpreter of a version such as 3.12: the one that was given, else what the shell calls by that name.

    Raises:
        NoEnvironmentError: there is none.
    """
    try:
        path = named(given or f"python{version}")
    except NoInterpreterError:
        message = f"there is no {given or f'python{version}'}: put it on PATH, or name it with `--interpreter`"
        raise NoEnvironmentError(message) from None
    if (answer := _asked(path, "import sys; print('%d.%d' % sys.version_info[:2])")) != version:
        message = f"{path} does not run as Python {version}"
        raise NoEnvironmentError(f"{message}: it is {answer}" if answer else message)
    return path


def environment(version: Version, work: Path, given: str = "") -> Path:
    """The interpreter of an environment below a folder; what is there already is used as it is.

    Packages come from where pip is told to look, by its configuration or by variables such as `PIP_INDEX_URL`.

    Raises:
        NoEnvironmentError: there is no such Python, or no such torch for it.
    """
    folder = work / f"torch-{version.torch}-python-{version.python}"
    made = of_environment(folder)
    if made is not None and _is_ready(made, version):
        return made
    base = python_of(version.python, given)
    work.mkdir(parents=True, exist_ok=True)
    _ran([str(base), "-m", "venv", "--clear", str(folder)], f"{base} makes no environment")
    made = of_environment(folder)
    assert made is not None
    torch = f"torch=={version.torch}.*"
    _ran(
        [str(made), "-m", "pip", "install", "--quiet", torch, "--editable", str(ROOT), *_requirements()],
        f"pip finds no {torch} for Python {version.python}",
    )
    return made


def _is_ready(python: Path, version: Version) -> bool:
    return f"{_asked(python, 'import torch, torch_doctor; print(torch.__version__)')}.".startswith(f"{version.torch}.")


def _requirements() -> list[str]:
    """What the tests need besides torch and the linters."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra: list[str] = project["optional-dependencies"]["test"]
    return [requirement for requirement in extra if Requirement(requirement).name not in NOT_NEEDED]


def _asked(python: Path, program: str) -> str:
    """What a program of one line prints; nothing where it fails."""
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=False, timeout=120)
    return done.stdout.strip() if not done.returncode else ""


def _ran(command: list[str], failure: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR:")]
        raise NoEnvironmentError(": ".join([failure, *(error.removeprefix("ERROR:").strip() for error in errors[:1])]))
