"""What a rule says of itself and of a finding, and how rules of other packages are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.rule import Evidence, Fix, Level, Step, Verdict, all_rules
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.rule import Rule

COMMAND = [sys.executable, "-m", "torch_doctor"]
HERE = Site("train.py", 3, 5, 3, 20)
PLUGIN = """
from torch_doctor.rule import Level, Rule
from torch_doctor.trace import Backward


class Ours(Rule):
    '''The team likes no `backward()`.'''

    code = "{code}"
    name = "{name}"
    level = Level.ERROR
    witness = "S"

    def check(self, trace):
        for event in trace.of(Backward):
            yield self.finding(event.site, "backward")


def rules():
    return [Ours]
"""


def test_a_finding_carries_what_its_rule_is(rules: tuple[Rule, ...]) -> None:
    finding = rules[1].finding(HERE, "message", help="remedy", trail=[Step(HERE, "here")])
    assert (finding.code, finding.name, finding.level) == ("TDR101", "missing-zero-grad", Level.ERROR)
    assert (finding.site, finding.message, finding.help) == (HERE, "message", "remedy")
    assert finding.trail == (Step(HERE, "here"),)
    assert (finding.witness, finding.verdict, finding.evidence) == ("static", None, ())


def test_a_verdict_changes_nothing_else(rules: tuple[Rule, ...]) -> None:
    finding = rules[1].finding(HERE, "message")
    proof = (Evidence("ratio", 2.5),)
    judged = finding.with_verdict(Verdict.REFUTED, proof)
    assert (judged.verdict, judged.evidence) == (Verdict.REFUTED, proof)
    assert (finding.verdict, finding.evidence) == (None, ())
    assert judged.with_verdict(Verdict.REFUTED, ()).message == finding.message


def test_the_page_is_the_docstring_and_the_summary_its_first_line(rules: tuple[Rule, ...]) -> None:
    assert rules[1].page().splitlines()[:3] == [
        "Stand-in that dislikes every `backward()`.",
        "",
        "## Why is this bad?",
    ]
    assert rules[1].summary() == "Stand-in that dislikes every `backward()`"
    assert (rules[1].fix, rules[2].fix) == (Fix.UNSAFE, Fix.NONE)


def test_the_rules_are_found_by_code_and_only_once() -> None:
    codes = [rule.code for rule in all_rules()]
    assert codes == sorted(set(codes))
    assert all_rules() is all_rules()


@pytest.fixture
def plugin(folder: Path, write: Callable[..., Path]) -> Callable[[str], Callable[..., Any]]:
    """Installs a package that offers rules and gives the command line that sees it."""

    def install(source: str) -> Callable[..., Any]:
        write("site/our_rules.py", source)
        write("site/our_rules-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: our-rules\nVersion: 1.0\n")
        write("site/our_rules-1.0.dist-info/entry_points.txt", "[torch_doctor.rules]\nours = our_rules:rules\n")
        environment = {**os.environ, "PYTHONPATH": str(folder / "site")}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [*COMMAND, *arguments]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)

        return run

    return install


def test_another_package_can_offer_rules(plugin: Callable[[str], Any], write: Callable[..., Path]) -> None:
    run = plugin(PLUGIN.format(code="OUR001", name="no-backward"))
    write("train.py", "import torch\nloss = torch.ones(1, requires_grad=True).sum()\nloss.backward()\n")
    done = run("scan", "train.py", "--select", "OUR", "--output-format", "concise")
    assert (done.returncode, done.stdout) == (1, "train.py:3:1: OUR001 no-backward: backward\n")
    assert "OUR001" in run("rules").stdout
    assert "The team likes no" in run("rule", "no-backward").stdout


@pytest.mark.parametrize("arguments", [("scan",), ("rules",), ("rule", "TDR101")])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (PLUGIN.format(code="TDR101", name="x"), r"two rules are called TDR101 or \S+; the second comes from \S+"),
        (PLUGIN.format(code="OUR1", name="missing-step"), r"two rules are called \S+ or missing-step; the second .*"),
        ("import nowhere\n", "a package that offers rules cannot be loaded: ModuleNotFoundError: .* 'nowhere'"),
    ],
    ids=["code", "name", "broken"],
)
def test_a_package_that_clashes_or_is_broken_is_one_clear_line(
    plugin: Callable[[str], Any], source: str, said: str, arguments: tuple[str, ...]
) -> None:
    done = plugin(source)(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"error: {said}\n", done.stderr)
