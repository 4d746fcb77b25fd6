"""Which names statements read and bind: what has to go into a function that is made of them, and what comes out."""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from tests.metamorphic.project import MARKS_AT_END, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, ast.ClassDef)
ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass
class Uses:
    """What statements do with names, in the order of the source."""

    exposed: dict[str, None] = field(default_factory=dict)
    """Read where the statements themselves may not have bound them yet."""
    read: dict[str, None] = field(default_factory=dict)
    """Read anywhere, also in the bodies of functions."""
    bound: dict[str, None] = field(default_factory=dict)
    """Bound on some path."""
    certain: set[str] = field(default_factory=set)
    """Bound on every path on which loops run at least once."""
    late: set[str] = field(default_factory=set)
    """Read in the body of a function that the statements define."""
    scoped: set[str] = field(default_factory=set)
    """Names of parameters, comprehensions and inner functions, which mean something else there."""
    leaves: bool = False
    """Control can leave other than by the end: `return`, `yield`, `await`, or a `break` of a loop outside."""
    declares: bool = False
    """`global`, `nonlocal`, `del` of a name or `import *`: moving the statements elsewhere would change their meaning."""


def tree_of(statements: Iterable[cst.CSTNode]) -> ast.Module:
    """The statements as Python's own tree."""
    code = "".join(text(statement) for statement in statements)
    lines = MARKS_AT_END.sub("", code)
    first = re.search(r"^(?!\s*(?:#|$))\s*", lines, re.MULTILINE)
    indent = first.group().rpartition("\n")[2] if first else ""
    return ast.parse(f"if 1:\n{lines}" if indent else lines)


def uses(statements: Sequence[cst.CSTNode]) -> Uses:
    found = Uses()
    found.certain = _Flow(found).block(tree_of(statements).body, set())
    return found


class _Flow:
    """One walk over statements, in the order in which they run."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._loops = 0

    def block(self, statements: Iterable[ast.stmt], bound: set[str]) -> set[str]:
        for statement in statements:
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, node: ast.stmt, bound: set[str]) -> set[str]:
        match node:
            case ast.If():
                self._expression(node.test, bound)
                bound = self._either(bound, node.body, node.orelse)
            case ast.For() | ast.AsyncFor():
                self._expression(node.iter, bound)
                bound = self._loop(node, self._target(node.target, bound))
            case ast.While():
                self._expression(node.test, bound)
                bound = self._loop(node, bound)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, bound)
                    bound = self._target(item.optional_vars, bound)
                bound = self.block(node.body, bound)
            case ast.Try():
                bound = self._try(node, bound)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound = self._definition(node, bound)
            case _:
                bound = self._simple(node, bound)
        return bound

    def _simple(self, node: ast.stmt, bound: set[str]) -> set[str]:
        match node:
            case ast.Assign():
                self._expression(node.value, bound)
                for target in node.targets:
                    bound = self._target(target, bound)
            case ast.AnnAssign():
                self._expression(node.value, bound)
                bound = self._target(node.target, bound) if node.value else bound
            case ast.AugAssign():
                self._read(node.target, bound)
                self._expression(node.value, bound)
                bound = self._target(node.target, bound)
            case ast.Import() | ast.ImportFrom():
                names = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
                self._uses.declares |= "*" in names
                bound = self._bind(names, bound)
            case ast.Global() | ast.Nonlocal() | ast.Delete():
                self._uses.declares = True
                self._expression(node, bound)
            case ast.Match():
                self._uses.declares = True
            case _:
                self._expression(node, bound)
                loop_inside = isinstance(node, (ast.Break, ast.Continue)) and self._loops
                self._uses.leaves |= isinstance(node, (ast.Return, ast.Break, ast.Continue)) and not loop_inside
        return bound

    def _either(self, bound: set[str], *branches: list[ast.stmt]) -> set[str]:
        ends = [self.block(branch, bound) for branch in branches]
        going_on = [
            end for branch, end in zip(branches, ends, strict=True) if not (branch and isinstance(branch[-1], ENDS))
        ]
        return set.intersection(*(going_on or ends))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, bound: set[str]) -> set[str]:
        self._loops += 1
        bound = self.block(node.body, bound)
        self._loops -= 1
        return self.block(node.orelse, bound)

    def _try(self, node: ast.Try, bound: set[str]) -> set[str]:
        done = self.block(node.orelse, self.block(node.body, bound))
        for handler in node.handlers:
            self._expression(handler.type, bound)
            caught = self._bind([handler.name] if handler.name else [], bound)
            end = self.block(handler.body, caught)
            done = done if handler.body and isinstance(handler.body[-1], ENDS) else done & end
        return self.block(node.finalbody, done)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, bound: set[str]) -> set[str]:
        for part in immediate(node):
            self._expression(part, bound)
        self._inner(node, bound)
        return self._bind([node.name], bound)

    def _inner(self, node: ast.AST, bound: set[str]) -> None:
        """The body of a function or class, which has names of its own."""
        own = set(_own_names(node))
        self._uses.scoped |= own
        for name in _names_read(node):
            if name not in own:
                self._uses.late.add(name)
                self._note(name, bound)

    def _target(self, node: ast.expr | None, bound: set[str]) -> set[str]:
        match node:
            case ast.Name():
                return self._bind([node.id], bound)
            case ast.Tuple() | ast.List():
                for element in node.elts:
                    bound = self._target(element, bound)
            case ast.Starred():
                return self._target(node.value, bound)
            case None:
                pass
            case _:
                self._expression(node, bound)
        return bound

    def _bind(self, names: Iterable[str], bound: set[str]) -> set[str]:
        names = list(names)
        self._uses.bound |= dict.fromkeys(names)
        return bound | set(names)

    def _read(self, node: ast.expr, bound: set[str]) -> None:
        if isinstance(node, ast.Name):
            self._note(node.id, bound)
        else:
            self._expression(node, bound)

    def _expression(self, node: ast.AST | None, bound: set[str]) -> None:  # noqa: C901 - one branch per sort of node
        match node:
            case None:
                return
            case ast.Name(id=name, ctx=ast.Load()):
                self._note(name, bound)
            case ast.NamedExpr():
                self._expression(node.value, bound)
                bound |= self._bind([node.target.id], bound)
            case ast.Lambda():
                for part in immediate(node):
                    self._expression(part, bound)
                self._inner(node, bound)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                own = set(_own_names(node))
                self._uses.scoped |= own
                for name in _names_read(node):
                    if name not in own:
                        self._note(name, bound)
            case ast.Yield() | ast.YieldFrom() | ast.Await():
                self._uses.leaves = True
            case _:
                for child in ast.iter_child_nodes(node):
                    self._expression(child, bound)

    def _note(self, name: str, bound: set[str]) -> None:
        self._uses.read[name] = None
        if name not in bound:
            self._uses.exposed[name] = None


def immediate(node: ast.AST) -> Iterator[ast.expr]:
    """What a definition evaluates where it stands: decorators, defaults, annotations and base classes."""
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords))
    elif isinstance(node, FUNCTIONS):
        yield from getattr(node, "decorator_list", ())
        yield from (*node.args.defaults, *(default for default in node.args.kw_defaults if default))
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        yield from (argument.annotation for argument in arguments if argument.annotation)
        if returns := getattr(node, "returns", None):
            yield returns


def read_at_definition(statements: Sequence[cst.CSTNode]) -> set[str]:
    """Names that definitions need when they are made, and not only when they are called."""
    names: set[str] = set()
    for node in ast.walk(tree_of(statements)):
        for part in immediate(node):
            names |= set(_names_read(part))
        if isinstance(node, ast.ClassDef):
            own = [statement for statement in node.body if not isinstance(statement, SCOPES)]
            names |= {name for statement in own for name in _names_read(statement)}
    return names


def _names_read(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child.id


def _own_names(node: ast.AST) -> Iterator[str]:
    """Every name that a function, class or comprehension binds somewhere inside of it."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.arg):
            yield child.arg
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and child is not node:
            yield child.name


class FreshNames:
    """Names that a module does not use, each given out once."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self._taken = set(re.findall(r"\w+", module.code))

    def __contains__(self, name: str) -> bool:
        return name not in self._taken

    def of(self, *wanted: str) -> str:
        """The first of these that is free, else one that is made of the last."""
        numbered = (f"{wanted[-1]}_{number}" for number in range(2, 1000))
        name = next(name for name in (*wanted, *numbered) if name in self and not keyword.iskeyword(name))
        self._taken.add(name)
        return name
