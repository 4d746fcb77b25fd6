"""`torch-doctor config`, and what shells complete."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.cli import COMPLETE
from torch_doctor.config import KEYS, PROBE_KEYS
from torch_doctor.config.schema import schema
from torch_doctor.report.formats import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

Run = Any


def test_all_keys_are_listed(run: Run) -> None:
    outcome = run("config")
    probe = [f"probe.{key}" for key in PROBE_KEYS]
    listed = [name for key in KEYS for name in (probe if key == "probe" else [key])]
    assert (outcome.status, outcome.out.split()) == (0, listed)
    assert list(run("config", "--output-format", "json").json) == listed


def test_a_key_is_explained_with_type_default_and_example(run: Run) -> None:
    outcome = run("config", "per-file-ignores")
    assert outcome.out.splitlines()[2:] == [
        "Type: table of lists of strings",
        "Default: {}",
        "Example:",
        "",
        "[tool.torch-doctor]",
        'per-file-ignores = { "notebooks/*" = ["TDR402"] }',
    ]
    shown = run("config", "respect-gitignore", "--output-format", "json").json
    assert (shown["type"], shown["default"], shown["example"]) == ("bool", True, False)
    assert run("config", "torch-version").out.splitlines()[2:4] == ["Type: string", "Default: none"]


def test_a_version_that_is_not_the_required_one_exits_with_2_in_one_line(run: Run) -> None:
    outcome = run("scan", "--config", "required-version = '<0.0.1'")
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("error: --config: requires torch-doctor <0.0.1, but this is ")


def test_a_key_of_the_probe_is_explained_in_its_table(run: Run) -> None:
    assert run("config", "probe.time").out.splitlines()[2:] == [
        "Type: positive number",
        "Default: none",
        "Example:",
        "",
        "[tool.torch-doctor.probe]",
        "time = 30",
    ]
    assert run("config", "probe").out.split() == [f"probe.{key}" for key in PROBE_KEYS]
    assert run("config", "levels").out.splitlines()[2] == "Type: table of levels"
    outcome = run("config", "probe.tme")
    assert (outcome.status, "did you mean `probe.time`?" in outcome.err) == (2, True)


def test_a_key_that_is_not_there_gets_the_nearest(run: Run) -> None:
    outcome = run("config", "slect")
    assert (outcome.status, outcome.err) == (2, "error: unknown configuration key `slect`; did you mean `select`?\n")


def test_the_schema_is_printed(run: Run) -> None:
    assert json.loads(run("config", "--schema").out) == schema()


def answer(shell: str, *words: str) -> str:
    """What click's own protocol for a shell answers when the last word is completed."""
    environment = {**os.environ, COMPLETE: f"{shell}_complete", "COMP_WORDS": " ".join(("torch-doctor", *words))}
    environment["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words))
    done = subprocess.run(
        [sys.executable, "-m", "torch_doctor"], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def completed(*words: str) -> list[str]:
    """The words that bash completes the last word to."""
    return [line.partition(",")[2] for line in answer("bash", *words).splitlines()]


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_codes_and_names_are_completed_after_the_options_that_take_them(option: str) -> None:
    assert completed("scan", option, "tdr10")[:2] == ["TDR101", "TDR102"]
    assert completed("scan", option, "missing-z") == ["missing-zero-grad"]
    assert completed("scan", option, "TDR6,missing-z") == ["TDR6,missing-zero-grad"]
    assert {"ALL", "TDR1", "TDR101", "missing-zero-grad"} <= {*completed("scan", option, "")}


def test_a_rule_and_a_key_and_a_command_are_completed() -> None:
    assert completed("rule", "softmax-b") == ["softmax-before-cross-entropy"]
    assert completed("config", "extend-p") == ["extend-per-file-ignores"]
    assert completed("conf") == ["config"]


def test_an_output_format_is_completed() -> None:
    assert completed("scan", "--output-format", "") == list(FORMATS)
    assert completed("scan", "--output-format", "sar") == ["sarif"]
    assert completed("rules", "--output-format", "mark") == ["markdown"]


def test_the_file_of_an_output_format_is_completed(folder: Path) -> None:
    (folder / "reports").mkdir()
    (folder / "reports" / "scan.sarif").touch()
    (folder / "readme.txt").touch()
    assert completed("scan", "--output-format", "sarif:re") == ["sarif:readme.txt", "sarif:reports/"]
    assert completed("scan", "--output-format", "sarif:reports/") == ["sarif:reports/scan.sarif"]
    assert answer("bash", "scan", "--output-format", "sarif:nowhere/").strip() == ""


@pytest.mark.parametrize(
    ("shell", "answers"),
    [
        ("bash", "plain,missing-zero-grad\n"),
        ("zsh", "plain\nmissing-zero-grad\nTDR101\n"),
        ("fish", "plain,missing-zero-grad\tTDR101\n"),
    ],
)
def test_each_shell_gets_a_rule_in_its_own_form(shell: str, answers: str) -> None:
    assert answer(shell, "scan", "--select", "missing-z") == answers
    assert answer(shell, "rule", "missing-z") == answers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_the_formats(shell: str) -> None:
    assert "sarif" in answer(shell, "scan", "--output-format", "sa")
    assert "json-lines" in answer(shell, "scan", "--output-format", "j")


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "tr"),
        ("scan", "--baseline", "tr"),
        ("scan", "--output-format", "sarif", ":", "tr"),
        ("checkup", "tr"),
        ("merge", "tr"),
    ],
)
def test_names_of_files_are_left_to_the_shell(words: tuple[str, ...]) -> None:
    assert answer("bash", *words) == "file,tr\n"


def test_fish_splits_an_answer_at_its_first_comma_only() -> None:
    assert answer("fish", "scan", "--select", "TDR6,missing-z") == "plain,TDR6,missing-zero-grad\tTDR101\n"
    environment = {**os.environ, COMPLETE: "fish_source"}
    command = [sys.executable, "-m", "torch_doctor"]
    script = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert 'set -l metadata (string split --max 1 "," $completion)' in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_function_that_it_is_given(folder: Path) -> None:
    command = folder / "torch-doctor"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m torch_doctor "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = (
        f'eval "$({COMPLETE}=bash_source torch-doctor)"\n'
        "COMP_WORDS=(torch-doctor scan --select missing-z)\nCOMP_CWORD=3\n"
        '_torch_doctor_completion torch-doctor\necho "${COMPREPLY[@]}"\n'
    )
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "missing-zero-grad"
