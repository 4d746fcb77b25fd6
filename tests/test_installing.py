"""Tests of frameworks: skipped with a word about it where a library is absent, and failed in the job that has them all."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import installing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SCRIPT = (ROOT / ".ci/frameworks").read_text(encoding="utf-8")
DISTRIBUTIONS = {"PIL": "pillow"}
"""Of libraries that are imported by another name."""


def extra(name: str) -> list[str]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return extras[name]


def named(requirement: str) -> str:
    return re.split(r"[<>=;~ ]", requirement)[0]


def test_only_what_is_not_installed_is_absent() -> None:
    assert installing.absent(["json", "no_such_library", "torch"]) == ["no_such_library"]


@pytest.mark.parametrize(
    ("said", "number", "sentence"),
    [("", 1, "1 test of frameworks was skipped"), ("required", 2, "2 tests of frameworks were skipped")],
)
def test_a_session_says_how_skipped_tests_are_run(
    said: str, number: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(installing.VARIABLE, said)
    assert installing.required() == bool(said)
    assert installing.told(number).startswith(sentence)
    assert ".ci/frameworks" in installing.told(number)


def test_the_script_installs_the_extra_beside_the_torch_of_all_other_tests_and_lets_nothing_be_skipped() -> None:
    (torch,) = (each for each in extra("test") if named(each) == "torch")
    assert f"pip install {torch} -e '.[test,frameworks]'" in SCRIPT
    assert f"{installing.VARIABLE}=required pytest -m frameworks" in SCRIPT


def test_every_library_that_a_test_names_is_in_the_extra_up_to_a_version() -> None:
    used = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for names in re.findall(r"mark\.frameworks\(([^)]*)\)", path.read_text(encoding="utf-8"))
        for name in re.findall(r'"(\w+)"', names)
    }
    assert {"lightning", "transformers", "accelerate"} <= used
    assert {DISTRIBUTIONS.get(name, name) for name in used} == {named(each) for each in extra("frameworks")}
    assert [each for each in extra("frameworks") if not re.fullmatch(r"[\w-]+>=[\d.]+,<\d+", each)] == []


def test_a_job_of_ci_runs_the_script() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["frameworks"]["steps"][-1]["run"] == ".ci/frameworks"
