"""Where the statements of a script stand: in `main()`, in functions and classes, in several modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import IMPORT, block, body_of, is_simple, origins, statement, statements
from tests.metamorphic.names import FreshNames, read_at_definition, uses
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.metamorphic.names import Statement
    from tests.metamorphic.project import Origin

GUARD = m.If(
    test=m.Comparison(left=m.Name("__name__"), comparisons=[m.ComparisonTarget(m.Equal(), m.SimpleString())]),
    orelse=None,
)
CONDITIONAL_IMPORT = m.If(test=m.Name("TYPE_CHECKING") | m.Attribute(attr=m.Name("TYPE_CHECKING"))) | m.Try(
    body=m.IndentedBlock([m.ZeroOrMore(IMPORT)])
)
DEFINITION = m.FunctionDef() | m.ClassDef()
STAYS = IMPORT | CONDITIONAL_IMPORT | DEFINITION
NO_WORK = m.SimpleStatementLine([m.Expr(m.SimpleString() | m.ConcatenatedString()) | m.Pass()])


def split(module: cst.Module) -> tuple[list[Statement], list[Statement]] | None:
    """What stays at the top level of a script, and what can go into a function; nothing if that is not to be told.

    Imports and definitions stay, and so do the assignments that definitions need when they are made.
    """
    body: list[Statement] = list(module.body)
    if body and m.matches(body[-1], GUARD):
        inner = body_of(body[-1].body)  # type: ignore[arg-type]
        if inner is None:
            return None
        body = [*body[:-1], *inner]
    if any(m.matches(entry, GUARD) for entry in body) or m.findall(module, m.Call(func=m.Name("globals"))):
        return None
    definitions = [entry for entry in body if m.matches(entry, STAYS)]
    staying = {id(entry) for entry in body if m.matches(entry, STAYS | NO_WORK)}
    needed = read_at_definition(definitions)
    for entry in reversed(body):
        if id(entry) in staying:
            continue
        found = uses([entry])
        if needed & set(found.bound):
            if not is_simple(entry, cst.Assign) or m.findall(entry, m.Call()):
                return None
            staying.add(id(entry))
            needed |= set(found.read)
    stay = [entry for entry in body if id(entry) in staying]
    move = [entry for entry in body if id(entry) not in staying]
    return (stay, move) if _separable(stay, move) else None


def _separable(stay: Sequence[Statement], move: Sequence[Statement]) -> bool:
    if not move or uses(move).declares:
        return False
    if all(is_simple(entry, cst.Expr) for entry in move):
        return False  # what calls a function is left as it is
    return not set(uses(stay).bound) & set(uses(move).bound)


def into_function(module: cst.Module, *names: str) -> tuple[cst.Module, str, frozenset[Origin]] | None:
    """The script with its work in a function of the first of these names that is free, which nobody calls yet."""
    parts = split(module)
    if parts is None:
        return None
    stay, move = parts
    name = FreshNames(module).of(*names)
    shared = sorted(uses([entry for entry in stay if m.matches(entry, DEFINITION)]).late & set(uses(move).bound))
    declared = statements(f"global {', '.join(shared)}") if shared else []
    function = cst.ensure_type(statement(f"def {name}():\n    pass"), cst.FunctionDef)
    function = function.with_changes(
        body=block([*declared, *move]), leading_lines=[cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
    )
    return module.with_changes(body=[*stay, function]), name, origins(*move, *module.body[-1:])


class IntoMain(ModuleTransformation):
    """The work at the top level of a script goes into `main()`, which `if __name__ == "__main__"` calls.

    Functions that read what is now local to it find it by `global`. The call is where the work begins now.
    """

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        if (made := into_function(module, "main", "run_all")) is None:
            return module
        rewritten, name, began = made
        guarded = statement(f'if __name__ == "__main__":\n    {name}()', began)
        return rewritten.with_changes(body=[*rewritten.body, guarded])


class IntoUncalledFunction(ModuleTransformation):
    """The work at the top level of a script goes into a function that nobody in sight calls.

    Somebody elsewhere does, so what is wrong in it is as wrong as before.
    """

    kind: ClassVar[Kind] = Kind.KEPT
    runs = False
    unless: ClassVar[Mapping[str, str]] = {"TDR901": "a file that only defines functions is no script that sets seeds"}

    def rewrite(self, module: cst.Module) -> cst.Module:
        made = into_function(module, "experiment", "run_experiment")
        return module if made is None else made[0]


class OutOfMain(ModuleTransformation):
    """What stands in `main()` goes to the top level of the script, where it was called.

    It does not apply where other functions would see its variables.
    """

    kind: ClassVar[Kind] = Kind.KEPT
    unless: ClassVar[Mapping[str, str]] = {"TDR901": "it names the statement of the script that starts training"}

    def rewrite(self, module: cst.Module) -> cst.Module:
        called = _only_call(module)
        body = None if called is None else body_of(called.body)
        if called is None or body is None:
            return module
        found, rest = uses(body), [entry for entry in module.body[:-1] if entry is not called]
        if found.leaves or found.declares or set(found.bound) & (uses(rest).late | set(uses(rest).bound)):
            return module
        begun = body[0].with_changes(leading_lines=called.leading_lines)
        return module.with_changes(body=[*rest, begun, *body[1:]])


class MainUncalled(ModuleTransformation):
    """Nobody calls `main()` any more: somebody elsewhere does."""

    kind: ClassVar[Kind] = Kind.KEPT
    runs = False
    unless: ClassVar[Mapping[str, str]] = {"TDR901": "a file that only defines functions is no script that sets seeds"}

    def rewrite(self, module: cst.Module) -> cst.Module:
        return module if _only_call(module) is None else module.with_changes(body=module.body[:-1])


def _only_call(module: cst.Module) -> cst.FunctionDef | None:
    """The function of a script that is called without arguments at its end, and nowhere else."""
    body = list(module.body)
    while body and m.matches(body[-1], GUARD):
        body = [*body[:-1], *(body_of(cst.ensure_type(body[-1], cst.If).body) or [])]
    calling = m.SimpleStatementLine([m.Expr(m.Call(func=m.Name(), args=[]))])
    if not body or len(body) != len(module.body) or not m.matches(body[-1], calling):
        return None
    name = m.Name(cst.ensure_type(m.findall(body[-1], m.Name())[0], cst.Name).value)
    functions = [
        entry
        for entry in body
        if m.matches(entry, m.FunctionDef(name=name, decorators=[], params=m.Parameters(params=[])))
    ]
    if len(functions) != 1 or len(m.findall(module, name)) != 2:
        return None
    return cst.ensure_type(functions[0], cst.FunctionDef)
