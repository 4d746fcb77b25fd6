"""Executes what runs one way or another: `if`, `try` and the conditional expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.language import conditions, courses, targets
from torch_doctor.static.options import Options
from torch_doctor.static.position import Branch
from torch_doctor.static.program.walking import moves_to_a_gpu, positive
from torch_doctor.static.training import augmenting, drawing, places
from torch_doctor.static.values import (
    Plain,
    Value,
    fresh_symbol,
    join,
)
from torch_doctor.trace import RunAsScript

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


LONG = 3_000
"""Steps that one chain of `elif` may take: a choice among forty models would use up those of the whole script."""
MANY = 5
"""Ways of a chain that are looked at whatever they take."""


class _Chain(Struct, frozen=True):
    """A chain of `elif` under way: the steps that were left when it began, and the ways that were taken."""

    left: float
    ways: int = 0


def _if(run: Run, node: p.If, chain: _Chain | None = None) -> bool:
    chain = chain or _Chain(run.steps_left)
    drawn = drawing.consulted(run)
    truth, yes, no, symbol = conditions.decide(run, node.test)
    if truth is None:
        augmenting.decided(run, node, drawn)
    if truth and run.frame.unit is run.main and _names_itself(node.test):
        run.emit(RunAsScript, node.test)
    frame, choice = run.frame, bool(node.other)
    outer = run.branches
    run.position.branches = (*outer, Branch(node, frame, run.loop_depth))
    frame.chosen += choice
    for observe in run.observers.branching:
        observe(run, node)
    if truth is not None and _stays(node, node.body if truth else node.other):
        places.placed_by_default(run)  # the script says that it stays on the CPU
    if truth is not None:
        alive = _arm(run, node.body, chain) if truth else _otherwise(run, node.other, chain)
    else:
        arms = ((yes, lambda: _arm(run, node.body, chain)), (no, lambda: _otherwise(run, node.other, chain)))
        alive = run.fork(arms, node.test, symbol)
    frame.chosen -= choice
    run.position.branches = outer
    for observe in run.observers.branched:
        observe(run, node)
    return alive


def _stays(node: p.If, taken: tuple[p.Stmt, ...]) -> bool:
    """Whether a flag would have moved something to a GPU, and the other way is taken."""
    test, then, _ = positive(node)
    return then is not taken and isinstance(test, (p.Name, p.Attribute)) and moves_to_a_gpu(then)


def _names_itself(test: p.Expr) -> bool:
    """Whether it is `__name__` that is compared."""
    return isinstance(test, p.Compare) and any(
        isinstance(side, p.Name) and side.id == "__name__" for side in (test.left, test.right)
    )


def _arm(run: Run, body: tuple[p.Stmt, ...], chain: _Chain) -> bool:
    """Execute one way; what it calls is not entered once the chain has taken its steps."""
    if chain.ways < MANY or chain.left - run.steps_left < LONG or run.position.passing:
        return run.block(body)
    with run.override(passing=True):
        return run.block(body)


def _otherwise(run: Run, other: tuple[p.Stmt, ...], chain: _Chain) -> bool:
    """Execute the other way; an `elif` goes on with the chain."""
    if len(other) == 1 and isinstance(other[0], p.If):
        run.steps_left -= 1
        if run.steps_left < 0:
            run.spend()
        return _if(run, other[0], _Chain(chain.left, chain.ways + 1))
    return _arm(run, other, chain)


def _try(run: Run, node: p.Try) -> bool:
    alive = run.block(node.body)
    if alive:
        alive = run.block(node.other)
    for handler in node.handlers:
        body = handler.body
        if not body or (all(isinstance(statement, p.Raise) for statement in body[-1:]) and alive):
            continue
        if handler in run.of(courses.Taking).ends:
            continue  # that is the end of the loop, and comes after all of its passes
        before = alive
        symbol = fresh_symbol("raised")

        def handled(handler: p.Handler = handler) -> bool:
            if handler.name is not None:
                targets.bind_name(run, handler.name, Plain())
            return run.block(handler.body)

        def passed(before: bool = before) -> bool:  # noqa: FBT001 - bound now, the loop goes on
            return before

        alive = run.fork((({symbol: True}, handled), ({symbol: False}, passed)), node, symbol)
    final = run.block(node.final)
    return alive and final


def _choice(run: Run, node: p.Choice) -> Value:
    drawn = drawing.consulted(run)
    truth, yes, no, symbol = conditions.decide(run, node.test)
    if truth is None:
        augmenting.decided(run, node, drawn)
    for observe in run.observers.branching:
        observe(run, node)
    run.frame.chosen += 1
    value = _chosen(run, node, truth, (yes, no), symbol)
    run.frame.chosen -= 1
    for observe in run.observers.branched:
        observe(run, node)
    return value


def _chosen(run: Run, node: p.Choice, truth: Tri, facts: tuple[Any, Any], symbol: Any) -> Value:
    if truth is not None:
        return run.evaluate(node.then if truth else node.other)
    result: dict[p.Expr, Value] = {}

    def arm(branch: p.Expr) -> Callable[[], bool]:
        def evaluated() -> bool:
            result[branch] = run.evaluate(branch)
            return True

        return evaluated

    run.fork(((facts[0], arm(node.then)), (facts[1], arm(node.other))), node, symbol)
    run.of(Options).chooses(symbol, result[node.then], result[node.other], run.assumed)
    joined: Value = join(result[node.then], result[node.other], symbol)
    return joined


dispatch.STATEMENTS.update(
    {
        p.If: _if,
        p.Try: _try,
    }
)


dispatch.EXPRESSIONS.update(
    {
        p.Choice: _choice,
    }
)
