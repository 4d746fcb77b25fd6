"""The folders of libraries are found by the layout of an environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torch_doctor.environments import NoInterpreterError
from torch_doctor.static.installed.site_packages import libraries_of, site_packages


@pytest.fixture(autouse=True)
def _nothing_active(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def made(folder: Path, *names: str, python: str = "python") -> Path:
    for name in (f"bin/{python}", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    return folder / "bin" / python


def test_a_virtual_environment_has_them_below_lib(tmp_path: Path) -> None:
    python = made(tmp_path / "v", "pyvenv.cfg", "lib/python3.12/site-packages/torch/__init__.py")
    assert site_packages(python) == (tmp_path / "v/lib/python3.12/site-packages",)


def test_of_several_versions_the_interpreters_own_counts(tmp_path: Path) -> None:
    packages = [f"lib/python3.{minor}/site-packages/torch/__init__.py" for minor in (10, 12)]
    python = made(tmp_path / "usr", *packages, python="python3.10")
    assert site_packages(python) == (tmp_path / "usr/lib/python3.10/site-packages",)


def test_a_folder_is_an_environment(tmp_path: Path) -> None:
    made(tmp_path / "v", "pyvenv.cfg", "lib/python3.12/site-packages/torch/__init__.py")
    assert libraries_of(str(tmp_path / "v"), tmp_path) == (tmp_path / "v/lib/python3.12/site-packages",)


def test_the_projects_environment_is_taken_if_it_has_torch(tmp_path: Path) -> None:
    made(tmp_path / "venv", "pyvenv.cfg", "lib/python3.12/site-packages/torch/__init__.py")
    made(tmp_path / ".venv", "pyvenv.cfg", "lib/python3.12/site-packages/numpy/__init__.py")
    assert libraries_of("", tmp_path) == (tmp_path / "venv/lib/python3.12/site-packages",)


def test_our_own_is_known_without_being_started() -> None:
    assert all(folder.is_dir() for folder in site_packages(Path(sys.executable)))


def test_an_interpreter_of_another_layout_is_asked(tmp_path: Path) -> None:
    shim, folder = tmp_path / "shims/python", tmp_path / "elsewhere"
    for each in (shim.parent, folder):
        each.mkdir()
    shim.write_text(f'#!/bin/sh\necho \'["{folder}", "{folder}"]\'\n', encoding="utf-8")
    shim.chmod(0o755)
    assert site_packages(shim) == (folder,)


def test_one_that_does_not_answer_has_none(tmp_path: Path) -> None:
    assert site_packages(made(tmp_path / "broken")) == ()


def test_one_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoInterpreterError, match="nowhere does not exist"):
        libraries_of("nowhere", tmp_path)
