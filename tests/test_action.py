"""The action for GitHub: its steps, really run by bash with the inputs as GitHub gives them, in a real repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.tools
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BAD = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\nprint(model(torch.rand(1, 2)))\n"
GOOD = BAD.replace("model.eval\n", "model.eval()\n")
WORKFLOW = {"runner.temp", "github.action_path"}
BASH = (shutil.which("bash") or "bash", "--noprofile", "--norc", "-e", "-o", "pipefail")


def filled(text: str, context: dict[str, str]) -> str:
    """A value of the action with its expressions evaluated."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: context[match[1]], text)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of a runner on which the first step has installed this project.

    Its dependencies and what builds it are those of the environment of the tests: nothing is fetched.
    """
    temp = tmp_path_factory.mktemp("runner")
    environment = {
        **os.environ,
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say that there is none
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    done = step("Install torch-doctor", temp, temp, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return temp


def step(
    name: str, where: Path, temp: Path, environment: dict[str, str], **inputs: str
) -> subprocess.CompletedProcess[str]:
    """One step of the action, run as a runner does."""
    (found,) = [each for each in ACTION["runs"]["steps"] if each["name"] == name]
    given = {key: value["default"] for key, value in ACTION["inputs"].items()} | inputs
    context = {"runner.temp": str(temp), "github.action_path": str(ROOT)}
    context |= {f"inputs.{key}": value for key, value in given.items()}
    variables = {key: filled(value, context) for key, value in found["env"].items()}
    script = temp / "step.sh"
    script.write_text(found["run"], encoding="utf-8")
    return subprocess.run(
        [*BASH, str(script)],
        cwd=where,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with a script that has a bug, in a folder with a space in its name, and one without."""
    root = tmp_path / "checkout"
    (root / "my models").mkdir(parents=True)
    (root / "my models/train.py").write_text(BAD, encoding="utf-8")
    (root / "good.py").write_text(GOOD, encoding="utf-8")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


@pytest.fixture
def scan(installed: Path, repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The second step with these inputs, in the checkout."""
    environment = {
        **os.environ,
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_STEP_SUMMARY": str(repository.parent / "summary.md"),
    }

    def run(**inputs: str) -> subprocess.CompletedProcess[str]:
        return step("Scan", repository, installed, environment, **inputs)

    return run


def test_the_file_is_what_github_takes_for_an_action() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    subprocess.run([*command, str(ROOT / "action.yml")], check=True, capture_output=True)
    names = set(re.findall(r"\$\{\{ ([\w.-]+) \}\}", json.dumps(ACTION)))
    assert names == WORKFLOW | {f"inputs.{name}" for name in ACTION["inputs"]}
    assert not any("${{" in each["run"] for each in ACTION["runs"]["steps"])  # what is in an input is never run


def test_the_action_installs_itself(installed: Path) -> None:
    program = installed / "torch-doctor/bin/torch-doctor"
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout.split()[1] == version("torch-doctor")


def test_findings_annotate_the_lines_fill_the_summary_and_fail_the_step(scan: Any, repository: Path) -> None:
    done = scan()
    assert done.returncode == 1, done.stderr
    assert re.match(r"::error file=my models/train.py,line=4,.*title=TDR\d+ ", done.stdout)
    summary = (repository.parent / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### torch-doctor: 1 error\n")
    assert "my models/train.py:4:1" in summary


def test_a_checkout_without_findings_passes(scan: Any) -> None:
    done = scan(paths="good.py")
    assert (done.returncode, done.stdout) == (0, "")


def test_paths_and_arguments_are_split_as_a_shell_would_and_nothing_in_them_is_run(scan: Any, repository: Path) -> None:
    done = scan(paths="good.py\n'my models'", args='--exit-zero --extend-exclude "a b"')
    assert done.returncode == 0
    assert done.stdout.startswith("::error file=my models/train.py")
    assert scan(paths="good.py", args="$(touch owned) `touch owned` ; touch owned").returncode == 2
    assert not (repository / "owned").exists()
    unmatched = scan(args="'--exit-zero")
    assert unmatched.returncode != 0
    assert unmatched.stdout == ""


def test_the_sarif_file_is_written_where_it_is_wanted(scan: Any, repository: Path) -> None:
    assert scan(**{"sarif-file": "reports/torch doctor.sarif"}).returncode == 1
    log = json.loads((repository / "reports/torch doctor.sarif").read_text(encoding="utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]]


def test_the_scripts_are_run_where_that_is_asked_for(scan: Any) -> None:
    done = scan(paths="'my models/train.py'", probe="true")
    assert "probe: " in done.stdout
    refused = scan(probe="yes")
    assert (refused.returncode, refused.stdout) == (2, "::error::the input probe is `yes`: it takes true or false\n")


@pytest.mark.parametrize(("asked", "what"), [("", str(ROOT)), ("latest", "torch-doctor"), ("1.2", "torch-doctor==1.2")])
def test_the_version_that_is_asked_for_is_installed(tmp_path: Path, asked: str, what: str) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin"; }\necho "$@"\n')
    python.chmod(0o755)
    environment = {"PATH": os.pathsep.join((str(tmp_path), os.environ["PATH"]))}
    done = step("Install torch-doctor", tmp_path, tmp_path, environment, version=asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(f" --upgrade {what}")


def test_a_runner_without_python_is_told_what_to_do(tmp_path: Path) -> None:
    done = step("Install torch-doctor", tmp_path, tmp_path, {"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stdout == "::error::torch-doctor needs Python: add a step that uses actions/setup-python\n"
