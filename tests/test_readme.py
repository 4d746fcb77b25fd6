"""What the README shows is what happens."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from torch_doctor.cache import FOLDER
from torch_doctor.config import Config, load
from torch_doctor.probe.plan import BATCHES, EPOCHS
from torch_doctor.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROBE = "Ask the doctor: `--probe`"
MARK = re.compile(r" *# TDR\d{3}$", re.MULTILINE)


def section(heading: str) -> str:
    """What stands below a heading."""
    return README.split(f"## {heading}\n")[1].split("\n## ")[0]


def block(heading: str, language: str) -> str:
    """The first block of code in a language below a heading."""
    return section(heading).split(f"```{language}\n")[1].split("```")[0]


def commands() -> list[str]:
    """Every call of `torch-doctor` in the README, in code blocks and in sentences."""
    return re.findall(r"\btorch-doctor (?:scan|rule|rules|trace|version)\b[^`\n&]*", README)


def test_the_first_command_finds_the_bugs(run: Run) -> None:
    (command,) = re.findall(r"pip install \. && torch-doctor (.*)", block("Install and scan", "console"))
    *arguments, script = command.split()
    assert run(*arguments, str(ROOT / script)).status == 1


def test_the_finding_is_what_is_printed(run: Run, folder: Path) -> None:
    for name in ("train.py", "model.py"):
        text = (ROOT / "fixtures/TDR201/bad_two_files" / name).read_text(encoding="utf-8")
        (folder / name).write_text(MARK.sub("", text), encoding="utf-8")
    outcome = run("scan", "train.py")
    assert outcome.out.strip() == block("A finding", "text").strip()


@pytest.mark.usefixtures("farm")
def test_the_verdict_is_what_is_printed(run: Run, folder: Path) -> None:
    (command,) = re.findall(r"^torch-doctor (.*?) -- ", block(PROBE, "console"), flags=re.MULTILINE)
    text = (ROOT / "fixtures/TDR101/bad_cleared_once_per_epoch.py").read_text(encoding="utf-8")
    (folder / "train.py").write_text(MARK.sub("", text), encoding="utf-8")
    outcome = run(*command.split())
    assert outcome.out.strip() == block(PROBE, "text").strip()


def test_the_options_of_the_probe_are_those_that_there_are(run: Run) -> None:
    text = " ".join(run("scan", "--help").out.split())
    named = re.findall(r"`(--(?:probe-|device|python|jobs)[\w-]*)", README.split(f"## {PROBE}\n")[1].split("\n## ")[0])
    options = {"--device", "--python", "--jobs"}
    options |= {f"--probe-{what}" for what in ("timeout", "memory", "processes", "server", "output")}
    assert set(named) == options
    for option in named:
        assert option in text
    assert (BATCHES, EPOCHS) == (3, 2)
    assert "three batches and two epochs" in " ".join(README.split())


@pytest.mark.parametrize("command", [command for command in commands() if " rule " in command])
def test_the_pages_it_names_exist(run: Run, command: str) -> None:
    _, *arguments = command.split()
    assert run(*arguments).status == 0


def test_the_configuration_is_understood(write: Callable[..., Path], run: Run) -> None:
    config = load(write("pyproject.toml", block("Configuration", "toml"))).config
    assert config == Config(
        select=("TDR1", "TDR2"),
        ignore=("whole-model-saved",),
        extend_exclude=("third_party",),
        torch_version="2.4",
        per_file_ignores={"notebooks/*": ("TDR402",)},
        cache_dir=FOLDER,
        baseline="torch-doctor-baseline.json",
    )
    write("train.py", "import torch\n")
    assert run("scan", "--write-baseline").status == 0
    assert run("scan").status == 0


def test_the_hook_exists() -> None:
    (hook,) = re.findall(r"- id: (\S+)", block("pre-commit", "yaml"))
    assert f"- id: {hook}\n" in (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


def test_the_ci_job_gives_the_action_what_it_takes_and_uploads_what_it_writes() -> None:
    (action,) = [step for step in ci_steps() if step["uses"].startswith("torch-doctor/torch-doctor@")]
    (upload,) = [step for step in ci_steps() if "upload-sarif" in step["uses"]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert action["with"].keys() <= inputs.keys()
    assert action["with"]["sarif-file"] == upload["with"]["sarif_file"]
    assert upload["if"] == "always()"
    assert re.findall(r"^\| `([\w-]+)` \|.*\|.*\|$", section("CI"), flags=re.MULTILINE) == list(inputs)


def ci_steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load(block("CI", "yaml"))["jobs"]["torch-doctor"]["steps"]
    return steps


def test_the_commands_for_other_services_write_what_these_read(run: Run, folder: Path) -> None:
    shutil.copy(ROOT / "fixtures/whole/six_bugs.py", folder)
    for_gitlab, for_reviewdog = re.findall(r"^torch-doctor ([^|\n]*)", block("CI", "console"), flags=re.MULTILINE)
    assert run(*for_gitlab.split()).status == 1
    issues = json.loads((folder / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    assert len(issues) == len(run(*for_reviewdog.split()).json["diagnostics"]) > 5


def test_all_formats_are_named() -> None:
    (sentence,) = re.findall(r"^Formats: (.*?);", README, flags=re.MULTILINE)
    assert re.findall(r"`([\w-]+)`", sentence) == list(FORMATS)


def test_the_first_scan_that_the_readme_shows_takes_no_more_than_a_few_screens(run: Run, folder: Path) -> None:
    script = folder / "six_bugs.py"
    script.write_text(re.sub(r"  # TDR\d+.*", "", (ROOT / "fixtures/whole/six_bugs.py").read_text(encoding="utf-8")))
    lines = run("scan", "--isolated", "--no-cache", str(script)).out.splitlines()
    assert len(lines) <= 90
    assert "    = rows 45 to 47: only the indentation changes" in lines
    assert sum("(--fix" in line for line in lines) == 7
