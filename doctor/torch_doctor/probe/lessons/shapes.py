"""Sizes that do not fit: arrays of files that are not there, and sizes that were made up for arguments."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from torch_doctor.probe.lessons.lesson import Lesson, numbers, parsed

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure
    from torch_doctor.trace import StandIn

ARRAY = re.compile(r"random numbers (\d+(?:×\d+)*)$")
PRODUCT = re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
ROWS = 512  # of an array of which nothing says how many it has


def read(failure: Failure) -> Lesson | None:
    """A test of a shape that failed, or a size that a layer does not take."""
    return _tested(failure) or _of_argument(failure)


def _tested(failure: Failure) -> Lesson | None:
    """An assertion on the shape of an array says what shape it has to have."""
    statement = parsed(failure.line)
    if not failure.is_a("AssertionError") or not isinstance(statement, ast.Assert):
        return None
    for stand_in in failure.guessed():
        found = ARRAY.match(stand_in.how)
        if found is None or not failure.feeds(stand_in):
            continue
        shape = _demanded(statement.test, failure, numbers(found[1]))
        if shape and shape != numbers(found[1]):
            return _array(stand_in, shape)
    return None


def _array(stand_in: StandIn, shape: list[int]) -> Lesson:
    words = f"`{stand_in.what}` is an array of shape {'×'.join(map(str, shape))}"
    return Lesson("array", stand_in.what, shape, words)


def _demanded(test: ast.expr, failure: Failure, now: list[Any]) -> list[Any]:
    """The shape with which a test holds, as far as it is one of shapes."""
    shape: list[Any] = list(now)
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for each in tests:
        if not isinstance(each, ast.Compare) or len(each.ops) != 1 or not isinstance(each.ops[0], ast.Eq):
            continue
        wanted = _value(each.comparators[0], failure)
        left = each.left
        begin, place = 0, None
        if isinstance(left, ast.Subscript):
            begin, place = _place(left.slice)
            left = left.value
        name = left.attr if isinstance(left, ast.Attribute) else ""
        if name == "ndim" and isinstance(wanted, int):
            shape = [*shape, *[shape[-1]] * wanted][:wanted]
        elif name == "shape" and isinstance(wanted, list) and place is None:
            shape = [*shape[:begin], *wanted]
        elif name == "shape" and isinstance(wanted, int) and place is not None:
            shape = [*shape, *[1] * (place + 1)][: max(len(shape), place + 1)]
            shape[place] = wanted
    return shape if all(type(side) is int and side > 0 for side in shape) else []


def _place(node: ast.expr) -> tuple[int, int | None]:
    """Where a slice begins, or which place an index takes."""
    if isinstance(node, ast.Slice):
        lower = node.lower
        return (lower.value if isinstance(lower, ast.Constant) and isinstance(lower.value, int) else 0), None
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return 0, node.value
    return 0, None


def _value(node: ast.expr, failure: Failure) -> Any:  # noqa: ANN401 - numbers, or a list of them
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return [_value(each, failure) for each in node.elts]
    return failure.terms.get(ast.unparse(node))


def _of_argument(failure: Failure) -> Lesson | None:
    """A size that was made up for an argument, and for which a layer wants another one."""
    found = PRODUCT.search(failure.words)
    if found is None:
        return None
    got, wanted = int(found[2]), int(found[3])
    for stand_in in failure.run.stand_ins:
        option, _, value = stand_in.what.rpartition(" ")
        name = option.lstrip("-").replace("-", "_")
        for old, new in ((got, wanted), (wanted, got)):
            if "arguments" in stand_in.voids and value == str(old) and not failure.knows("argument", name):
                return Lesson("argument", name, str(new), f"`{option}` is {new}")
    return None
