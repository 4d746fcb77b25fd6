"""Statements taken out of a script, to go into a function of their own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import IMPORT, block, body_of, origins, statement
from tests.metamorphic.names import FreshNames, tree_of, uses
from tests.metamorphic.project import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metamorphic.names import Statement
    from tests.metamorphic.project import Origin

DEFINITION = m.FunctionDef() | m.ClassDef()
SUPER = m.Call(func=m.Name("super"), args=[])

Chooser = Callable[["Sequence[Statement]"], tuple[int, int] | None]


@dataclass(frozen=True)
class Extracted:
    """Statements, the names they need, and the names that are needed of them."""

    statements: list[Statement]
    needs: list[str]
    gives: list[str]

    @property
    def origins(self) -> frozenset[Origin]:
        return origins(*self.statements)

    def function(self, name: str) -> cst.FunctionDef:
        """A function of the statements, which takes what they need and returns what is needed."""
        made = statement(f"def {name}({', '.join(self.needs)}):\n    pass", self.origins)
        returned = [statement(f"return {', '.join(self.gives)}", self.origins)] if self.gives else []
        function = cst.ensure_type(made, cst.FunctionDef)
        return function.with_changes(body=block([*self.statements, *returned]))

    def call(self, called: str) -> Statement:
        """The call that stands where the statements stood, given what is called and its arguments."""
        return statement(f"{', '.join(self.gives)} = {called}" if self.gives else called, self.origins)


@dataclass
class _Scope:
    """What the statements of a function, or of the script itself, can see."""

    captured: set[str]
    passed: Callable[[str], bool]


class Extraction:
    """Takes out of a module every run of statements that is chosen, and puts something else there.

    `choose` gets the statements of each block and says from where to where; `replace` gets what was taken and says what
    stands in its place.
    """

    def __init__(
        self,
        module: cst.Module,
        choose: Chooser,
        replace: Callable[[Extracted], Statement],
        *,
        methods: bool = True,
    ) -> None:
        self._methods = methods
        self._module = module
        self._choose = choose
        self._replace = replace
        self._scope = _Scope(set(), bool)
        self.done = False

    def run(self) -> cst.Module:
        """The module without the statements; the same one if none was chosen."""
        entries = [self._definition(entry) for entry in self._module.body]
        script = [entry for entry in entries if not m.matches(entry, DEFINITION)]
        definitions = [entry for entry in entries if m.matches(entry, DEFINITION)]
        known = set(uses(definitions).bound) | set(uses([entry for entry in script if m.matches(entry, IMPORT)]).bound)
        known |= set(dir(builtins)) - set(uses(script).bound)
        self._scope = _Scope(uses(definitions).late, lambda name: name not in known)
        entries = self._block(entries, set(), set())
        return self._module.with_changes(body=entries) if self.done else self._module

    def _definition(self, node: Statement) -> Statement:
        """A function or class of the script, with its own statements looked through."""
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef)) or not isinstance(node.body, cst.IndentedBlock):
            return node
        body = body_of(node.body) or []
        if isinstance(node, cst.ClassDef):
            if not self._methods:
                return node
            return node.with_changes(body=block([self._definition(entry) for entry in body], like=node.body))
        if m.findall(node, SUPER | m.Global() | m.Nonlocal()):
            return node
        (function,) = tree_of([node]).body
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        arguments = {child.arg for child in ast.walk(function.args) if isinstance(child, ast.arg)}
        found = uses(body)
        local = arguments | set(found.bound)
        self._scope = _Scope(found.late, local.__contains__)
        return node.with_changes(body=block(self._block(body, arguments, set()), like=node.body))

    def _block(self, entries: list[Statement], bound: set[str], after: set[str]) -> list[Statement]:
        """A block, where `bound` has a value before it and `after` may be read after it."""
        chosen = self._choose(entries)
        if chosen is not None:
            begin, end = chosen
            before = bound | uses(entries[:begin]).certain
            taken = self._taken(entries[begin:end], before, after | set(uses(entries[end:]).exposed))
            if taken is not None:
                self.done = True
                made = self._replace(taken).with_changes(leading_lines=entries[begin].leading_lines)
                return [*entries[:begin], made, *entries[end:]]
        looked = []
        for position, entry in enumerate(entries):
            looked.append(self._compound(entry, bound, after | set(uses(entries[position + 1 :]).exposed)))
            bound = bound | uses([entry]).certain
        return looked

    def _compound(self, node: Statement, bound: set[str], after: set[str]) -> Statement:
        if not isinstance(node, (cst.For, cst.While, cst.With, cst.If)):
            return node
        body = body_of(node.body)
        if body is None:
            return node
        if isinstance(node, (cst.For, cst.While)):
            after = after | set(uses([node]).exposed) | set(uses(body).exposed)
        rest = {} if isinstance(node, cst.With) else {"orelse": None}
        head = uses([node.with_changes(body=block([statement("pass")]), **rest)])
        made = node.with_changes(body=block(self._block(body, bound | head.certain, after), like=node.body))
        orelse = None if isinstance(made, cst.With) else made.orelse
        if isinstance(orelse, cst.Else) and (other := body_of(orelse.body)) is not None:
            made = made.with_changes(orelse=orelse.with_changes(body=block(self._block(other, bound, after))))
        return made

    def _taken(self, entries: list[Statement], before: set[str], after: set[str]) -> Extracted | None:
        """What the statements need and give; nothing if they cannot stand elsewhere."""
        found = uses(entries)
        needs = [name for name in found.exposed if self._scope.passed(name)]
        gives = [name for name in found.bound if name in after]
        if found.leaves or found.declares or set(found.bound) & self._scope.captured:
            return None
        if not set(needs) <= before or not set(gives) <= found.certain | set(needs) or "self" in found.bound:
            return None
        return Extracted([entries[0].with_changes(leading_lines=[]), *entries[1:]], needs, gives)


def with_definitions(module: cst.Module, definitions: Sequence[Statement]) -> cst.Module:
    """The module with functions or classes added before the first statement that is no import."""
    body = list(module.body)
    last = max((i for i, entry in enumerate(body) if m.matches(entry, IMPORT)), default=-1)
    if last < 0 and body and m.matches(body[0], m.SimpleStatementLine([m.Expr(m.SimpleString())])):
        last = 0
    blank = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
    added = [definition.with_changes(leading_lines=blank) for definition in definitions]
    return module.with_changes(body=[*body[: last + 1], *added, *body[last + 1 :]])


def into_functions(module: cst.Module, choose: Chooser, *names: str) -> cst.Module:
    """The module with every chosen run of statements in a function of its own."""
    fresh, functions = FreshNames(module), []

    def replace(taken: Extracted) -> Statement:
        name = fresh.of(*names)
        functions.append(taken.function(name))
        return taken.call(f"{name}({', '.join(taken.needs)})")

    extraction = Extraction(module, choose, replace)
    return with_definitions(rewritten, functions) if (rewritten := extraction.run()) is not module else module


def contains(node: cst.CSTNode, method: str) -> bool:
    """Whether a method of this name is called somewhere inside."""
    return method in text(node) and bool(m.findall(node, m.Call(func=m.Attribute(attr=m.Name(method)))))


def is_call_of(node: Statement, *methods: str) -> bool:
    """Whether a statement is nothing but a call of one of these methods."""
    return any(
        m.matches(node, m.SimpleStatementLine([m.Expr(m.Call(func=m.Attribute(attr=m.Name(name))))]))
        for name in methods
    )
