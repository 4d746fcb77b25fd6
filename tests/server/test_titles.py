"""Titles of fixes, which the menus of editors cut after some sixty characters."""

from __future__ import annotations

import pytest

from torch_doctor.cli.installed import installed_rules
from torch_doctor.edits import Change, Proposal
from torch_doctor.rule import Finding, Level, Rule
from torch_doctor.server.actions import fix_title
from torch_doctor.trace import Site

SITE = Site("train.py", 1, 1, 1, 2)


def fixed(code: str, name: str, *, help: str, safe: bool) -> Finding:  # noqa: A002 - the field's name
    fix = Proposal((Change(SITE, "x"),), safe=safe)
    return Finding(code, name, Level.ERROR, "it is wrong", SITE, help=help, fix=fix)


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("rule", installed_rules(), ids=lambda rule: rule.code)
def test_no_title_is_longer_than_60_characters(rule: Rule, safe: bool) -> None:
    titles = [fix_title(fixed(rule.code, rule.name, help="h" * size, safe=safe)) for size in range(100)]
    assert max(map(len, titles)) <= 60
    assert titles[-1] == f"Fix {rule.code} {rule.name}{'' if safe else ' (unsafe)'}"


def test_a_short_help_is_the_title() -> None:
    modules = fixed("TDR301", "modules-in-plain-container", help="make it an `nn.ModuleList`", safe=True)
    assert fix_title(modules) == "Fix TDR301: make it an `nn.ModuleList`"


def test_a_long_name_of_another_package_is_left_out() -> None:
    assert fix_title(fixed("TDX101", "name-" * 20, help="help " * 20, safe=False)) == "Fix TDX101 (unsafe)"
