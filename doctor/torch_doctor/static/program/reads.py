"""Which reads of a variable may see what one assignment gives it, as far as that can be told without executing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.program.expressions import Call, Display, Name, Star
from torch_doctor.static.program.functions import Function
from torch_doctor.static.program.statements import Assign, Augment, Break, Continue, For, Outer, Try, While, With
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_doctor.static.program.node import At, Node, Stmt

_ALL: Final = frozenset(("locals", "vars", "globals", "exec", "eval", "dir"))
"""Functions that may read any variable."""
_BLOCKS: Final = ("body", "other", "final")


def reads_of(body: Sequence[Stmt], statement: Stmt, name: str) -> list[Name] | None:
    """The reads of a variable, in the body of a function or file, that may see what a statement in it gives the variable.

    None where nobody can tell: functions that are defined inside name it, it belongs to a function around, or something may
    read any variable. What deletes it, or changes it in place, reads it.
    """
    inside = list(walk(*body))
    if any(_reads_unseen(node, name) for node in inside):
        return None
    bound = {id(each) for node in inside for each in targets(node)}
    found = [node for node in inside if isinstance(node, Name) and node.id == name and id(node) not in bound]
    since, until = statement.at[2:], _until(inside, body, statement, name)
    if until is not None:
        return [each for each in found if since <= each.at[:2] <= until]
    loops = [node.at[:2] for node in inside if isinstance(node, (For, While)) and is_within(statement, node)]
    since = min(since, *loops) if loops else since
    return [each for each in found if each.at[:2] >= since]


def targets(node: Node) -> list[Name]:
    """The variables that a statement binds, without reading them."""
    given = node.targets if isinstance(node, Assign) else (node.target,) if isinstance(node, (For, With)) else ()
    return [each for target in given if target is not None for each in _names(target)]


def is_within(inner: Node, outer: Node) -> bool:
    """Whether a node lies in another, or is the same."""
    return outer.at[:2] <= inner.at[:2] and inner.at[2:] <= outer.at[2:]


def _names(target: Node) -> Iterator[Name]:
    if isinstance(target, Name):
        yield target
    elif isinstance(target, Display):
        for item in target.items:
            yield from _names(item)
    elif isinstance(target, Star):
        yield from _names(target.value)


def _reads_unseen(node: Node, name: str) -> bool:
    if isinstance(node, Outer):
        return name in node.names
    if isinstance(node, Function):
        return any(isinstance(each, Name) and each.id == name for each in walk(node.body, node.decorators))
    return isinstance(node, Call) and isinstance(node.func, Name) and node.func.id in _ALL


def _until(inside: Iterable[Node], body: Sequence[Stmt], statement: Stmt, name: str) -> tuple[int, int] | None:
    """Where the variable surely has another value, if that is further down in the same block; None if nowhere."""
    block = next((each for each in (body, *_blocks(inside)) if any(one is statement for one in each)), ())
    behind = [each for each in block if each.at[:2] >= statement.at[2:]]
    for place, each in enumerate(behind):
        if any(target.id == name for target in targets(each) if isinstance(each, Assign)) or (
            isinstance(each, Augment) and each.rebinds and isinstance(each.target, Name) and each.target.id == name
        ):
            between = walk(*behind[:place])
            leaves = any(isinstance(node, (Break, Continue)) for node in between)
            tried = any(isinstance(node, Try) and is_within(statement, node) for node in inside)
            return None if leaves or tried else _end(each.at)
    return None


def _end(at: At) -> tuple[int, int]:
    return at[2], at[3]


def _blocks(inside: Iterable[Node]) -> Iterator[Sequence[Stmt]]:
    for node in inside:
        for slot in _BLOCKS:
            block = getattr(node, slot, ())
            if isinstance(block, tuple):
                yield block
        for handler in getattr(node, "handlers", ()):
            yield handler.body
