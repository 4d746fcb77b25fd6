"""What a rule says of itself and of a finding, and how rules of other packages are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests import source_code
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


@pytest.mark.parametrize("part", ["trace", "edits", "finding", "rule"])
def test_every_field_that_a_rule_may_use_has_a_docstring(part: str) -> None:
    modules = source_code.modules("doctor")
    ours = {name: path for name, path in modules.items() if name.split(".")[1:2] == [part]}
    assert ours
    assert source_code.undocumented(ours) == []


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
        path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path}

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


CLASS = PLUGIN.format(code="OUR001", name="no-backward")


def test_rules_of_another_package_may_depend_on_anything(
    plugin: Callable[[str], Any], write: Callable[..., Path]
) -> None:
    run = plugin(CLASS.replace('"OUR001"', 'open("code").read()'))
    write("train.py", "import torch\nloss = torch.ones(1, requires_grad=True).sum()\nloss.backward()\n")
    for code in ("OUR001", "OUR002", "OUR001"):
        write("code", code)
        done = run("scan", "train.py", "--output-format", "concise")
        assert done.stdout == f"train.py:3:1: {code} no-backward: backward\n"
        assert "warning" not in done.stderr
    write("code", "TDR101")
    assert "TDR101 no-backward clashes with TDR101 missing-zero-grad" in run("scan", "train.py").stderr


@pytest.mark.parametrize("arguments", [("scan", "."), ("rules",), ("rule", "TDR101")])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            PLUGIN.format(code="TDR101", name="x"),
            r"a rule of `our-rules` .*: TDR101 x clashes with TDR101 .*; rename it",
        ),
        (PLUGIN.format(code="OUR1", name="missing-step"), r"a rule .*: OUR1 missing-step clashes with TDR104 .*"),
        (CLASS.replace("[Ours]", "[Ours, Ours]"), r"a rule .* OUR001 no-backward clashes .* of `our-rules`; .*"),
        ("import nowhere\n", r"the rules of `our-rules` are skipped: `our_rules:rules` .* \(Module.* 'nowhere'\)"),
        ("raise SystemExit(3)\n", r"the rules of `our-rules` are skipped: .* \(SystemExit: 3\)"),
        ("rules = 3\n", r"the rules of `our-rules` are skipped: .* \(TypeError: 'int' object is not callable\)"),
        ("def rules():\n    return ['OUR1']\n", r"a rule .*: `'OUR1'` is not a rule class; offer .*"),
        (CLASS.replace('"OUR001"', '"our 1"'), r"a rule .*: `Ours.code` is 'our 1'; write .* \[A-Z\]\+\[0-9\]\+"),
        (CLASS.replace("    level = Level.ERROR\n", ""), r"a rule .*: `Ours.level` is None; write .*"),
        (CLASS.replace('"S"', '"X"'), r"a rule .*: `Ours.witness` is 'X'; write .*"),
        (CLASS.replace("def check", "def ckeck"), r"a rule .*: `Ours` has no method `check`"),
        (CLASS.replace("    code =", "    def __init__(self):\n        1 / 0\n\n    code ="), r".*ZeroDivision.*"),
    ],
    ids=[
        "code",
        "name",
        "twice",
        "import",
        "exit",
        "no callable",
        "no rule",
        "form",
        "level",
        "witness",
        "abstract",
        "raises",
    ],
)
def test_a_package_that_clashes_or_is_broken_is_one_clear_line_and_the_others_go_on(
    plugin: Callable[[str], Any], write: Callable[..., Path], source: str, said: str, arguments: tuple[str, ...]
) -> None:
    write("train.py", "import torch\nmodel = torch.nn.Linear(2, 2)\ntorch.save(model, 'model.pt')\n")
    done = plugin(source)(*arguments)
    warning, *rest = done.stderr.splitlines()
    assert re.fullmatch(f"warning: {said}", warning)
    assert done.returncode == int(arguments[0] == "scan"), rest
    assert {"scan": "TDR601", "rules": "TDR601", "rule": "TDR101"}[arguments[0]] in done.stdout


def test_where_there_is_no_rule_at_all_that_is_an_error(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = ("the rules of `x` are left out",)
    monkeypatch.setattr("torch_doctor.declared.installed_rules", lambda _, **__: ((), problems))
    assert run("rules") == (2, "", "error: the rules of `x` are left out\n")
