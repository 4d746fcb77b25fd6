"""Every rule is one module with one class whose docstring is its page, with examples that do what they say."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.marks import rules_for
from torch_doctor.rule import Level
from torch_doctor.scan import Options, scan
from torch_doctor_rules import rules

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

RULES = sorted(rules(), key=lambda rule: rule.code)
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def examples(rule: type[Rule]) -> list[str]:
    return BLOCK.findall(rule.page())


def test_the_rules_that_exist() -> None:
    codes = "000 101 102 103 104 105 111 201 202 301 302 308 401 402 403 501 502 601"
    assert {f"TDR{code}" for code in codes.split()} <= {rule.code for rule in RULES}


@EACH
def test_a_module_is_named_after_its_rule(rule: type[Rule]) -> None:
    path = Path(inspect.getfile(rule))
    assert path.stem == rule.name.replace("-", "_")
    assert rule.__name__ == rule.name.title().replace("-", "")


@EACH
def test_the_page_has_its_sections_in_order(rule: type[Rule]) -> None:
    headings = re.findall(r"^## (.+)$", BLOCK.sub("", rule.page()), re.MULTILINE)
    assert headings == [
        "Why is this bad?",
        "Example",
        "Use instead",
        "How the probe confirms it",
        "When it stays silent",
        "References",
    ]


@EACH
def test_the_page_begins_with_one_sentence(rule: type[Rule]) -> None:
    first, blank, *_ = rule.page().splitlines()
    assert first.endswith(".")
    assert not blank


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
def test_the_first_example_fires_exactly_this_rule(rule: type[Rule], tmp_path: Path) -> None:
    only_a_run_shows_it = rule.witness == "P"
    assert _codes(rule, 0, tmp_path) == ([] if only_a_run_shows_it else [rule.code])


@EACH
def test_the_second_example_is_right(rule: type[Rule], tmp_path: Path) -> None:
    assert _codes(rule, 1, tmp_path) == []


@EACH
def test_there_are_two_short_examples(rule: type[Rule]) -> None:
    assert [len(example.splitlines()) <= 20 for example in examples(rule)] == [True, True]


def _codes(rule: type[Rule], number: int, folder: Path) -> list[str]:
    path = folder / "train.py"
    path.write_text(examples(rule)[number], encoding="utf-8")
    report = scan(Options(paths=(path,), rules=rules_for(rule.code)))
    assert report.errors == []
    return [finding.code for finding in report.findings]
