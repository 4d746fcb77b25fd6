"""What a `while` goes through: numbers that it counts, the items of an iterator, or nothing that can be told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.language import courses, operators, ranges
from torch_doctor.static.program.walking import exits, walk
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import NOTHING, Const, Lib, Stream, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run


class Way(Struct, frozen=True):
    """How a `while` goes: the counter that gets what each pass is for, or the iterator that each pass takes an item of.

    `end` handles the iterator's end.
    """

    course: Course
    counter: p.Expr | None = None
    iterator: Stream | None = None
    end: p.Handler | None = None


def way_of(run: Run, node: p.While) -> Way:
    """How a `while` goes."""
    text = run.text(node.test)
    counting = _counting(node)
    if counting is not None:
        course = courses.through(run, _counted(run, counting), text, node.body)
        return Way(course, counter=counting.counter)
    always = isinstance(node.test, p.Const) and bool(node.test.value)
    taking = _taking(run, node, always=always)
    if taking is not None:
        iterator = run.resolve(run.evaluate(taking.iterator))
        if isinstance(iterator, Stream) and iterator.length != math.inf:
            course = courses.through(run, iterator, text, taking.passes)
            return Way(course, iterator=iterator, end=taking.end)
    length = math.inf if always and not courses.leaves(node.body) else None
    return Way(Course(PASSES, lambda _: NOTHING, text, length=length))


# --- counting ---


class _Counting(Struct, frozen=True):
    """`while counter < limit: ...; counter += step`; `past` is how far beyond the limit it still goes."""

    counter: p.Expr
    limit: p.Expr
    step: p.Augment
    past: int


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_UPWARDS = {"<": 0, "<=": 1, "!=": 0}
_DOWNWARDS = {">": 0, ">=": -1, "!=": 0}


def _counting(node: p.While) -> _Counting | None:
    tests = node.test.operands if isinstance(node.test, p.Logic) and node.test.op == "and" else (node.test,)
    for test in tests:
        if not isinstance(test, p.Compare) or test.op not in _MIRRORED:
            continue
        for counter, op, limit in ((test.left, test.op, test.right), (test.right, _MIRRORED[test.op], test.left)):
            step = _step(node.body, counter)
            past = None if step is None else (_UPWARDS if step.op == "+" else _DOWNWARDS).get(op)
            if step is not None and past is not None:
                return _Counting(counter, limit, step, past)
    return None


def _step(body: tuple[p.Stmt, ...], counter: p.Expr) -> p.Augment | None:
    """The statement by which every pass counts once; None where there is none, or something else sets the counter."""
    name = _path(counter)
    if not name:
        return None
    bound = [_path(target) for node in walk(*body) for target in _targets(node)]
    if bound.count(name) != 1:
        return None
    for number, node in enumerate(body):
        if isinstance(node, p.Augment) and node.op in "+-" and _path(node.target) == name:
            return node
        if any(isinstance(each, p.Continue) for each in exits(body[number : number + 1])):
            return None
    return None


def _targets(node: p.Node) -> Iterator[p.Expr]:
    """What a node assigns to."""
    for target in (*getattr(node, "targets", ()), getattr(node, "target", None)):
        if target is not None:
            yield from (each for each in walk(target) if isinstance(each, p.Expr))


def _path(node: p.Expr) -> str:
    """A name, or attributes of one, as text; "" for anything else."""
    if isinstance(node, p.Name):
        return node.id
    of = _path(node.value) if isinstance(node, p.Attribute) else ""
    return f"{of}.{node.name}" if of and isinstance(node, p.Attribute) else ""


def _counted(run: Run, counting: _Counting) -> Stream:
    """The numbers that the counter goes through."""
    start, limit, step = (
        run.resolve(run.evaluate(each)) for each in (counting.counter, counting.limit, counting.step.value)
    )
    if counting.step.op == "-":
        step = operators.operate(run, "-", (step,), counting.step)
    if counting.past:
        limit = operators.operate(run, "+", (limit, Const(counting.past)), counting.limit)
    return ranges.range_of((start, limit, step))


# --- taking items of an iterator ---


class _Taking(Struct, frozen=True):
    """`next(iterator)` in every pass; `end` handles its end. `passes` is the body without that."""

    iterator: p.Expr
    end: p.Handler | None
    passes: tuple[p.Stmt, ...]


def _taking(run: Run, node: p.While, *, always: bool) -> _Taking | None:
    for call in _calls_of_next(run, node.test):
        if len(call.args) > 1:  # `while (batch := next(batches, None)) is not None`
            return _Taking(call.args[0], None, node.body)
    if not always:
        return None
    for number, statement in enumerate(node.body):
        others = (*node.body[:number], *node.body[number + 1 :])
        if isinstance(statement, p.Try):
            end = next(filter(_leaves_at_the_end, statement.handlers), None)
            for call in _calls_of_next(run, *statement.body) if end is not None else ():
                if len(call.args) == 1:
                    return _Taking(call.args[0], end, (*statement.body, *statement.other, *others))
        for call in _calls_of_next(run, statement):
            with_default = len(call.args) > 1 and _tests(node.body[number + 1 : number + 2])
            if with_default or (len(call.args) == 1 and not courses.leaves(others)):
                return _Taking(call.args[0], None, (statement, *others))
    return None


def _calls_of_next(run: Run, *nodes: p.Node) -> Iterator[p.Call]:
    """The calls of `next` in expressions, and on the right of assignments."""
    for node in nodes:
        value = node if isinstance(node, p.Expr) else getattr(node, "value", None)
        for call in walk(value) if isinstance(value, p.Expr) else ():
            if isinstance(call, p.Call) and isinstance(call.func, p.Name) and call.func.id == "next" and call.args:
                func: Value = run.evaluate(call.func)
                if isinstance(func, Lib) and canonical(func.name) == "builtins.next":
                    yield call


def _leaves_at_the_end(handler: p.Handler) -> bool:
    """Whether a handler of an iterator's end leaves the loop."""
    return (
        (not handler.names or "StopIteration" in handler.names)
        and bool(handler.body)
        and isinstance(handler.body[-1], (p.Break, p.Return))
    )


def _tests(following: tuple[p.Stmt, ...]) -> bool:
    """Whether the next statement leaves the loop on a condition, as `if batch is None: break` does."""
    return any(isinstance(node, p.If) and isinstance(node.body[-1], (p.Break, p.Return)) for node in following)
