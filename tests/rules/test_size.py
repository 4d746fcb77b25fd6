"""A rule stays short enough to be read at once, and what rules share lives in one folder."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import torch_doctor_rules
from torch_doctor.rule import Rule
from torch_doctor_rules import judging, rules

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(torch_doctor_rules.__file__).parent
MOST_LINES = 120  # of code: the class docstring is the documentation page and does not count
BLANK = 2  # lines between two statements of a module
SHARED = judging.__name__.rpartition(".")[2]
RULE_MODULES = {PACKAGE.parent / f"{rule.__module__.replace('.', '/')}.py" for rule in rules()}


def lines_of_code(source: str) -> int:
    """The lines of a module without the docstrings of its rules."""
    pages = [
        node.body[0]
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == Rule.__name__ for base in node.bases)
        and ast.get_docstring(node) is not None
    ]
    return len(source.splitlines()) - sum((page.end_lineno or page.lineno) - page.lineno + 1 for page in pages)


def modules() -> Iterator[Path]:
    return (path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def users(module: str) -> list[Path]:
    """The modules that import one."""
    return [path for path in modules() if f"from {module} import" in path.read_text()]


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
    lengths = {path.relative_to(PACKAGE).as_posix(): lines_of_code(path.read_text()) for path in RULE_MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_what_is_no_rule_is_in_the_shared_folder() -> None:
    others = {path for path in modules() if path not in RULE_MODULES}
    assert {path.relative_to(PACKAGE).as_posix() for path in others if path.parent.name != SHARED} == set()
    assert {path.relative_to(PACKAGE).as_posix() for path in RULE_MODULES if path.parent.name == SHARED} == set()


def test_what_a_single_rule_needs_is_in_its_module_where_there_is_room() -> None:
    homeless = []
    for path in (PACKAGE / SHARED).glob("*.py"):
        needing = users(name_of(path))
        lines = sum(map(lines_of_code, (user.read_text() for user in needing)))
        if len(needing) == 1 and lines + BLANK + lines_besides_imports(path.read_text()) <= MOST_LINES:
            homeless.append(path.name)
    assert homeless == []


def test_what_is_shared_is_used() -> None:
    shared = [path for path in (PACKAGE / SHARED).glob("*.py") if path.name != "__init__.py"]
    assert [path.name for path in shared if not users(name_of(path))] == []
