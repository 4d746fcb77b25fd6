"""The README is short, and what it shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.sessions import renewed, replayed
from torch_doctor.cli import COMMANDS

Run = Any  # arguments to outcome
ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRY_IT = ("pip install . && torch-doctor scan fixtures/whole/six_bugs.py", "pip install -e '.[test]' && pytest")
UNPUBLISHED = r"uvx|pipx|pip install '?torch-doctor|pypi|badge|shields\.io|@v0\.|rev: v\d"


def section(heading: str) -> str:
    """Return what stands below a heading."""
    return README.split(f"## {heading}\n")[1].split("\n## ")[0]


def block(heading: str, language: str) -> str:
    """Return the first block of code in a language below a heading."""
    return section(heading).split(f"```{language}\n")[1].split("```")[0]


def test_it_is_short() -> None:
    assert len(README.encode()) <= 9000


def test_its_first_commands_are_those_that_ci_runs() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    for command in TRY_IT:
        assert f"```console\n{command}\n```" in section("Try it")
        assert f"{command} || status=$?\n" in script or f"{command}\n" in script


def test_the_first_command_finds_the_bugs(run: Run) -> None:
    *arguments, script = TRY_IT[0].partition("torch-doctor ")[2].split()
    outcome = run(*arguments, str(ROOT / script))
    assert outcome.status == 1
    assert outcome.out.count("[TDR") == 7


@pytest.mark.usefixtures("farm", "folder")
def test_its_commands_print_what_it_shows() -> None:
    assert replayed(README) == README


def test_a_line_of_dots_stands_for_what_is_left_out() -> None:
    printed = "first\nsecond: 1.5 s\nthird\nlast"
    for shown in ("first\n...\nlast", "...\nsecond: 2 s\n...", "first\n...\nsecond: 1.5 s\nthird\n...\nlast", printed):
        assert renewed(shown, printed) == shown
    assert renewed("first\n...\nlist", printed) == "first\n...\nlast"
    assert renewed("last\n...\nfirst", printed) == printed


def test_each_thing_that_torch_doctor_does_has_a_command_and_its_output() -> None:
    for heading, word in (
        ("Scan", "scan train.py"),
        ("Probe", "--probe"),
        ("Fix", "--fix"),
        ("Checkup", "checkup"),
        ("Diagnose", "diagnose"),
    ):
        (command, shown) = re.findall(r"\$ (torch-doctor .*)\n((?:(?!```).*\n)+)", section(heading))[0]
        assert word in command
        assert len(shown.splitlines()) > 2


def test_the_commands_and_options_that_it_names_exist(run: Run) -> None:
    named = re.findall(r"torch-doctor ([a-z]+)\b", re.sub(r"```yaml.*?```", "", README, flags=re.DOTALL))
    assert {"scan", "rule", "rules", "checkup", "diagnose"} <= {*named} & COMMANDS.keys()
    options = set(re.findall(r"(?<=`)--[a-z-]+", README))
    assert "--fix" in options
    assert options <= set(re.findall(r"--[a-z-]+", run("scan", "--help").out))


def test_the_pages_of_rules_that_it_names_exist(run: Run) -> None:
    names = re.findall(r"`torch-doctor rule (\S+)`", README)
    assert names
    assert [name for name in names if run("rule", name).status != 0] == []


def test_the_hook_exists() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    ((configured,),) = [repo["hooks"] for repo in yaml.safe_load(block("pre-commit", "yaml"))["repos"]]
    assert configured["id"] in hooks


def test_the_ci_job_gives_the_action_what_it_takes() -> None:
    *_, action = yaml.safe_load(block("CI", "yaml"))["steps"]
    assert action["uses"] == "./third_party/torch-doctor"
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert action["with"].keys() <= inputs.keys()


@pytest.mark.parametrize("heading", ["pre-commit", "CI"])
def test_what_a_project_adds_is_five_lines(heading: str) -> None:
    assert len(block(heading, "yaml").splitlines()) == 5


def test_the_comparison_has_six_rows() -> None:
    assert len(re.findall(r"^\|", section("Comparison"), flags=re.MULTILINE)) == 2 + 6


def test_its_links_lead_to_files_and_to_headings() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)|(?:src|srcset)=\"([^\"]+)\"", README)
    assert len(links) > 10
    for path, anchor, picture in links:
        text = (ROOT / (path or picture)).read_text(encoding="utf-8")
        headings = {line.lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}
        assert not anchor or anchor in headings


def test_it_claims_nothing_that_is_not_published() -> None:
    assert re.findall(UNPUBLISHED, README, flags=re.IGNORECASE) == []


def test_the_first_scan_takes_no_more_than_a_few_screens(run: Run, folder: Path) -> None:
    script = folder / "six_bugs.py"
    script.write_text(re.sub(r"  # TDR\d+.*", "", (ROOT / "fixtures/whole/six_bugs.py").read_text(encoding="utf-8")))
    lines = run("scan", "--isolated", "--no-cache", str(script)).out.splitlines()
    assert len(lines) <= 90
    assert sum("(--fix" in line for line in lines) == 7


def test_the_files_that_the_page_on_the_inside_names_exist() -> None:
    text = (ROOT / "doctor/README.md").read_text(encoding="utf-8")
    roots = [ROOT / root for root in ("", "doctor/torch_doctor", "rules/torch_doctor_rules")]
    named = set(re.findall(r"`(\w+/[\w./]*|\w+\.py)`", text))
    assert named
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []
