"""What every run of a script rests on besides the script and what it is told: the agent, who starts it, and the machine."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from torch_doctor.probe.launch import AGENT as _AGENT
from torch_doctor.probe.server import READ_AT_IMPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "doctor/torch_doctor"
AGENT = _AGENT
STARTS = PACKAGE / "probe/launch.py"
"""The module that starts the agent and listens to it; what it imports takes part in that."""

TOOLS = frozenset(
    (
        "hypothesis",
        "mypy",
        "pre-commit",
        "pytest",
        "ruff",
        "torch-doctor",
        "trove-classifiers",
        "virtualenv",
        "zensical",
    )
)
"""Distributions that no script imports, and of which most weeks bring another version."""

READ = (*READ_AT_IMPORT, "HF_", "LANG", "LC_", "TRANSFORMERS_", "TZ")
"""What the names of the variables begin with that a script, or a library, reads."""

AT_FIRST = dict(os.environ)
OWN = ("PYTEST_", "TORCH_DOCTOR_")
"""Variables of those who test; what a test says by them is in the plan."""


def sources(agent: Path = AGENT, starts: Path = STARTS) -> dict[str, Path]:
    """All files that a run is made by: the agent, who starts it with all that it imports of ours, and what replaces both."""
    of_tests = (*(TESTS / "probe/farm").glob("*.py"), *Path(__file__).parent.glob("*.py"))
    return {
        **{f"agent/{path.relative_to(agent).as_posix()}": path for path in _files(agent)},
        **{f"starts/{path.relative_to(PACKAGE).as_posix()}": path for path in _imported(starts)},
        **{f"tests/{path.name}": path for path in of_tests if not path.name.startswith("test_")},
    }


def digest(files: Mapping[str, Path]) -> str:
    """One word for the content of all files, and for what they are called."""
    read = hashlib.sha256()
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        read.update(f"{name} {len(content)}\n".encode() + content)
    return read.hexdigest()


@functools.cache
def ground() -> str:
    """One word for all that is the same in all runs of this process."""
    installed = {
        (name.lower(), each.version)
        for each in importlib.metadata.distributions()
        if (name := each.metadata["Name"]) and name.lower() not in TOOLS
    }
    facts = [
        digest(sources()),
        sys.version,
        sys.flags,
        platform.system(),
        platform.machine(),
        platform.libc_ver(),
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),
        torch.cuda.device_count(),
        len(os.sched_getaffinity(0)),
        os.getuid() == 0,
        sorted(installed),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def variables(now: Mapping[str, str], first: Mapping[str, str] = AT_FIRST) -> list[tuple[str, str | None]]:
    """The environment, as far as it matters: what libraries read, and all that a test changed, with None for what it removed."""
    names = {name for name in {*now, *first} if now.get(name) != first.get(name) or name.startswith(READ)}
    return [(name, now.get(name)) for name in sorted(names) if not name.startswith(OWN)]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _imported(module: Path) -> set[Path]:
    """A module of ours with all modules of ours that it names in an import, and those that they name."""
    found: set[Path] = set()
    left = [module]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch_doctor."):
                inside = PACKAGE.parent.joinpath(*str(node.module).split("."))
                of = [inside.with_suffix(".py"), *(inside / f"{alias.name}.py" for alias in node.names)]
                left += [each for each in of if each.is_file()]
    return found
