"""Evaluates comprehensions: their clauses are loops with variables of their own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import classes, holding
from torch_doctor.static.language import aligning, conditions, courses, targets
from torch_doctor.static.program.walking import walk
from torch_doctor.static.values import (
    Const,
    Content,
    Fact,
    Loader,
    Mapping,
    Module,
    Object,
    Plain,
    Sequence,
    Value,
    hashable,
    join,
    latest,
    summary,
)
from torch_doctor.static.values.functions import Frame
from torch_doctor.trace import LoopExited, LoopIterated, LoopKind, Scope, ScopeKind

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def _comprehension(run: Run, node: p.Comprehension) -> Value:
    outer = run.frame
    frame = inner_frame(run)
    run.position.frame = frame
    run.of(holding.Rows).samples += 1
    items: list[Value] = []
    number = latest()
    again = iterations(run) if _does_the_same(node) else run.position.again
    with run.override(again=again):
        exact = _clause(run, node, 0, items)
    if not exact:
        stand_for_several(run, items, number)
    run.of(holding.Rows).samples -= 1
    run.position.frame = outer
    if node.kind == "dict":
        mapping: Mapping = run.own(Mapping(run.site(node), outer.what))
        for pair in items:
            key, value = pair.content.items if isinstance(pair, Sequence) else (Plain(), pair)
            if isinstance(key, Const) and exact and hashable(key.value):
                mapping.fields["key", key.value] = value
            else:
                old = mapping.fields.get("rest")
                value = classes.named(run, key, value, node)
                mapping.fields["rest"] = value if old is None else join(old, value)
        return mapping
    for observe in run.observers.comprehended:
        observe(run, node, items, exact)
    kind = "list" if node.kind == "generator" else node.kind
    content = Content(tuple(items)) if exact else Content((), summary(items) if items else None)
    made: Sequence = run.own(Sequence(kind, content, run.site(node), outer.what))
    if of := _gone_through(run, node):
        run.heap.set(made.facts, Fact.ONE_BY_ONE, (of, content))
    return made


def _gone_through(run: Run, node: p.Comprehension) -> int:
    """The number of the list or loader that has one item for each element; 0 where that is not known."""
    (clause, *others), over = node.clauses, node.clauses[0].over
    if others or clause.tests or node.kind == "set" or not isinstance(over, p.Name):
        return 0
    value = run.resolve(run.evaluate(over))
    return value.counted if isinstance(value, Sequence) else value.id if isinstance(value, Loader) else 0


def iterations(run: Run) -> tuple[Scope, ...]:
    """The iterations of loops that the execution is within."""
    return tuple(run.scope.iterations())


def _does_the_same(node: p.Comprehension) -> bool:
    """Whether every element is computed from the same things: none of the clauses' variables is used."""
    bound = {each.id for each in walk([clause.target for clause in node.clauses]) if isinstance(each, p.Name)}
    used = walk(node.element, node.key, [clause.tests for clause in node.clauses], [c.over for c in node.clauses[1:]])
    return not any(isinstance(each, p.Name) and each.id in bound for each in used)


def stand_for_several(run: Run, items: list[Value], number: int) -> None:
    """Say that each object among these, or in pairs, that was made since that number stands for several, with its modules."""
    pairs = (value.content.items for value in items if isinstance(value, Sequence) and value.kind == "tuple")
    for value in (*items, *itertools.chain.from_iterable(pairs)):
        if isinstance(value, Object) and value.id > number:
            run.heap.set(value.facts, Fact.SEVERAL, value=True)
    for made in map(run.objects.get, range(number + 1, latest() + 1)):
        if isinstance(made, Module):
            run.heap.set(made.facts, Fact.SEVERAL, value=True)


def _clause(run: Run, node: p.Comprehension, depth: int, items: list[Value]) -> bool:
    """Run the clauses from `depth` on and collect the elements; True when these are exactly the items."""
    if depth == len(node.clauses):
        value = run.evaluate(node.element)
        if node.key is not None:
            value = Sequence("tuple", Content((run.evaluate(node.key), value)))
        items.append(value)
        return True
    clause = node.clauses[depth]
    course = courses.course_of(run, clause.over)
    loud = course.kind is LoopKind.BATCHES and not run.modules_called
    exact = courses.counted(course)
    passes = course.passes if exact or loud else 1
    number_of_loop = next(run.loops) if loud else 0
    outer_scope = run.scope
    site = run.site(node)
    if loud:
        courses.entered(run, site, number_of_loop, course)
    listed = exact and depth == 0
    run.of(holding.Rows).samples -= listed
    for number in range(1, passes + 1):
        if loud:
            run.position.scope = Scope(
                ScopeKind.ITERATION, site, outer_scope, loop=number_of_loop, number=number, loop_kind=course.kind
            )
            run.emit(LoopIterated, site, loop=number_of_loop, number=number)
        item = course.item(number)
        if passes == 1 and not loud and len(node.clauses) == run.of(holding.Rows).samples == 1:
            item = aligning.item(run, clause.over, item)
        targets.bind(run, clause.target, item, p.Const(node.at, None))
        skip = False
        for test in clause.tests:
            truth = conditions.decide(run, test)[0]
            exact &= truth is not None
            skip |= truth is False
        if not skip:
            exact &= _clause(run, node, depth + 1, items)
    run.of(holding.Rows).samples += listed
    run.position.scope = outer_scope
    if loud:
        run.emit(LoopExited, site, loop=number_of_loop)
    return exact


def inner_frame(run: Run) -> Frame:
    """A frame for a comprehension's variables."""
    frame = Frame(run.frame.unit, run.frame.globals, run.frame)
    frame.what = run.frame.what
    frame.self = run.frame.self
    return frame


dispatch.EXPRESSIONS.update(
    {
        p.Comprehension: _comprehension,
    }
)
