"""Running sums: values that are computed of what their holder had before, in any form but `+=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import targets
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.module import forwards
from torch_doctor.static.values import Const, Content, Either, Plain, Sequence, Tensor, Unknown, Value, summary
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Event

JOINS = frozenset(f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"))
_READING = ("get", "setdefault")
"""Methods of a dict that read one item."""


class SelfReading(Knowledge):
    """Where expressions read the target that they are assigned to."""

    known: dict[tuple[p.Expr, p.Expr], p.Expr | None] = per_run(dict)


def carried_on(run: Run, target: p.Expr, of: p.Expr, value: Value, node: p.Node) -> Value:
    """What `target = of` assigns, as in `average = 0.9 * average + 0.1 * loss`: marked as retained where it has a graph.

    The holder's first value has none, and from then on it holds what earlier passes of the loop put there.
    """
    position = run.position
    if not position.loop_depth or position.modules_called or value.flow.graph is False:
        return value
    if isinstance(value, Sequence) and isinstance(of, p.Display):
        return _one_by_one(run, target, of, value, node)
    read = reading(run, target, of) if isinstance(value, (Tensor, Unknown, Either)) else None
    if read is None:
        return value
    old = run.resolve(run.evaluate(read))
    carries = old.flow.retained or _left_by_earlier_passes(run, old, value)
    joined = isinstance(value, Tensor) and value.origin.operation in JOINS
    if not joined and (
        not (_starts(old) or _goes_on(value, carries)) or forwards.got_some(run, value.flow.forwards, carries)
    ):
        return value
    bounded = targets.is_emptied(run, target, carries)
    how = Retention.CONCATENATED if joined else Retention.ACCUMULATED
    name = _added(run, target, of)
    return keeping.keep(run, value, how, run.text(target), carries, node, name, bounded=bounded)


def _one_by_one(run: Run, target: p.Expr, of: p.Display, value: Sequence, node: p.Node) -> Value:
    """What several targets get, `total, count = total + loss, count + 1`, or a list that goes on, `rows = [*rows, row]`."""
    if isinstance(target, p.Display):
        content = value.content
        if content.rest is not None or not len(target.items) == len(of.items) == len(content.items):
            return value
        pairs = zip(target.items, of.items, content.items, strict=True)
        items = tuple(carried_on(run, each, source, item, node) for each, source, item in pairs)
        return run.own(Sequence(value.kind, Content(items), value.born, value.function))
    first, *added = of.items
    simple = all(isinstance(part, (p.Name, p.Attribute, p.Display)) for item in added for part in walk(item))
    if not (isinstance(first, p.Star) and alike(first.value, target) and simple):
        return value
    old = run.resolve(run.evaluate(target))
    if not isinstance(old, Sequence):
        return value
    carries = old.flow.retained
    bounded = old.bounded or targets.is_emptied(run, target, carries)
    name = run.text(target)
    given = [(run.resolve(run.evaluate(item)), run.text(item)) for item in added]
    kept = [keeping.keep_item(run, each, carries, node, name, text, bounded=bounded) for each, text in given]
    known = old.content
    rest = None if known.rest is None else summary((known.rest, *kept))
    content = Content(known.items if rest is not None else (*known.items, *kept), rest)
    return run.own(Sequence(value.kind, content, value.born, value.function))


def _starts(old: Value) -> bool:
    """Whether the holder had a number before."""
    return isinstance(old, (Const, Plain)) or (isinstance(old, (Tensor, Unknown)) and old.flow.graph is False)


def _goes_on(value: Value, carries: frozenset[int]) -> bool:
    """Whether what the holder has of earlier passes is in the new value, too."""
    return bool(carries) and carries <= value.flow.retained | value.flow.graph_forwards


def _left_by_earlier_passes(run: Run, old: Value, value: Value) -> frozenset[int]:
    """The forwards of earlier passes that the holder's graph begins with, where they are behind the new value, too."""
    behind = old.flow.graph_forwards if old.flow.graph is True else frozenset[int]()
    passed = all(_of_an_earlier_pass(run, event) for event in run.trace.at(*behind))
    return behind if passed and behind < value.flow.graph_forwards else frozenset()


def _of_an_earlier_pass(run: Run, event: Event) -> bool:
    """Whether an event lies in another pass of the innermost loop that is around it and around this place."""
    passes = {scope.loop: scope for scope in event.scope.iterations()}
    common = next((scope for scope in reversed(run.scope.iterations()) if scope.loop in passes), None)
    return common is not None and passes[common.loop] is not common


def reading(run: Run, target: p.Expr, of: p.Expr) -> p.Expr | None:
    """Where an expression reads the target; None where it does not."""
    known = run.of(SelfReading).known
    if (target, of) not in known:
        expressions = (node for node in walk(of) if isinstance(node, p.Expr))
        known[target, of] = next((node for node in expressions if _reads(node, target)), None)
    return known[target, of]


def _reads(node: p.Expr, target: p.Expr) -> bool:
    """Whether an expression is the target's value: the same name, attribute or item, or `table.get(key, ...)` for it."""
    if alike(node, target):
        return True
    return (
        isinstance(target, p.Index)
        and isinstance(node, p.Call)
        and isinstance(node.func, p.Attribute)
        and node.func.name in _READING
        and alike(node.func.value, target.value)
        and bool(node.args)
        and alike(node.args[0], target.key)
    )


def alike(left: p.Expr, right: p.Expr) -> bool:
    """Whether two expressions are spelled alike: names, attributes, constants and items of such."""
    if isinstance(left, p.Name) and isinstance(right, p.Name):
        return left.id == right.id
    if isinstance(left, p.Attribute) and isinstance(right, p.Attribute):
        return left.name == right.name and alike(left.value, right.value)
    if isinstance(left, p.Index) and isinstance(right, p.Index):
        return alike(left.key, right.key) and alike(left.value, right.value)
    return isinstance(left, p.Const) and isinstance(right, p.Const) and left.value == right.value


def _added(run: Run, target: p.Expr, of: p.Expr) -> str:
    """The user's words for what has a graph in the expression beside the target; "" where there are several such things."""
    found = {run.text(node) for node in _operands(of, target) if run.evaluate(node).flow.graph is not False}
    return found.pop() if len(found) == 1 else ""


def _operands(of: p.Expr, target: p.Expr) -> Iterator[p.Expr]:
    """The names and attributes of which an expression is computed, without the target."""
    waiting = [of]
    while waiting:
        node = waiting.pop()
        if _reads(node, target):
            continue
        if isinstance(node, (p.Name, p.Attribute, p.Index)):
            yield node
        elif isinstance(node, p.Operation):
            waiting += node.operands
        elif isinstance(node, p.Display):
            waiting += node.items
        elif isinstance(node, p.Choice):
            waiting += (node.then, node.other)
        elif isinstance(node, p.Call):
            waiting += node.args
            if isinstance(node.func, p.Attribute):
                waiting.append(node.func.value)
