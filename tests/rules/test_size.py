"""A rule stays short enough to be read at once; one folder has what several need, and its package what one needs."""

from __future__ import annotations

import ast

import pytest

from tests import source_code
from torch_doctor.rule import Rule
from torch_doctor_rules import judging, rules
from torch_doctor_rules.judging.comparison import Comparison

BASES = {Rule.__name__, Comparison.__name__}
MOST_LINES = 120  # of code: the class docstring is the documentation page and does not count
BLANK = 2  # lines between two statements of a module
MODULES = source_code.modules("rules")
NEEDS = source_code.needs(MODULES)
RULES = {rule.__module__ for rule in rules()}
SHARED = {name for name in MODULES if name.startswith(f"{judging.__name__}.")}
OWN = {name for name in MODULES if name.rpartition(".")[0] in RULES}  # in the package of one rule


def lines_of_code(source: str) -> int:
    """The lines of a module without the docstrings of its rules."""
    pages = [
        node.body[0]
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in BASES for base in node.bases)
        and ast.get_docstring(node) is not None
    ]
    return len(source.splitlines()) - sum((page.end_lineno or page.lineno) - page.lineno + 1 for page in pages)


def rules_with(module: str) -> set[str]:
    """The rules whose judgement goes through a module, by their modules."""
    users, waiting = {module}, [module]
    while waiting:
        needed = waiting.pop()
        more = {name for name, others in NEEDS.items() if needed in others} - users
        users |= more
        waiting += more - RULES
    return users & RULES


def length(module: str) -> int:
    return lines_of_code(MODULES[module].read_text())


def lines_besides_imports(source: str) -> int:
    """The lines of a module from its first statement on that neither documents nor imports."""
    for node in ast.parse(source).body:
        if not isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom, ast.If)):
            return len(source.splitlines()) - node.lineno + 1
    return 0


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('class Loud(Rule):\n    """A page\n\n    of three lines."""\n\n    code = "X"\n', 3),
        ('"""A module."""\n\n\nclass Plain:\n    """No page."""\n', 5),
        ("class Bare(Rule):\n    pass\n", 2),
    ],
    ids=["page", "docstring", "no docstring"],
)
def test_only_pages_are_not_counted(source: str, lines: int) -> None:
    assert lines_of_code(source) == lines


def test_no_rule_is_longer_than_can_be_read_at_once() -> None:
    assert {name: length(name) for name in RULES if length(name) > MOST_LINES} == {}


def test_what_is_no_rule_is_shared_or_in_the_package_of_one() -> None:
    families = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert MODULES.keys() - families - RULES - SHARED - OWN == set()
    assert not RULES & SHARED


def test_what_is_shared_is_needed_by_several_rules() -> None:
    assert {name: found for name in SHARED if len(found := rules_with(name)) <= 1} == {}


def test_what_is_in_the_package_of_a_rule_is_needed_by_this_rule_alone() -> None:
    assert {name: found for name in OWN if (found := rules_with(name)) != {name.rpartition(".")[0]}} == {}


def test_what_a_rule_needs_is_in_its_module_where_there_is_room() -> None:
    added = {name: BLANK + lines_besides_imports(MODULES[name].read_text()) for name in OWN}
    assert [name for name in OWN if length(name.rpartition(".")[0]) + added[name] <= MOST_LINES] == []
