"""`rule`, `rules`, `trace` and `version`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor import __version__
from torch_doctor.cli import COMMANDS
from torch_doctor.report.rule_pages import markdown_table, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.rule import Rule

Run = Any  # arguments to outcome

pytestmark = pytest.mark.usefixtures("stand_ins")


@pytest.mark.parametrize("name", ["TDR101", "tdr101", "missing-zero-grad"])
def test_rule_prints_the_page(run: Run, rules: tuple[Rule, ...], name: str) -> None:
    assert run("rule", name) == (0, page(rules[1]), "")


def test_rule_renders_the_page_for_a_terminal(run: Run) -> None:
    outcome = run("rule", "TDR101", "--color", "always")
    assert outcome.status == 0
    assert "\x1b[" in outcome.out
    assert "##" not in outcome.out


def test_rule_for_programs(run: Run) -> None:
    assert run("rule", "TDR101", "--output-format", "json").json["name"] == "missing-zero-grad"


def test_rules_lists_all(run: Run, rules: tuple[Rule, ...]) -> None:
    assert [line.split()[0] for line in run("rules").out.splitlines()] == [rule.code for rule in rules]
    assert [rule["code"] for rule in run("rules", "--output-format", "json").json] == [rule.code for rule in rules]
    assert run("rules", "--output-format", "markdown").out == markdown_table(rules)


def test_trace_shows_events(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "import torch\nloss.backward()\noptimizer.step()\n")
    outcome = run("trace", "train.py")
    assert outcome.status == 0
    assert outcome.out == (
        "train.py\n"
        "2:1  backward `loss`: gradients for something unresolved\n"
        "3:1  step `optimizer`: updates something unresolved\n"
    )
    (trace,) = run("trace", "train.py", "--output-format", "json").json
    assert [event["event"] for event in trace["events"]] == ["Backward", "Stepped"]


def test_trace_of_nothing_says_so(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "import torch\n")
    outcome = run("trace", "train.py")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == "warning: train.py: no code that trains or evaluates a model found\n"


def test_trace_of_what_is_not_valid_says_where(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "import torch\nprint 'x'\n")
    assert "2:1  not valid Python" in run("trace", "train.py").out


def test_trace_of_a_missing_file_is_an_error(run: Run) -> None:
    outcome = run("trace", "nope.py")
    assert (outcome.status, outcome.out, outcome.err) == (2, "", "error: nope.py does not exist\n")


def test_trace_takes_a_file_that_is_left_out_of_scans(run: Run, write: Callable[..., Path]) -> None:
    write("build/train.py", "import torch\nloss.backward()\n")
    assert "backward `loss`" in run("trace", "build/train.py").out


@pytest.mark.parametrize("arguments", [("version",), ("--version",), ("scan", "--version")])
def test_version(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == (0, f"torch-doctor {__version__}\n", "")


def test_the_page_of_help_lists_every_command_with_a_line(run: Run) -> None:
    listed = run("--help").out.partition("Commands:\n")[2]
    assert [line.split("  ")[1] for line in listed.splitlines()] == list(COMMANDS)
    assert "scan      Scan files and folders for bugs in training code.\n" in listed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.status == 0
    assert outcome.out.startswith(f"Usage: torch-doctor {command}")


@pytest.mark.parametrize(
    ("name", "meant"), [("check", "scan"), ("lint", "scan"), ("explain", "rule"), ("scna", "scan")]
)
def test_a_command_that_other_linters_have_is_answered_with_ours(run: Run, name: str, meant: str) -> None:
    outcome = run(name)
    assert outcome.status == 2
    assert f"unknown command `{name}`; did you mean `{meant}`?" in outcome.err
