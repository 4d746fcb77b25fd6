"""Results that take the name of what was called, under a name of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

Named = cst.Name | cst.Attribute


@made.register(edits.Rename)
def _rename(edit: edits.Rename, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    target = _own_name(small)
    scope = _scope(program, small)
    taken = {node.value for node in inside(scope) if isinstance(node, cst.Name) and is_variable(program, node)}
    name = next((each for each in edit.names if each not in taken), None)
    if target is None or name is None or any(isinstance(node, cst.Global | cst.Nonlocal) for node in inside(scope)):
        raise CannotEditError
    for node in program.nodes():
        if isinstance(node, cst.Name | cst.Attribute) and node.deep_equals(target) and is_variable(program, node):
            if _scope(program, node) is scope:
                renamed = _is_result(program, node, small)
            else:
                renamed = False
                _stays_what_it_was(program, node, scope)
            if renamed:
                yield program.start(node), program.end(node), name


def _own_name(small: cst.BaseSmallStatement) -> Named | None:
    """What the statement assigns to, where that is what it calls."""
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or not isinstance(small.value, cst.Call):
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Name | cst.Attribute) or not target.deep_equals(small.value.func):
        return None
    return target


def is_variable(program: Program, node: Named) -> bool:
    """Whether it is no attribute of something else, and no keyword."""
    parent = program.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr is not node
    return not (isinstance(parent, cst.Arg) and parent.keyword is node)


def _scope(program: Program, node: cst.CSTNode) -> cst.CSTNode:
    """The function around a node, or the file."""
    scopes = (cst.FunctionDef, cst.Lambda)
    return next((each for each in program.around(node) if isinstance(each, scopes) and each is not node), program.tree)


def _loop(program: Program, node: cst.CSTNode, scope: cst.CSTNode) -> cst.CSTNode:
    """The innermost loop around a node in its scope, or the scope."""
    for each in program.around(node):
        if each is scope or isinstance(each, cst.For | cst.While):
            return each
    return scope


def _is_result(program: Program, node: Named, small: cst.BaseSmallStatement) -> bool:
    """Whether a name means the result of the statement, and not what the statement calls.

    Raises:
        CannotEditError: it may mean either.
    """
    parent = program.parent(node)
    if isinstance(parent, cst.Call) and parent.func is node:
        return False
    if isinstance(parent, cst.AssignTarget):
        statement = program.parent(parent)
        if isinstance(statement, cst.Assign) and _own_name(statement) is not None:
            return True
        if program.start(node) < program.start(small):
            return False
        raise CannotEditError
    if isinstance(parent, cst.AnnAssign | cst.AugAssign | cst.For | cst.Param | cst.Del | cst.AsName):
        raise CannotEditError
    scope = _scope(program, small)
    loop = _loop(program, small, scope)
    together = loop in program.around(node)
    if program.start(node) < program.start(small):
        if together and loop is not scope:
            raise CannotEditError  # the result of the pass before, or what is called
        return False
    if together or (isinstance(parent, cst.Attribute) and parent.value is node):
        return True
    raise CannotEditError


def _stays_what_it_was(program: Program, node: Named, scope: cst.CSTNode) -> None:
    """Check that a name in another function means no result of this one.

    Raises:
        CannotEditError: it may.
    """
    parent, other = program.parent(node), _scope(program, node)
    if isinstance(parent, cst.AssignTarget | cst.Param) or (isinstance(parent, cst.Call) and parent.func is node):
        return
    if isinstance(node, cst.Attribute):
        shared = _class(program, node) is _class(program, scope)
    else:
        own = {each.name.value for each in inside(other) if isinstance(each, cst.Param)}
        shared = node.value not in own and (scope is program.tree or scope in program.around(other))
    if shared:
        raise CannotEditError


def _class(program: Program, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((each for each in program.around(node) if isinstance(each, cst.ClassDef)), None)
