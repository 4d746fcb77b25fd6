"""Finds what a test in a function decides: which of the values at hand is returned, or more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.expressions import Attribute, Call, Choice, Const, Dict, Display, Name, Star
from torch_doctor.static.program.statements import If, Return
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.static.program.node import Expr, Node, Stmt
    from torch_doctor.trace import Tri

_AT_HAND = (Attribute, Const, Dict, Display, Name, Star)


def leaves_out(body: tuple[Stmt, ...], asked: Node, opaque: Callable[[Expr], bool]) -> Tri:
    """Whether `asked`, in a function with this body, only decides how many of the values at hand are returned.

    So it is where a network returns what all its heads gave, or what the last one gave. None where they go through a
    function that is `opaque`, and that may do no more than put them together.
    """
    for one, other in _arms(body, asked):
        calls = [node for arm in (one, other) if arm is not None for node in walk(arm) if isinstance(node, Call)]
        names = [_returned(arm) for arm in (one, other)]
        if names[0] is not None and names[1] is not None and all(opaque(call.func) for call in calls):
            fewer = names[0] <= names[1] or names[1] <= names[0]
            return None if fewer and calls else fewer
    return False


def _arms(body: tuple[Stmt, ...], asked: Node) -> Iterator[tuple[Expr | None, Expr | None]]:
    """What is returned where a test that has `asked` in it holds, and where it does not; None where more is done."""
    for number, statement in enumerate(body):
        if isinstance(statement, If) and any(node is asked for node in walk(statement.test)):
            yield _only(statement.body), _only(statement.other or body[number + 1 :])
        value = statement.value if isinstance(statement, Return) else None
        call = value if isinstance(value, Call) and len(value.args) == 1 and not value.keywords else None
        choice = call.args[0] if call is not None else value
        if isinstance(choice, Choice) and any(node is asked for node in walk(choice.test)):
            one, other = (
                arm if call is None else Call(call.at, call.func, (arm,), ()) for arm in (choice.then, choice.other)
            )
            yield one, other


def _only(body: tuple[Stmt, ...]) -> Expr | None:
    """What a body returns that does nothing else."""
    return body[0].value if len(body) == 1 and isinstance(body[0], Return) else None


def _returned(value: Expr | None) -> frozenset[str] | None:
    """The names in an expression that computes nothing but what its calls do; None for any other."""
    everything = [*walk(value)] if value is not None else []
    called = {node for call in everything if isinstance(call, Call) for node in (call, *walk(call.func))}
    nodes = [node for node in everything if node not in called]
    if not nodes or not all(isinstance(node, _AT_HAND) for node in nodes):
        return None
    found = (node.id if isinstance(node, Name) else node.name for node in nodes if isinstance(node, (Name, Attribute)))
    return frozenset(found)
