"""Which names of a function's body have no influence on anything else, and which slices are kept under such a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torch_doctor.static.program.expressions import (
    Attribute,
    Call,
    Comprehension,
    Const,
    Display,
    Index,
    Name,
    Opaque,
    Slice,
    Walrus,
    Yield,
)
from torch_doctor.static.program.functions import Function
from torch_doctor.static.program.statements import (
    Annotate,
    Assign,
    Augment,
    Evaluate,
    For,
    If,
    Outer,
    Raise,
    While,
    With,
)
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.static.program.node import Expr, Node, Stmt

_OF_NO_NUMBER = frozenset(("shape", "size", "dim", "ndim", "device", "dtype"))
"""What asks of a tensor something other than its numbers."""


Ignored: TypeAlias = "Callable[[Call], list[Name]]"
"""Which names among the arguments of a call go into nothing there."""


class KeptSlice(NamedTuple):
    """A slice of a parameter that is assigned to a name as it is."""

    name: str
    taken: Index
    parameter: str


def names_in(*roots: object, ignored: Ignored | None = None) -> set[str]:
    """All names that are written in nodes, but for those in arguments that are ignored."""
    nodes = list(walk(*roots))
    found = {node.id for node in nodes if isinstance(node, Name)}
    if ignored is None or not found:
        return found
    left_out = [argument for node in nodes if isinstance(node, Call) for argument in ignored(node)]
    if not left_out:
        return found
    dropped = {id(node) for node in walk(*left_out)}
    return {node.id for node in nodes if isinstance(node, Name) and id(node) not in dropped}


def alone(function: Function, pure: Callable[[Call], bool]) -> bool:
    """Whether a body only computes what it returns: it keeps nothing, and calls nothing else."""
    for node in walk(function.body):
        if isinstance(node, Assign) and not all(map(_is_local, node.targets)):
            return False
        if isinstance(node, Augment) and not (node.rebinds and isinstance(node.target, Name)):
            return False
        if isinstance(node, (Yield, Function)) or (isinstance(node, Call) and not pure(node)):
            return False
    return True


def influential(function: Function, pure: Callable[[Call], bool], ignored: Ignored | None = None) -> set[str]:
    """The names in a body whose values go into what it returns, decides, keeps or gives to others.

    `pure` says of a call whether all that it does is to return something, and `ignored` which of its arguments go into
    nothing. What is unknown goes into everything.
    """
    reader = _Reader(pure, ignored)
    reader.read(function.body)
    return reader.reached()


def never_read(body: tuple[Stmt, ...], name: str) -> bool:
    """Whether a body only assigns to a name and adds to it, and does nothing with its value."""
    nodes = list(walk(*body))
    if any(isinstance(node, Outer) and name in node.names for node in nodes):
        return False
    targets = [node.target for node in nodes if isinstance(node, Augment)]
    targets += [
        part for node in nodes if isinstance(node, Assign) for target in node.targets for part in _parts(target)
    ]
    stored = sum(isinstance(each, Name) and each.id == name for each in targets)
    return stored == sum(isinstance(node, Name) and node.id == name for node in nodes)


def overwritten(function: Function) -> Iterator[str]:
    """The parameters that are assigned anew before anything reads them."""
    waiting = {each.name for each in function.parameters}
    for statement in function.body:
        if isinstance(statement, Assign) and len(statement.targets) == 1:
            waiting -= names_in(statement.value)
            found = {each.id for each in _parts(statement.targets[0]) if isinstance(each, Name)} & waiting
            yield from sorted(found)
            waiting -= found
        waiting -= names_in(statement)


def kept_slices(function: Function) -> Iterator[KeptSlice]:
    """The slices of parameters that are kept under a name of their own, where nothing else reads those elements."""
    parameters = {each.name for each in function.parameters[1:]}
    nodes = list(walk(function.body))
    names = [node.id for node in nodes if isinstance(node, Name)]
    asked = [path_of(node.value) for node in nodes if isinstance(node, Attribute) and node.name in _OF_NO_NUMBER]
    taken = [node for node in nodes if isinstance(node, Index) and isinstance(node.value, Name)]
    for name, value in (pair for node in nodes if isinstance(node, Assign) for pair in _pairs(node)):
        of = value.value.id if isinstance(value, Index) and isinstance(value.value, Name) else ""
        if of not in parameters or not isinstance(value, Index):
            continue
        others = [each for each in taken if isinstance(each.value, Name) and each.value.id == of and each is not value]
        if names.count(of) != 1 + len(others) + asked.count(of) or not others:
            continue
        if _takes_all_rows(value) and all(_apart(value, other) for other in others):
            yield KeptSlice(name, value, of)


class _Reader:
    """Gathers which names are read for good, and which values go into which names."""

    def __init__(self, pure: Callable[[Call], bool], ignored: Ignored | None) -> None:
        self._pure = pure
        self._ignored = ignored
        self._live: set[str] = set()
        self._links: list[tuple[set[str], set[str]]] = []

    def read(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            if isinstance(statement, Assign):
                self._assigned(statement)
            elif isinstance(statement, Augment) and statement.rebinds and isinstance(statement.target, Name):
                self._given([statement.target.id], [statement.value, statement.target])
            elif isinstance(statement, Evaluate):
                self._given([], [statement.value])
            elif isinstance(statement, If):
                self._live |= self._names(statement.test)
                self.read(statement.body)
                self.read(statement.other)
            elif isinstance(statement, (For, While)):
                self._live |= self._names(statement.over if isinstance(statement, For) else statement.test)
                self.read(statement.body)
                self.read(statement.other)
            elif isinstance(statement, With):
                self._live |= self._names(statement.context)
                self.read(statement.body)
            elif not isinstance(statement, (Annotate, Raise)):
                self._live |= self._names(statement)

    def reached(self) -> set[str]:
        """All names from which something goes where it counts."""
        size = -1
        while size != len(self._live):
            size = len(self._live)
            for targets, sources in self._links:
                if targets & self._live:
                    self._live |= sources.union(targets)
        return self._live

    def _assigned(self, statement: Assign) -> None:
        for target in statement.targets:
            if not _is_local(target):
                self._live |= self._names(target, statement.value)
        pairs = list(_pairs(statement))
        if pairs:
            for name, value in pairs:
                self._given([name], [value])
        else:
            targets = [part for target in statement.targets for part in _parts(target)]
            self._given([part.id for part in targets if isinstance(part, Name)], [statement.value])

    def _names(self, *roots: object) -> set[str]:
        return names_in(*roots, ignored=self._ignored)

    def _given(self, targets: list[str], values: list[Expr]) -> None:
        """Values go into names; one with an underscore says that it is left alone on purpose."""
        sources = self._names(*values)
        if any(map(self._does_more, walk(*values))):
            self._live |= sources
        if any(name.startswith("_") for name in targets):
            self._live |= sources.union(targets)
        self._links.append((set(targets), sources))

    def _does_more(self, node: Node) -> bool:
        if isinstance(node, Call):
            return not self._pure(node)
        return isinstance(node, (Yield, Walrus, Function, Opaque, Comprehension))


def _pairs(statement: Assign) -> Iterator[tuple[str, Expr]]:
    """The names that a statement assigns to one by one, each with its value."""
    if len(statement.targets) != 1:
        return
    targets = _parts(statement.targets[0])
    values = _parts(statement.value) if len(targets) > 1 else [statement.value]
    names = [each.id for each in targets if isinstance(each, Name)]
    if len(targets) == len(values) == len(names):
        yield from zip(names, values, strict=True)


def _parts(expression: Expr) -> list[Expr]:
    return list(expression.items) if isinstance(expression, Display) else [expression]


def _is_local(target: Expr) -> bool:
    return all(isinstance(each, Name) for each in _parts(target))


def _takes_all_rows(taken: Index) -> bool:
    first, *rest = _parts(taken.key)
    return isinstance(first, Slice) and first.lower is first.upper is first.step is None and bool(rest)


def _apart(one: Index, other: Index) -> bool:
    """Whether two keys have no element in common."""
    left, right = _parts(one.key), _parts(other.key)
    return len(left) == len(right) and any(map(_differ, left, right))


def _differ(left: Expr, right: Expr) -> bool:
    (low, high), (from_, until) = _range(left), _range(right)
    return _before(high, from_) or _before(until, low)


def _range(key: Expr) -> tuple[Expr | int | None, Expr | int | None]:
    """What a part of a key takes: from where, and until where."""
    if isinstance(key, Slice):
        return (key.lower, key.upper) if key.step is None else (None, None)
    number = _number(key)
    return (number, number + 1) if number is not None and number >= 0 else (None, None)


def _before(until: Expr | int | None, start: Expr | int | None) -> bool:
    """Whether a range surely ends where, or before, another begins."""
    one, other = _number(until), _number(start)
    if one is not None and other is not None:
        return 0 <= one <= other
    return bool(isinstance(until, (Name, Attribute)) and path_of(until) and path_of(until) == _path(start))


def _path(expression: Expr | int | None) -> str:
    return path_of(expression) if isinstance(expression, (Name, Attribute)) else ""


def _number(expression: Expr | int | None) -> int | None:
    if isinstance(expression, int):
        return expression
    value = expression.value if isinstance(expression, Const) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
