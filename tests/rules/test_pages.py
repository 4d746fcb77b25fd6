"""Every rule is one module with one class whose docstring is its page; `test_catalogue.py` runs the examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from torch_doctor.edits import Figure
from torch_doctor.report.rule_pages import page
from torch_doctor.rule import Fix, Level
from torch_doctor_rules import rules

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

RULES = sorted(rules(), key=lambda rule: rule.code)
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def test_the_rules_that_exist() -> None:
    codes = "000 101 102 103 104 105 111 201 202 301 302 308 401 402 403 501 502 601"
    assert {f"TDR{code}" for code in codes.split()} <= {rule.code for rule in RULES}


@EACH
def test_a_module_is_named_after_its_rule(rule: type[Rule]) -> None:
    assert rule.__module__.rpartition(".")[2] == rule.name.replace("-", "_")
    assert rule.__name__ == rule.name.title().replace("-", "")


@EACH
def test_the_page_refers_to_documentation(rule: type[Rule]) -> None:
    links = rule.page().partition("## References\n")[2].splitlines()
    assert links
    assert all(re.fullmatch(r"- https://(docs\.(pytorch|python)|scikit-learn)\.org/\S+", link) for link in links)


@EACH
def test_a_rule_says_how_much_it_matters_and_who_proves_it(rule: type[Rule]) -> None:
    assert isinstance(rule.level, Level)
    assert rule.witness in {"S", "P", "SP"}


@EACH
def test_a_rule_with_a_fix_declares_what_it_may_change_and_its_page_says_so(rule: type[Rule]) -> None:
    assert ("fix_changes" in vars(rule)) == (rule.fix is not Fix.NONE)
    line = next((line for line in page(rule()).splitlines() if line.startswith("Fix: ")), "")
    assert [each for each in Figure if each.value in line] == (
        [each for each in Figure if each in rule.fix_changes] if rule.fix is not Fix.NONE else []
    )
    assert line.startswith(f"Fix: {rule.fix.value}; ") == (rule.fix is not Fix.NONE)


@EACH
def test_the_page_shows_a_short_example_and_the_difference_to_what_to_use_instead(rule: type[Rule]) -> None:
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", rule.page(), re.DOTALL | re.MULTILINE))
    assert list(blocks) == ["python", "diff"]
    assert len(blocks["python"].splitlines()) <= 20
    unchanged = sum(line.startswith((" ", "\n")) for line in blocks["diff"].splitlines())
    assert unchanged <= 8
