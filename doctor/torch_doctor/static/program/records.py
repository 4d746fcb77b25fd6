"""Comparisons with the best so far: which side is the best one, where it gets a new value, and what is done then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.program.expressions import (
    Attribute,
    Call,
    Choice,
    Compare,
    Const,
    Display,
    Index,
    Logic,
    Name,
    Operation,
)
from torch_doctor.static.program.statements import Assign, Augment, For, If, Return
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.program.node import Expr, Node

ORDER: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The signs that order two numbers, each with the one that says the same from the other side."""
_EXTREMES: Final = {"max": True, "maximum": True, "min": False, "minimum": False}
_NUMBERS: Final = frozenset(("inf", "infty", "maxsize"))
_RENEWING: Final = frozenset(("update", "setdefault"))


class Record(NamedTuple):
    """What a comparison decides about the best so far."""

    figure_first: bool
    """Whether the figure is the left side, and the best so far the right one."""
    larger: bool
    """Whether the larger figures are kept."""
    renewed: bool
    """Whether the best so far gets a new value anywhere."""
    arm: tuple[Node, ...]
    """What is done where a figure is kept: the statements, and calls that are told of it."""
    loads: bool
    """Whether what is assigned beside the best figure decides which weights are loaded."""
    waits: bool
    """Whether something is counted where no figure is kept."""
    alone: bool
    """Whether a figure is kept only where the comparison holds: no other test, such as that of the first epoch, is enough."""
    start: Expr | None
    """The number that the best so far is at first; None where the body assigns none, or several."""
    extreme: Expr | None
    """The `max` or `min` that renews the best so far, whatever the comparison says; None where nothing of that kind does."""


class _Arms(NamedTuple):
    """What is done where a comparison holds, and where it does not; `told`: the calls that get to know whether it holds.

    `alone`: that it does not hold is enough for the other arm.
    """

    yes: tuple[Node, ...]
    no: tuple[Node, ...]
    told: tuple[Node, ...]
    alone: bool


def record(body: tuple[Node, ...], compare: Compare) -> Record | None:
    """Return what a comparison in a body of statements decides about the best so far; None for any other comparison."""
    nodes = list(walk(*body))
    arms = _arms(nodes, compare)
    left, right = _paths(compare.left), _paths(compare.right)
    left, right = left - right, right - left
    for first, best, figure in ((True, right, left), (False, left, right)):
        above = (compare.op in (">", ">=")) is first  # the figure is larger where the comparison holds
        yes = _renews(arms.yes, best, figure) or _returns(nodes, arms.yes, best, figure)
        no = _renews(arms.no, best, figure)
        extremes = _extremes(nodes, best, figure)
        if yes and no:
            return None
        if yes or no:
            kept = arms.yes if yes else arms.no
            loads = _loaded(nodes, kept, best)
            waits = _counts_to_the_end(nodes, arms.no if yes else arms.yes)
            kept += arms.told if yes else ()
            return Record(first, above is bool(yes), True, kept, loads, waits, arms.alone, _start(nodes, best), None)
        kept, waits = (*arms.yes, *arms.told), _counts_to_the_end(nodes, arms.no)
        if _collects(nodes, compare.right if first else compare.left, best, figure):
            return Record(first, above, True, kept, False, waits, arms.alone, None, None)
        if len(extremes) == 1:
            extreme = extremes[0].func
            larger = above if kept or arms.no else _EXTREMES[_last(extreme)]
            return Record(first, larger, True, kept, False, waits, arms.alone, _start(nodes, best), extreme)
    return None


def never(body: tuple[Node, ...], compare: Compare, *, figure_first: bool) -> Record | None:
    """Return what a comparison decides whose one side, a variable, never gets another value; None where it may."""
    best, figure = (compare.right, compare.left) if figure_first else (compare.left, compare.right)
    if not isinstance(best, (Name, Attribute, Index)):
        return None
    nodes = list(walk(*body))
    arms = _arms(nodes, compare)
    changed = {
        path for node in nodes for target, value in _given(node) if not _is_const(value) for path in _paths(target)
    }
    then = {path for node in walk(*arms.yes) for target, _ in _given(node) for path in _paths(target)}
    if changed & _paths(best) or then & _paths(figure):
        return None
    larger = (compare.op in (">", ">=")) is figure_first
    kept = (*arms.yes, *arms.told)
    return Record(figure_first, larger, False, kept, False, False, arms.alone, _start(nodes, _paths(best)), None)


def _arms(nodes: Iterable[Node], compare: Compare) -> _Arms:
    """What the `if` statements decide that test a comparison, or a name that it was assigned to."""
    yes: list[Node] = []
    no: list[Node] = []
    flags = {
        target.id: holds
        for node in nodes
        if isinstance(node, Assign) and (holds := _holds(node.value, compare, {})) is not None
        for target in node.targets
        if isinstance(target, Name)
    }
    told: list[Node] = []
    alone = True
    for node in nodes:
        chosen = node.value if isinstance(node, Assign) and isinstance(node.value, Choice) else node
        if isinstance(chosen, (If, Choice)):
            holds = _holds(chosen.test, compare, flags)
            if isinstance(chosen, If):
                then, other = chosen.body, chosen.other
            else:
                targets = node.targets if isinstance(node, Assign) else ()
                then, other = ((Assign(node.at, targets, each),) for each in (chosen.then, chosen.other))
            if holds is not None:
                yes += then if holds else other
                no += other if holds else then
                alone &= not any(
                    isinstance(each, Logic) and each.op == "or" and _holds(each, compare, flags) is not None
                    for each in walk(chosen.test)
                )
        elif (
            isinstance(node, Call)
            and flags
            and any(isinstance(each, Name) and each.id in flags for each in _arguments(node))
        ):
            told.append(node)
    return _Arms(tuple(yes), tuple(no), tuple(told), alone)


def _holds(test: Expr, compare: Compare, flags: dict[str, bool]) -> bool | None:
    """Whether a comparison holds where a test does (False: it does not); None where the test says nothing of it."""
    if test is compare:
        return True
    if isinstance(test, Name):
        return flags.get(test.id)
    if isinstance(test, Logic):
        found = next((each for part in test.operands if (each := _holds(part, compare, flags)) is not None), None)
        return not found if found is not None and test.op == "not" else found
    return None


def _renews(arm: tuple[Node, ...], best: set[str], figure: set[str]) -> bool:
    """Whether an arm gives the best so far a value that has to do with the figure."""
    return any(
        _paths(target) & best and _paths(value) & figure for node in walk(*arm) for target, value in _given(node)
    )


def _returns(nodes: Iterable[Node], arm: tuple[Node, ...], best: set[str], figure: set[str]) -> bool:
    """Whether an arm returns the figure where the function else returns the best so far."""
    back = any(isinstance(node, Return) and node.value is not None and _paths(node.value) & best for node in nodes)
    return back and any(
        isinstance(node, Return) and node.value is not None and _paths(node.value) & figure for node in walk(*arm)
    )


def _collects(nodes: Iterable[Node], side: Expr, best: set[str], figure: set[str]) -> bool:
    """Whether one side is the best of a list that the figure is appended to: `loss < min(losses)`."""
    return (
        isinstance(side, Call)
        and _last(side.func) in _EXTREMES
        and any(
            isinstance(node, Call)
            and isinstance(node.func, Attribute)
            and node.func.name == "append"
            and _path(node.func.value) in best
            and any(_paths(each) & figure for each in node.args)
            for node in nodes
        )
    )


def loads(body: tuple[Node, ...], call: Call) -> bool:
    """Whether what a call returns decides which weights are loaded: `model.load_state_dict(states[argmax(losses)])`."""
    return _go_into_weights(list(walk(*body)), set(), call)


def _loaded(nodes: Iterable[Node], arm: tuple[Node, ...], best: set[str]) -> bool:
    """Whether what an arm assigns beside the best figure decides which weights are loaded."""
    names = {path for node in walk(*arm) for target, _ in _given(node) for path in _paths(target)} - best
    return bool(names) and _go_into_weights(nodes, names, None)


def _go_into_weights(nodes: Iterable[Node], names: set[str], call: Call | None) -> bool:
    """Whether the value of a call, or of one of these names, reaches a call that loads something."""
    size = -1
    while size != len(names):
        size = len(names)
        for node in nodes:
            if isinstance(node, Assign) and _mentions(node.value, names, call):
                names |= {path for target in node.targets for path in _paths(target)}
    return any(
        isinstance(node, Call)
        and _last(node.func).startswith("load")
        and any(_mentions(each, names, call) for each in _arguments(node))
        for node in nodes
    )


def _mentions(expression: Expr, names: set[str], call: Call | None) -> bool:
    return any(node is call for node in walk(expression)) or bool(_paths(expression) & names)


def _extremes(nodes: Iterable[Node], best: set[str], figure: set[str]) -> list[Call]:
    """The calls that renew it as `best = max(best, figure)` does."""
    return [
        value
        for node in nodes
        for target, value in _given(node)
        if isinstance(value, Call) and _last(value.func) in _EXTREMES and _paths(target) & best
        if _paths(value) & best and _paths(value) & figure
    ]


def _start(nodes: Iterable[Node], best: set[str]) -> Expr | None:
    found = [value for node in nodes for target, value in _given(node) if _path(target) in best and _is_const(value)]
    return found[0] if len(found) == 1 else None


def _given(node: Node) -> Iterator[tuple[Expr, Expr]]:
    """What gets a value in a statement, or in a call that changes a dict, and the value."""
    if isinstance(node, Assign):
        for target in node.targets:
            if isinstance(target, Display) and isinstance(node.value, Display):
                yield from zip(target.items, node.value.items, strict=False)
            else:
                yield target, node.value
    elif isinstance(node, Augment):
        yield node.target, node.value
    elif isinstance(node, For):
        yield node.target, node.over
    elif isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.name in _RENEWING:
        yield node.func.value, node


def _paths(expression: Expr) -> set[str]:
    """The variables, attributes and items that an expression reads; the functions that it calls are none."""
    called = {id(node.func) for node in walk(expression) if isinstance(node, Call)}
    inner = {id(node.value) for node in walk(expression) if isinstance(node, Attribute) and id(node) not in called}
    return {
        path for node in walk(expression) if id(node) not in called and id(node) not in inner and (path := _path(node))
    }


def _path(node: Node) -> str:
    if isinstance(node, Index) and isinstance(node.key, Const) and (holder := _path(node.value)):
        return f"{holder}[{node.key.value!r}]"
    return path_of(node) if isinstance(node, (Name, Attribute)) else ""


def _counts_to_the_end(nodes: Iterable[Node], arm: tuple[Node, ...]) -> bool:
    """Whether statements count on, and the count decides when something ends: patience."""
    counted = {path_of(node.target) for node in walk(*arm) if isinstance(node, Augment)} - {""}
    tests = (node.test if isinstance(node, If) else node.value for node in nodes if isinstance(node, (If, Return)))
    return any(counted & _paths(test) for test in tests if test is not None)


def _last(function: Expr) -> str:
    return function.name if isinstance(function, Attribute) else function.id if isinstance(function, Name) else ""


def _arguments(call: Call) -> Iterator[Expr]:
    yield from call.args
    yield from (value for _, value in call.keywords)


def _is_const(value: Expr) -> bool:
    if isinstance(value, Operation):
        return all(map(_is_const, value.operands))
    if isinstance(value, Attribute):
        return value.name.lower() in _NUMBERS
    return isinstance(value, Const) or (isinstance(value, Call) and _last(value.func) == "float")
