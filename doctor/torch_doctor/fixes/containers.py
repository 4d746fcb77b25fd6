"""Plain containers of layers and parameters, built as containers that register them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

DISPLAYS = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.ListComp, cst.DictComp)
MISSING = frozenset({"clear", "copy", "count", "index", "remove", "reverse", "sort"})
"""Methods of lists that `torch.nn.ModuleList` lacks."""


@made.register(edits.Register)
def _register(edit: edits.Register, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1:
        raise CannotEditError
    value, target = small.value, small.targets[0].target
    called = program.code(value.func) if isinstance(value, cst.Call) else ""
    mapping = isinstance(value, cst.Dict | cst.DictComp) or called == "dict"
    if not isinstance(value, DISPLAYS) and called not in ("list", "tuple", "dict"):
        raise CannotEditError
    if mapping and not _has_names(value):
        raise CannotEditError
    if isinstance(value, cst.List | cst.Tuple) and any(isinstance(each.value, DISPLAYS) for each in value.elements):
        raise CannotEditError
    if isinstance(value, cst.ListComp) and isinstance(value.elt, DISPLAYS):
        raise CannotEditError
    if not mapping and not all(_is_taken(call) for call in _calls_of(program, target)):
        raise CannotEditError
    code, imports = coded(program, f"$torch.nn.{edit.kind}{'Dict' if mapping else 'List'}")
    yield from imports
    start, end = program.outer(value)
    nothing = isinstance(value, cst.List | cst.Dict) and not value.elements
    if nothing or (called and not value.args):  # type: ignore[attr-defined]
        yield start, end, f"{code}()"
        return
    bare = isinstance(value, cst.Tuple) and not value.lpar
    yield start, start, f"{code}(" + "(" * bare
    yield end, end, ")" * bare + ")"


def _has_names(value: cst.BaseExpression) -> bool:
    """Whether all keys of a dict are strings that can be names of submodules."""
    if not isinstance(value, cst.Dict) or not value.elements:
        return False
    return all(
        isinstance(each, cst.DictElement)
        and isinstance(each.key, cst.SimpleString)
        and "." not in each.key.value
        and not isinstance(each.value, DISPLAYS)
        for each in value.elements
    )


def _calls_of(program: Program, target: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls of the methods of what an expression names, wherever in the file."""
    for node in program.nodes():
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.value.deep_equals(target):
            yield node


def _is_taken(call: cst.Call) -> bool:
    """Whether torch's container has the method, and takes what the call gives it."""
    assert isinstance(call.func, cst.Attribute)  # noqa: S101 - as `_calls_of` gives them
    nested = any(isinstance(arg.value, DISPLAYS) for arg in call.args)
    return call.func.attr.value not in MISSING and not (nested and call.func.attr.value in ("append", "insert"))


@made.register(edits.Buffer)
def _buffer(edit: edits.Buffer, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or isinstance(small.value, cst.Yield):
        raise CannotEditError
    target = small.targets[0].target
    if (
        not isinstance(target, cst.Attribute)
        or not isinstance(target.value, cst.Name)
        or target.attr.value != edit.name
    ):
        raise CannotEditError
    start, end = program.outer(small.value)
    yield program.start(small), start, f'{target.value.value}.register_buffer("{edit.name}", '
    yield end, end, ")"
