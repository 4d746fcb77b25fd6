"""Goes through all that is written inside a node, for questions that need no execution."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from torch_doctor.static.program.expressions import Const, Logic
from torch_doctor.static.program.node import Node
from torch_doctor.static.program.statements import Break, Continue, For, If, Raise, Return, Try, While, With

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.static.program.node import Expr, Stmt


def walk(*roots: object) -> Iterator[Node]:
    """These nodes and every node inside them, in no particular order; functions that are defined inside included."""
    waiting: list[object] = list(roots)
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, (tuple, list)):
            waiting += thing
            continue
        is_node, parts = _INSIDE[thing.__class__]
        if is_node:
            yield thing  # type: ignore[misc]  # as the table says
        if parts is not None:
            waiting += parts(thing)


def _inside(cls: type) -> tuple[bool, Callable[[object], tuple[object, ...]] | None]:
    """Whether a class is one of nodes, and what gives the attributes in which others may lie; None where there are none."""
    slots: list[str] = []
    if cls.__module__.startswith(_HERE) and cls is not Const:
        slots = [slot for each in cls.__mro__ for slot in getattr(each, "__slots__", ()) if slot not in _NO_NODES]
    if not slots:
        return issubclass(cls, Node), None
    parts = attrgetter(*slots)
    return issubclass(cls, Node), parts if len(slots) > 1 else lambda thing: (parts(thing),)


class _Inside(dict[type, "tuple[bool, Callable[[object], tuple[object, ...]] | None]"]):
    """What `_inside` says of each class."""

    def __missing__(self, cls: type) -> tuple[bool, Callable[[object], tuple[object, ...]] | None]:
        self[cls] = found = _inside(cls)
        return found


_INSIDE = _Inside()


def asks_version(test: Node) -> bool:
    """Whether a test speaks of a version: `version.parse(torch.__version__) >= ...`, `if TORCH_VERSION < (2, 3):`."""
    words = (getattr(node, "name", "") or getattr(node, "id", "") for node in walk(test))
    return any(isinstance(word, str) and "version" in word.lower() for word in words)


def breaks(body: tuple[Node, ...]) -> bool:
    """Whether a `break` is written in a loop's body, be it of that loop or of one inside."""
    return any(isinstance(node, Break) for node in walk(*body))


def exits(body: tuple[Node, ...], *, inside: bool = False) -> Iterator[Node]:
    """The statements by which a pass through a loop with this body ends early: its own `break` and `continue`, `return`, `raise`.

    `inside`: of a loop within another, whose `break` and `continue` are not meant.
    """
    for node in body:
        if isinstance(node, (Return, Raise)) or (isinstance(node, (Break, Continue)) and not inside):
            yield node
        elif isinstance(node, (For, While)):
            yield from exits(node.body, inside=True)
            yield from exits(node.other, inside=inside)
        elif isinstance(node, (If, With)):
            yield from exits((*node.body, *getattr(node, "other", ())), inside=inside)
        elif isinstance(node, Try):
            handled = tuple(statement for handler in node.handlers for statement in handler.body)
            yield from exits((*node.body, *handled, *node.other, *node.final), inside=inside)


def moves_to_a_gpu(body: tuple[Node, ...]) -> bool:
    """Whether statements call `cuda()` of something."""
    return any(getattr(getattr(node, "func", None), "name", "") == "cuda" for node in walk(*body))


_APART = (
    "rank",
    "main",
    "master",
    "primary",
    "leader",
    "chief",
    "proc",
    "gpu",
    "device",
    "node",
    "local",
    "worker",
    "host",
    "pid",
)
"""Parts of names that may tell the processes of a distributed run apart."""


def positive(branch: If) -> tuple[Expr, tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The test of a branch without a `not` before it, with what is executed where it holds and where it does not."""
    test, then, other = branch.test, branch.body, branch.other
    while isinstance(test, Logic) and test.op == "not":
        test, then, other = test.operands[0], other, then
    return test, then, other


def tells_processes_apart(expression: Node) -> bool:
    """Whether a name in it may stand for something that differs between processes, as `args.local_rank` does."""
    words = (getattr(node, "name", "") or getattr(node, "id", "") for node in walk(expression))
    return any(isinstance(word, str) and names_process(word) for word in words)


def names_process(word: str) -> bool:
    """Whether a name may stand for something that differs between processes, as `local_rank` does."""
    return any(part in word.lower() for part in _APART)


_HERE = __name__.rpartition(".")[0]
_NO_NODES = frozenset(
    ("at", "id", "name", "name_at", "names", "op", "kind", "layout", "uses", "calls", "shown", "most", "named")
)
