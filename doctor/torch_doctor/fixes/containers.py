"""Plain containers of layers and parameters, built as containers that register them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import function_of, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

DISPLAYS = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.ListComp, cst.DictComp)
MISSING = frozenset({"clear", "copy", "count", "index", "remove", "reverse", "sort"})
"""Methods of lists that `torch.nn.ModuleList` lacks."""
MISSING_IN_DICT = frozenset({"copy", "fromkeys", "get", "popitem", "setdefault"})
"""Methods of dicts that `torch.nn.ModuleDict` lacks."""


@made.register(edits.Register)
def _register(edit: edits.Register, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1:
        raise CannotEditError
    value, target = small.value, small.targets[0].target
    shown = _filled_before(program, value) if isinstance(value, cst.Name) else value
    called = program.code(shown.func) if isinstance(shown, cst.Call) else ""
    mapping = isinstance(shown, cst.Dict | cst.DictComp) or called == "dict"
    if not isinstance(shown, DISPLAYS) and called not in ("list", "tuple", "dict"):
        raise CannotEditError
    if mapping and not (edit.named or _has_names(shown)):
        raise CannotEditError
    if isinstance(shown, cst.List | cst.Tuple) and any(isinstance(each.value, DISPLAYS) for each in shown.elements):
        raise CannotEditError
    if isinstance(shown, cst.ListComp | cst.DictComp) and isinstance(_element(shown), DISPLAYS):
        raise CannotEditError
    if not all(_is_taken(call, edit.kind, mapping=mapping) for call in _calls_of(program, target, value)):
        raise CannotEditError
    code, imports = coded(program, f"$torch.nn.{edit.kind}{'Dict' if mapping else 'List'}")
    yield from imports
    start, end = program.outer(value)
    nothing = isinstance(value, cst.List | cst.Dict) and not value.elements
    if nothing or (value is shown and called and not value.args):  # type: ignore[attr-defined]
        yield start, end, f"{code}()"
        return
    bare = isinstance(value, cst.Tuple) and not value.lpar
    yield start, start, f"{code}(" + "(" * bare
    yield end, end, ")" * bare + ")"


def _element(comprehension: cst.ListComp | cst.DictComp) -> cst.BaseExpression:
    return comprehension.elt if isinstance(comprehension, cst.ListComp) else comprehension.value


def _filled_before(program: Program, name: cst.Name) -> cst.BaseExpression:
    """What a local name stands for that is filled above, in the same function, and not used any more afterwards.

    Raises:
        CannotEditError: the source does not show it.
    """
    function = function_of(program, name)
    uses = [
        node for node in inside(function or program.tree) if isinstance(node, cst.Name) and node.value == name.value
    ]
    made_of = [
        statement.value
        for node in uses
        if isinstance(statement := program.parent(program.parent(node) or node), cst.Assign)
        and isinstance(program.parent(node), cst.AssignTarget)
    ]
    stored = [node for node in uses if isinstance(program.parent(node), cst.AssignTarget | cst.AugAssign | cst.For)]
    again = any(isinstance(each, cst.For | cst.While) for each in program.around(name))
    if function is None or again or len(made_of) != 1 or len(stored) != 1:
        raise CannotEditError
    if any(program.start(node) > program.start(name) for node in uses):
        raise CannotEditError
    return made_of[0]


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


def _calls_of(program: Program, target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls of the methods of what two expressions name, wherever in the file."""
    for node in program.nodes():
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            owner = node.func.value
            if owner.deep_equals(value) or _is_attribute(owner, target):
                yield node


def _is_attribute(owner: cst.BaseExpression, target: cst.BaseExpression) -> bool:
    """Whether an expression is the target, or the attribute of another object that is called the same."""
    if isinstance(owner, cst.Attribute) and isinstance(target, cst.Attribute):
        return owner.attr.value == target.attr.value
    return owner.deep_equals(target)


def _is_taken(call: cst.Call, kind: str, *, mapping: bool) -> bool:
    """Whether torch's container has the method, and takes what the call gives it."""
    assert isinstance(call.func, cst.Attribute)  # noqa: S101 - as `_calls_of` gives them
    name = call.func.attr.value
    if mapping:
        return kind == "Parameter" or name not in MISSING_IN_DICT
    nested = any(isinstance(arg.value, DISPLAYS) for arg in call.args)
    return name not in MISSING and not (nested and name in ("append", "insert"))


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
