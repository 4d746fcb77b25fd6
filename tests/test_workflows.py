"""The workflows: GitHub accepts them, and they run what a release stands on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def job(workflow: str, name: str) -> Any:
    return yaml.safe_load((ROOT / f".github/workflows/{workflow}.yml").read_text(encoding="utf-8"))["jobs"][name]


def accepted(path: Path) -> bool:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_github_accepts_it(path: Path, tmp_path: Path) -> None:
    assert accepted(path)
    wrong = tmp_path / path.name
    wrong.write_text(path.read_text(encoding="utf-8").replace("runs-on:", "run-on:"), encoding="utf-8")
    assert not accepted(wrong)


def test_every_python_that_is_supported_is_tested() -> None:
    told = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert job("ci", "all")["strategy"]["matrix"]["python"] == told == ["3.10", "3.11", "3.12", "3.13"]


def test_a_release_is_published_by_a_trusted_publisher_without_a_token() -> None:
    publish = job("publish", "publish")
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]["name"] == "pypi"
    last = publish["steps"][-1]
    assert last["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in last
    assert "secrets." not in (ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_scripts_that_it_runs_are_there(path: Path) -> None:
    scripts = re.findall(r"\.ci/\w+", path.read_text(encoding="utf-8"))
    assert [script for script in scripts if not (ROOT / script).stat().st_mode & 0o100] == []


def test_the_tag_is_compared_with_the_version() -> None:
    from torch_doctor import __version__  # noqa: PLC0415 - the name is the point

    (command,) = [
        step["run"] for step in job("publish", "build")["steps"] if "TAG" in step.get("env", {}) and "run" in step
    ]
    for tag, status in ((f"v{__version__}", 0), ("v0.0.0", 1)):
        environment = {"TAG": tag, "PATH": "/usr/bin:/bin"}
        assert subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=False).returncode == status
