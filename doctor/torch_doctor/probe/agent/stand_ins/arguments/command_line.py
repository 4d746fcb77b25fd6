"""Words of the command line that the script takes from `sys.argv` itself, and that were not given."""

from __future__ import annotations

import ast
import operator
import sys
from typing import TYPE_CHECKING, Any

from .. import told
from ..demands import gives_up
from ..silent import unpacked
from ..source import spelled
from ..stand_in import StandIn
from ..uses import use_of
from .documented import Documented, commands, usable
from .values import WHY, easiest, number, of_project, untyped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

MOST_WORDS = 20
OPTIONAL = ("(", "[")
"""What words of a documented command begin with that need not be given."""
COMPARISONS: dict[type[ast.cmpop], Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda length, among: length in among,
    ast.NotIn: lambda length, among: length not in among,
}


class CommandLine(StandIn):
    """Appends to `sys.argv` what the script takes from it."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Puts a list in the place of `sys.argv` that grows when the script reads past its end."""
        if not self.plan.get("args"):
            sys.argv = Words(sys.argv, self)


class Words(list[str]):
    """`sys.argv`, or what the script cut from it."""

    def __init__(self, words: list[str], stand_in: StandIn, begin: int = 0) -> None:
        super().__init__(words)
        self._stand_in = stand_in
        self._begin = begin

    def _users(self, frame: FrameType) -> bool:
        return self._stand_in.sources.is_users(frame.f_code.co_filename)

    def __getitem__(self, place: Any) -> Any:
        users = self._stand_in.sources.called_by_user()
        if isinstance(place, slice) and users and place.stop is None and place.step is None:
            return Words(list.__getitem__(self, place), self._stand_in, self._begin + (place.start or 0))
        if isinstance(place, int) and place >= list.__len__(self) and users:
            self._fill(place + 1)
        return list.__getitem__(self, place)

    def __iter__(self) -> Iterator[str]:
        frame = sys._getframe(1)
        if self._users(frame):
            self._fill(unpacked(frame))
        return list.__iter__(self)

    def __len__(self) -> int:
        frame = sys._getframe(1)
        if self._users(frame):
            self._fill(self._demanded(frame))
        return list.__len__(self)

    def __reduce__(self) -> Any:
        return list, (list(list.__iter__(self)),)

    def _fill(self, count: int) -> None:
        while list.__len__(self) < min(count, MOST_WORDS):
            place = list.__len__(self)
            value = _value(self._stand_in, self._begin + place, self._begin + count)
            self.append(str(value))
            said = f"{value!r} of {value.place}" if isinstance(value, Documented) else f"{value!r}"
            self._stand_in.tell(f"sys.argv[{self._begin + place}]", said, why=WHY)

    def _demanded(self, frame: FrameType) -> int:
        """How many words the statement that asks for the length goes on with, where it gives up without them; else 0."""
        for statement in self._stand_in.sources.statements(frame)[:1]:
            if isinstance(statement, ast.If) and gives_up(statement.body):
                return _least(statement.test, wanted=False)
            if isinstance(statement, ast.If) and statement.orelse and gives_up(statement.orelse):
                return _least(statement.test, wanted=True)
            if isinstance(statement, ast.Assert):
                return _least(statement.test, wanted=True)
        return 0


def _least(test: ast.expr, *, wanted: bool) -> int:
    """The smallest length with which a comparison of it comes out as wanted."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and spelled(node.left) == "len":
            compare = COMPARISONS.get(type(node.ops[0]))
            bound = _constant(node.comparators[0])
            if compare is not None and bound is not None:
                return next((length for length in range(1, MOST_WORDS) if compare(length, bound) is wanted), 0)
    return 0


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _value(stand_in: StandIn, place: int, count: int) -> str:
    """The word at a place of so many, by what the code does with `sys.argv[place]`, or with the name that it is given."""
    sources = stand_in.sources
    tree = sources.tree(sources.script)
    holders = _holders(tree) if tree is not None else {}
    trees = [tree] if tree is not None else []
    use = use_of(trees, lambda node: _is_word(node, holders, place, count), sources.project_trees())
    for command in commands(sources):
        words = [word for word in command.words if word[:1] not in OPTIONAL]
        plain = words[place - 1 : place] if not any(word.startswith("-") for word in words) else []
        found = usable(sources, plain[0], command.place, use.kind) if plain else None
        if found is not None:
            return found
    if tree is None:
        return "probe"
    names = [*use.names, *_unpacked_names(tree, holders, place)]
    if use.words:
        return easiest(use.words)
    file = of_project(use, names[0] if names else "config", sources)
    if file is not None or (use.kind is None and names):
        return file or untyped(names[0], sources)
    if use.kind is not None:
        return "0.01" if use.kind is float else str(number(names[0] if names else ""))
    return "probe"


def _holders(tree: ast.Module) -> dict[str, int]:
    """The names that are given `sys.argv`, or its end, each with where it begins."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            begin = _begin(node.value)
            if begin is not None:
                found[node.targets[0].id] = begin
    return found


def _begin(node: ast.expr) -> int | None:
    """Where an expression that is `sys.argv` as a whole, or its end, begins in it."""
    if isinstance(node, ast.Attribute) and node.attr == "argv":
        return 0
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and _begin(node.value) == 0:
        lower = node.slice.lower
        return int(lower.value) if isinstance(lower, ast.Constant) and isinstance(lower.value, int) else 0
    return None


def _is_word(node: ast.AST, holders: dict[str, int], place: int, count: int) -> bool:
    index = _constant(node.slice) if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript) or not isinstance(index, int):
        return False
    begin = holders.get(node.value.id) if isinstance(node.value, ast.Name) else _begin(node.value)
    return begin is not None and place == (begin + index if index >= 0 else count + index)


def _unpacked_names(tree: ast.Module, holders: dict[str, int], place: int) -> list[str]:
    """The name that takes the word at a place where all are unpacked."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            begin = holders.get(node.value.id) if isinstance(node.value, ast.Name) else _begin(node.value)
            names = node.targets[0].elts
            if begin is not None and 0 <= place - begin < len(names):
                found.append(spelled(names[place - begin]))
    return found
