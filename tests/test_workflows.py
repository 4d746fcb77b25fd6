"""The workflows and the changelog: GitHub accepts the workflows, and they build and describe a release."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
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


def test_one_job_runs_the_tests_of_tools_and_the_nightly_one_replays_nothing() -> None:
    everything = job("ci", "all")
    variables = next(step["env"] for step in everything["steps"] if step.get("run") == ".ci/run")
    (whole,) = re.findall(r"matrix\.python != '(.+?)' && '-m \"not tools\"' \|\| ''", variables["PYTEST_ADDOPTS"])
    assert whole in everything["strategy"]["matrix"]["python"]
    assert variables["TORCH_DOCTOR_TEST_CACHE"] == "${{ github.event_name == 'schedule' && 'off' || '' }}"


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
        step["run"] for step in job("publish", "build")["steps"] if step.get("name") == "The tag is the version"
    ]
    for tag, status in ((f"v{__version__}", 0), ("v0.0.0", 1)):
        environment = {"TAG": tag, "PATH": "/usr/bin:/bin"}
        assert subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=False).returncode == status


def notes(version: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / ".ci/notes", version], capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    (section,) = re.findall(r"^## \[0\.1\.0\].*\n((?:(?!## ).*\n)*)", CHANGELOG, flags=re.MULTILINE)
    assert "torch-doctor scan" in section
    for version in ("0.1.0", "v0.1.0"):
        done = notes(version)
        assert (done.returncode, done.stdout.strip()) == (0, section.strip())


def test_a_release_without_a_section_in_the_changelog_stops_before_it_is_published() -> None:
    done = notes("v99.0.0")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "CHANGELOG.md has nothing about 99.0.0\n")
    steps = [step.get("run", "") for step in job("publish", "build")["steps"]]
    assert '.ci/notes "$TAG"' in steps
    assert ".ci/packages dist" in steps
    assert (job("publish", "publish")["needs"], job("publish", "notes")["needs"]) == ("build", "publish")


def test_the_notes_become_the_text_of_the_release() -> None:
    written = job("publish", "notes")
    assert written["permissions"] == {"contents": "write"}
    assert written["steps"][-1]["run"] == '.ci/notes "$TAG" > notes.md && gh release edit "$TAG" --notes-file notes.md'


def test_the_changelog_starts_with_what_is_unreleased_and_is_short() -> None:
    from torch_doctor import __version__  # noqa: PLC0415 - the name is the point

    headings = re.findall(r"^## \[(.*?)\]", CHANGELOG, flags=re.MULTILINE)
    assert headings[:2] == ["Unreleased", __version__]
    assert len(CHANGELOG.partition("## [0.1.0]")[2].splitlines()) <= 30


def test_every_action_has_one_version_everywhere() -> None:
    files = [*WORKFLOWS, ROOT / "action.yml", *ROOT.glob("*.md"), *(ROOT / "docs/pages").glob("**/*.md")]
    found = defaultdict(set)
    for path in files:
        for action, version in re.findall(r"uses: ([\w./-]+)@(\S+)", path.read_text(encoding="utf-8")):
            found[action].add(version)
    assert "actions/checkout" in found
    assert {action: versions for action, versions in found.items() if len(versions) > 1} == {}
