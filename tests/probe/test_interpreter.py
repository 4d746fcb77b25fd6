"""Which Python runs the script, and what is said where none can."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.environments import NoInterpreterError
from torch_doctor.probe.interpreter import interpreter

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _nothing_active(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "no-bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "no-bin"))


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes a program at a path below the folder that answers as a Python would."""

    def make(path: str, answer: str) -> Path:
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{answer}'\n", encoding="utf-8")
        program.chmod(0o755)
        return program

    return make


GOOD = '[[3, 12], "2.9.0+cu128"]'
NO_TORCH = '[[3, 12], ""]'


def test_the_one_that_was_asked_for(python: Callable[[str, str], Path], tmp_path: Path) -> None:
    program = python("their/python3.12", GOOD)
    found = interpreter(str(program), tmp_path)
    assert (found.path, found.origin) == (program, "--python")


def test_files_named_like_modules_of_a_library_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("csv", "json"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w')\nraise SystemExit\n", encoding="utf-8")
    linked = tmp_path / "python"
    linked.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    linked.chmod(0o755)
    assert interpreter(str(linked), tmp_path).torch
    assert not (tmp_path / "run").exists()


def test_a_folder_is_an_environment(python: Callable[[str, str], Path], tmp_path: Path) -> None:
    program = python("env/bin/python", GOOD)
    assert interpreter(str(tmp_path / "env"), tmp_path).path == program


def test_a_bare_name_is_what_the_shell_would_start(
    python: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = python("bin/python9", GOOD)
    monkeypatch.setenv("PATH", str(program.parent))
    assert interpreter("python9", tmp_path).path == program


def test_the_order_is_active_then_project_then_shell_then_own(
    python: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    origins = [interpreter("", project).origin]
    monkeypatch.setenv("PATH", str(python("shell/python", GOOD).parent))
    origins.append(interpreter("", project).origin)
    python("project/.venv/bin/python", GOOD)
    origins.append(interpreter("", project).origin)
    monkeypatch.setenv("VIRTUAL_ENV", str(python("active/bin/python", GOOD).parent.parent))
    origins.append(interpreter("", project).origin)
    assert origins == ["torch-doctor's own interpreter", "`python` on PATH", "the project's .venv", "$VIRTUAL_ENV"]


def test_an_environment_without_torch_is_passed_over(
    python: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(python("active/bin/python", NO_TORCH).parent.parent))
    assert interpreter("", tmp_path).path == Path(sys.executable)


def test_where_none_has_torch_all_are_named(
    python: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = python("active/bin/python", NO_TORCH)
    monkeypatch.setenv("VIRTUAL_ENV", str(active.parent.parent))
    own = python("own/python", NO_TORCH)
    monkeypatch.setattr(sys, "executable", str(own))
    monkeypatch.setattr(sys.modules[interpreter.__module__], "_own_torch", lambda: "")
    with pytest.raises(NoInterpreterError) as raised:
        interpreter("", tmp_path)
    assert str(raised.value) == f"none of {active}, {own} has torch: pass the script's interpreter with `--python`"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (NO_TORCH, "(--python) has no torch: pass the script's interpreter with `--python`"),
        ('[[3, 8], "2.4.0"]', "is Python 3.8; the probe needs 3.10 or later"),
        ('[[3, 12], "2.3.1+cpu"]', "has torch 2.3.1+cpu; the probe needs 2.4 or later"),
        ("hello", "(--python) is not a working Python interpreter: pass another with `--python`"),
        ("", "(--python) is not a working Python interpreter: pass another with `--python`"),
        ("[1]", "(--python) is not a working Python interpreter: pass another with `--python`"),
    ],
)
def test_one_that_cannot_run_it_is_one_clear_line(
    python: Callable[[str, str], Path], tmp_path: Path, answer: str, said: str
) -> None:
    program = python("their/python", answer)
    with pytest.raises(NoInterpreterError) as raised:
        interpreter(str(program), tmp_path)
    assert str(raised.value) == f"{program} {said}"


def test_one_that_is_not_there_or_no_environment(tmp_path: Path) -> None:
    with pytest.raises(NoInterpreterError, match="nowhere does not exist"):
        interpreter(str(tmp_path / "nowhere"), tmp_path)
    with pytest.raises(NoInterpreterError, match="contains no Python"):
        interpreter(str(tmp_path), tmp_path)


def test_what_a_python_prints_before_its_answer_does_no_harm(
    python: Callable[[str, str], Path], tmp_path: Path
) -> None:
    program = python("their/python", f"a site customisation says hello'\necho '{GOOD}")
    assert interpreter(str(program), tmp_path).path == program
