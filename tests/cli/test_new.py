"""`torch-doctor new`: what it writes holds as it stands, and what it cannot do is one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
ROOT = Path(__file__).parents[2]
RULE = ["src/torch_doctor_tdx/some_name.py", "fixtures/TDX101/bad_training.py", "fixtures/TDX101/ok_evaluation.py"]
LONG = "a-rule-with-the-longest-name-there-may-be"[:40]


def passes(folder: Path) -> None:
    """The pack's own tests and ruff are content."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:asyncio"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    for arguments in (("check",), ("format", "--check"), ("check", "--select", "F,E,W,I,UP,B,SIM,RUF,ANN,ARG,PTH,D1")):
        ignored = ("--ignore", "D100,D103,INP001") if len(arguments) > 2 and "check" in arguments else ()
        command = ["ruff", *arguments, *ignored, "--isolated", "--no-cache", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["some-name", LONG])
def test_a_new_pack_passes_its_own_tests_and_ruff(run: Run, folder: Path, name: str) -> None:
    outcome = run("new", "TDX101", name)
    module = f"src/torch_doctor_tdx/{name.replace('-', '_')}.py"
    written = ["pyproject.toml", "src/torch_doctor_tdx/__init__.py", module, *RULE[1:], "tests/test_tdx101.py"]
    assert (outcome.status, outcome.out.splitlines()) == (0, written)
    assert outcome.err == "Write the rule, then run: pip install -e . && pytest\n"
    passes(folder)


def test_a_second_rule_is_put_beside_the_first(run: Run, folder: Path) -> None:
    assert run("new", "TDX101", "some-name", "--into", "pack").status == 0
    outcome = run("new", "TDX102", "other-name", "--into", "pack")
    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "pack/src/torch_doctor_tdx/other_name.py"
    assert "cd pack && pip install" in outcome.err
    passes(folder / "pack")


def test_the_example_is_a_pack_that_takes_more_rules(run: Run, folder: Path) -> None:
    shutil.copytree(ROOT / "examples/torch-doctor-example", folder / "pack")
    outcome = run("new", "TDX102", "other-name", "--into", "pack")
    assert outcome.out.splitlines()[0] == "pack/src/torch_doctor_example/other_name.py"


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("TDR101", "x", "TDR101: codes that start with TDR are reserved for torch-doctor; use another prefix, as in TDX101"),
        ("TDR", "x", "invalid code `TDR`: use capital letters followed by a number, such as TDX101"),
        ("tdx101", "x", "invalid code `tdx101`: use capital letters followed by a number, such as TDX101"),
        ("../X1", "x", "invalid code `../X1`: use capital letters followed by a number, such as TDX101"),
        *(
            ("TDX1", name, f"invalid rule name `{name}`: use lower-case words joined by hyphens, such as some-name")
            for name in ("Some-Name", "some_name", "some name", "1x", "../x", "x-", "import")
        ),
        ("TDX1", "x" * 41, f"rule name `{'x' * 41}` is too long: 41 characters, at most 40 are allowed"),
        ("TDX1", "missing-step", "TDR104 missing-step is already installed; choose another code and name"),
    ],
)  # fmt: skip
def test_what_a_rule_cannot_be_called_is_one_line(run: Run, folder: Path, code: str, name: str, said: str) -> None:
    assert run("new", code, name) == (2, "", f"error: {said}\n")
    assert entries(folder) == []


@pytest.mark.parametrize("there", [*RULE, "tests/test_tdx101.py"])
def test_a_file_that_exists_is_not_overwritten(run: Run, write: Callable[..., Path], folder: Path, there: str) -> None:
    path = write(there, "mine")
    outcome = run("new", "TDX101", "some-name")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"error: {there} already exists; choose another code or name\n"
    assert path.read_text() == "mine"
    assert [each for each in folder.rglob("*") if each.is_file()] == [path]


@pytest.mark.parametrize(
    ("project", "said"),
    [
        (
            "[project]\nname = 'x'\n",
            'pyproject.toml declares no rules; add [project.entry-points."torch_doctor.rules"] ',
        ),
        (
            "[project.entry-points.'torch_doctor.rules']\nx = 'mine:rules'\n",
            "pyproject.toml declares rules in `mine`, ",
        ),
        ("[project\n", "pyproject.toml cannot be read: "),
        ("project = 3\n", "pyproject.toml declares no rules; "),
    ],
)
def test_a_project_that_takes_no_rules_is_one_line(
    run: Run, write: Callable[..., Path], folder: Path, project: str, said: str
) -> None:
    write("pyproject.toml", project)
    outcome = run("new", "TDX101", "some-name")
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {said}")
    assert outcome.err.count("\n") == 1
    assert entries(folder) == ["pyproject.toml"]


def test_a_folder_that_cannot_be_written_is_one_line_and_nothing_is_left(
    run: Run, write: Callable[..., Path], folder: Path
) -> None:
    write("tests", "a file\n")
    outcome = run("new", "TDX101", "some-name")
    assert outcome.status == 2
    assert outcome.err == "error: tests cannot be written: File exists\n"
    assert [each.name for each in folder.rglob("*") if each.is_file()] == ["tests"]
