"""Calls of methods put in as statements, of what is called otherwise where they are to stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import binds, function_of, holding, holds, inside, is_one
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import beginning, rows_at
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.blocks import Block
    from torch_doctor.fixes.program import Piece, Program
    from torch_doctor.trace import Site


@made.register(edits.Call)
def _call(edit: edits.Call, program: Program) -> Iterator[Piece]:
    name = _behind(edit.name, edit.calls, program)
    code = edit.code.replace("{}", name)
    statement = holding(program, edit.site)
    if edit.where == "first":
        if not isinstance(statement, cst.For | cst.While) or binds(program, statement, name):
            raise CannotEditError
        yield beginning(program, statement, code)
        return
    if edit.beside is not None:
        statement = _in_one_block(program, statement, holding(program, edit.beside))
    if holds(program, statement, edit.apart):
        raise CannotEditError
    function = function_of(program, statement)
    if edit.where == "function" and function is not None and not binds(program, function.body, name):
        yield beginning(program, function, code)
        return
    statement = _outermost(program, statement, name, edit.apart)
    if binds(program, statement, name):
        raise CannotEditError
    after = edit.where == "after"
    if after and any(isinstance(node, cst.Return) for node in inside(statement)):
        raise CannotEditError  # it would not always be reached
    row = program.end(statement)[0] + 1 if after else program.start(statement)[0]
    yield rows_at(program, row, [program.indent(program.start(statement)[0]) + code], behind=after)


@made.register(edits.Epoch)
def _epoch(edit: edits.Epoch, program: Program) -> Iterator[Piece]:
    loop, other = holding(program, edit.site), program.beside(edit.built.path)
    built = other.call(edit.built)
    given = {arg.keyword.value: arg.value for arg in built.args if arg.keyword is not None}
    if "batch_sampler" in given and _is_batch_sampler(other, given["batch_sampler"]):
        sampler = f"{_behind(edit.name, edit.calls, program)}.batch_sampler.sampler"
    elif "sampler" not in given:
        raise CannotEditError
    elif (
        program is other
        and isinstance(own := given["sampler"], cst.Name | cst.Attribute)
        and is_one(program, own, loop, built)
    ):
        sampler = program.code(own)
    else:
        sampler = f"{_behind(edit.name, edit.calls, program)}.sampler"
    number = _number(program, loop)
    if binds(program, loop, sampler) or binds(program, loop, edit.name):
        raise CannotEditError
    yield beginning(program, loop, f"{sampler}.set_epoch({number})")


def _is_batch_sampler(program: Program, value: cst.BaseExpression) -> bool:
    """Whether it is torch's own, which has the sampler as an attribute."""
    made = [
        node.value
        for node in program.nodes()
        if isinstance(node, cst.Assign) and node.targets[0].target.deep_equals(value)
    ]
    names = [cst.helpers.get_full_name_for_node(each.func) for each in (value, *made) if isinstance(each, cst.Call)]
    return len(names) == 1 and (names[0] or "").rpartition(".")[2] == "BatchSampler"


def _number(program: Program, loop: Block) -> str:
    """What counts the passes of a loop.

    Raises:
        CannotEditError: nothing does.
    """
    if isinstance(loop, cst.For) and isinstance(loop.target, cst.Name) and "range" in program.code(loop.iter):
        return loop.target.value
    if isinstance(loop, cst.While) and isinstance(loop.test, cst.Comparison) and isinstance(loop.test.left, cst.Name):
        counts = (each for each in inside(loop.body) if isinstance(each, cst.AugAssign))
        if any(each.target.deep_equals(loop.test.left) for each in counts):
            return loop.test.left.value
    raise CannotEditError


def _behind(name: str, calls: tuple[tuple[Site, Site], ...], program: Program) -> str:
    """What is called by a name behind some calls, as it is called before them.

    Raises:
        CannotEditError: it has no name there.
    """
    for site, entered in reversed(calls):
        name = _outside(name, program.beside(site.path), site, program.beside(entered.path), entered)
    return name


def _outermost(program: Program, statement: Block, name: str, apart: tuple[Site, ...]) -> Block:
    """The statement, or the outermost of the `with` blocks around it that neither bind the name nor hold what is apart."""
    while True:
        block = program.parent(statement)
        around = program.parent(block) if block is not None else None
        if not isinstance(around, cst.With) or holds(program, around, apart) or binds(program, around, name):
            return statement
        if not isinstance(program.parent(around), cst.IndentedBlock | cst.Module):
            return statement
        statement = around


def _in_one_block(program: Program, statement: Block, beside: Block) -> Block:
    """The statement or the one around it that stands in the block of another.

    Raises:
        CannotEditError: there is none.
    """
    for node in program.around(statement):
        if program.parent(node) is program.parent(beside):
            return node  # type: ignore[return-value]  # what stands in a block is a statement
    raise CannotEditError


def _outside(name: str, program: Program, site: Site, other: Program, entered: Site) -> str:
    """What a function at `entered` calls by a name, as it is called where the function is called.

    Raises:
        CannotEditError: it has no name there.
    """
    root = name.partition(".")[0].partition("[")[0]
    rest = name[len(root) :]
    function, call = holding(other, entered), program.call(site)
    if not isinstance(function, cst.FunctionDef) or any(arg.star for arg in call.args):
        raise CannotEditError
    if binds(other, function.body, root):
        raise CannotEditError
    params = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
    method = isinstance(other.parent(other.parent(function) or function), cst.ClassDef)
    if method and params[:1] == [root]:
        if not isinstance(call.func, cst.Attribute):
            raise CannotEditError
        return _path(program, call.func.value) + rest
    params = params[method:]
    by_name = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == root]
    plain = [arg for arg in call.args if arg.keyword is None]
    if by_name:
        return _path(program, by_name[0].value) + rest
    if root in params:
        if params.index(root) >= len(plain):
            raise CannotEditError
        return _path(program, plain[params.index(root)].value) + rest
    if program is not other or root in {each.name.value for each in function.params.kwonly_params}:
        raise CannotEditError
    return name


def _path(program: Program, value: cst.BaseExpression) -> str:
    """The text of a name, or of an attribute of one."""
    if not cst.helpers.get_full_name_for_node(value) or not isinstance(value, cst.Name | cst.Attribute):
        raise CannotEditError
    return program.code(value)
