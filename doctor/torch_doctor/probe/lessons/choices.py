"""Settings whose value the script refuses, although it names others that it takes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.probe.lessons.lesson import Failure
    from torch_doctor.trace import Site

Setting = ast.Attribute | ast.Name
IS, IS_NOT = (ast.Eq, ast.In), (ast.NotEq, ast.NotIn)


def read(failure: Failure) -> Lesson | None:
    """The first value that the tests around a `raise` take of a setting, or that a dictionary knows which it selects from."""
    if not failure.end.frames:
        return None
    site = failure.end.frames[-1].site
    if failure.is_a("KeyError"):
        wanted = iter(()) if failure.guessed() else _selected(failure)  # a word that was made up is no setting
    else:
        wanted = _tested(failure, site.row, failure.text(site.path)) if failure.line.startswith("raise") else iter(())
    for setting, values in wanted:
        refused = failure.terms.get(ast.unparse(setting), ...)
        if refused in values or not isinstance(refused, (str, int, type(None))):
            continue
        if not failure.knows("argument", _name(setting)):
            return Lesson("argument", _name(setting), values[0], f"`{ast.unparse(setting)}` is {values[0]!r}")
    return None


def _selected(failure: Failure) -> Iterator[tuple[Setting, list[str | int]]]:
    """The attributes by which the line that failed selects from a dictionary of the script, and the keys of that."""
    for node in ast.walk(parsed(failure.line) or ast.Pass()):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Attribute):
            values = list(_values(node.value, failure))
            if values:
                yield node.slice, values


def leading(failure: Failure, site: Site) -> Lesson | None:
    """The value of a setting with which the tests around a line lead there."""
    for setting, values in _tested(failure, site.row, failure.text(site.path), there=True):
        if not failure.knows("argument", _name(setting)):
            return Lesson("argument", _name(setting), values[0], f"`{ast.unparse(setting)}` is {values[0]!r}")
    return None


def _name(setting: Setting) -> str:
    """What the option is called: a parameter that has its value mostly has its name."""
    return setting.attr if isinstance(setting, ast.Attribute) else setting.id


def _tested(failure: Failure, row: int, text: str, *, there: bool = False) -> Iterator[tuple[Setting, list[str | int]]]:
    """The attributes and variables that the tests which lead to a line compare, with the values that lead elsewhere, or `there`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    found: dict[str, tuple[Setting, list[str | int]]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        taken, other = (IS, IS_NOT) if there else (IS_NOT, IS)
        kinds = other if _holds(node.orelse, row) else taken if _holds(node.body, row) else ()
        for each in ast.walk(node.test):
            if (
                isinstance(each, ast.Compare)
                and isinstance(each.left, (ast.Attribute, ast.Name))
                and isinstance(each.ops[0], kinds)
            ):
                values = _values(each.comparators[0], failure)
                found.setdefault(ast.unparse(each.left), (each.left, []))[1].extend(values)
    yield from (each for each in found.values() if each[1])


def _holds(body: list[ast.stmt], row: int) -> bool:
    return bool(body) and body[0].lineno <= row <= (body[-1].end_lineno or 0)


def _values(node: ast.expr, failure: Failure) -> Iterator[str | int]:
    """The texts and whole numbers in a list, or among the keys of a dictionary, by the source or by what the run has seen."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
        node = node.func.value
    known = failure.terms.get(ast.unparse(node))
    found: Iterable[object] = known["keys"] if isinstance(known, dict) and "keys" in known else ()
    if isinstance(known, list):
        found = known
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Constant)):
        parts = [node] if isinstance(node, ast.Constant) else node.elts
        found = [part.value for part in parts if isinstance(part, ast.Constant)]
    yield from (each for each in found if isinstance(each, (str, int)) and not isinstance(each, bool))
