"""Statements that compute a new tensor from one that the script goes on with, and drop the new one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.operation.timing import CLOCKS
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import functions, torch_functions, words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.static.values import (
    Autocast,
    Const,
    Context,
    Grads,
    Lib,
    Method,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
)
from torch_doctor.trace import Kind, ResultLost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.function import Function
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Value

_MEASURING = frozenset((*(name.rpartition(".")[2] for name in CLOCKS), *words("elapsed_time synchronize timeit")))
"""The last parts of calls by which a function shows that it measures how long something takes."""
_COPYING = frozenset(words("to cpu cuda xpu type clone pin_memory"))
"""Methods that copy the same numbers, or wait for the device; moves are a matter of their own."""
_CHANGING = frozenset(("out", "inplace", "max_norm"))
"""Names of arguments with which a function changes what it is given."""
_ASKING = frozenset((Effect.PRODUCT, Effect.COMPARED, Effect.AVERAGED, Effect.SUMMED, Effect.PICKED))
"""Effects of functions whose result does not stand for what they are given."""
_ACTIVATED = frozenset((None, Kind.HIDDEN, Kind.PROBABILITIES, Kind.LOG_PROBABILITIES, Kind.BOUNDED, Kind.LOG_BOUNDED))
"""Kinds of results that stand for what a function is given: the same kind, and what activations return."""
_OF_A_MODULE = (ParameterValue, Grads, Params)


class Lost(NamedTuple):
    """A call that returned, and the expression that it computes from, with the value of that."""

    call: p.Node
    of: p.Expr
    value: Value


class LostResults(Observer, called=(Method, Lib)):
    """Tensors that a statement computes from one with a name, and that nobody takes."""

    writes = (ResultLost,)

    _last: Lost | None = per_run()
    _doubtful: int = per_path(int)  # contexts around that may catch what is raised, or measure how long it takes

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Note the last call that computes a tensor from another, which may itself be the result of such a call."""
        lost = _lost(func, call) if isinstance(result, (Tensor, Unknown, *_OF_A_MODULE)) else None
        before = self._last
        if lost is not None and before is not None and lost.of is before.call:
            lost = before._replace(call=lost.call)
        self._last = lost

    @override
    def opened(self, run: Run, context: Value, node: p.Expr) -> None:
        """Count a context in which something may be done for another reason than its result."""
        self._doubtful += _is_doubtful(run, context, node)

    @override
    def closed(self, run: Run, context: Value, node: p.Expr) -> None:
        """Leave a context."""
        self._doubtful -= _is_doubtful(run, context, node)

    @override
    def stated(self, run: Run, node: p.Expr, value: Value) -> None:
        """Write that nobody takes the result of a call, where the tensor that it was computed from is used further."""
        lost, unit = self._last, run.position.frame.unit
        if lost is None or lost.call is not node or not isinstance(node, p.Call) or self._doubtful:
            return
        name = _root(lost.of)
        if not name or id(node) not in _statements(unit) or unit.source.displays(run.site(node)) or _shows(run, node):
            return
        alone, item = isinstance(lost.of, p.Name), _is_item(run, node, name)
        kept = not alone or isinstance(lost.value, _OF_A_MODULE)
        if not (kept or item or _is_read(run, node, name)):
            return
        text = run.text(lost.of)
        run.emit(
            ResultLost,
            node,
            name=text,
            call=run.text(node),
            bound=text.endswith((".grad", ".data"))
            or (isinstance(lost.value, (Tensor, Unknown)) and not (alone and item)),
            method=isinstance(node.func, p.Attribute) and node.func.value is lost.of,
        )


def _lost(func: Value, call: Call) -> Lost | None:
    """What a call computes that could take the place of the tensor it is computed from; None where it does anything else."""
    node = call.node
    if not isinstance(node, p.Call) or not _CHANGING.isdisjoint(call.keywords):
        return None
    if isinstance(func, Method) and isinstance(node.func, p.Attribute):
        known = functions.METHODS.get(func.name)
        found = known is not None and _is_surely_tensor(func.of) and _replaces(func.name, known)
        return Lost(node, node.func.value, func.of) if found else None
    name = canonical(func.name) if isinstance(func, Lib) else ""
    known = torch_functions.FUNCTIONS.get(name) if name.startswith("torch.") else None
    if known is None or not call.args:
        return None
    of, others = call.args[0], (*call.args[1:], *call.keywords.values())
    if any(isinstance(each, (Tensor, *_OF_A_MODULE)) or _is_true(each) for each in others):
        return None  # a function of both; `inplace` may be given by position
    settings = name.startswith("torch.nn.functional.") and all(isinstance(each, Const) for each in others)
    if not _replaces(name.rpartition(".")[2], known, settings=settings):
        return None
    return Lost(node, node.args[0], of) if isinstance(of, (Unknown, Tensor, *_OF_A_MODULE)) else None


def _is_true(value: Value) -> bool:
    return isinstance(value, Const) and value.value is True


def _replaces(name: str, known: Function, *, settings: bool = False) -> bool:
    """Whether a function returns its tensor with other numbers, in another shape or of another type, and does nothing else.

    `settings`: it is one of `torch.nn.functional`, and all its other arguments are written out.
    """
    if (
        known.in_place
        or name.endswith("_")
        or known.result != "tensor"
        or known.source is not None
        or known.scalar is not False
    ):
        return False
    if name in _COPYING or known.effect in _ASKING:
        return False
    return known.kind in _ACTIVATED or (known.graph and (settings or f"{name}_" in functions.METHODS))


def _is_surely_tensor(value: Value) -> bool:
    """Whether a value is a tensor for certain, and not taken for one because of the methods that are called."""
    if isinstance(value, Tensor):
        return value.meta is not None or value.kind is not Kind.UNKNOWN or value.origin.known
    return isinstance(value, _OF_A_MODULE)


def _is_doubtful(run: Run, context: Value, node: p.Expr) -> bool:
    """Whether a context may catch what is raised in it, or measure how long it takes; no such context is around training."""
    known = isinstance(context, (Context, Autocast, Plain, Stream))
    return not known and id(node) not in _training(run.position.frame.unit)


@lru_cache(maxsize=64)
def _training(unit: Unit) -> frozenset[int]:
    """The ids of the contexts in whose blocks gradients are computed."""
    blocks = (each for each in unit.nodes if isinstance(each, p.With))
    return frozenset(id(each.context) for each in blocks if "backward" in _called_in(each.body))


@lru_cache(maxsize=64)
def _statements(unit: Unit) -> frozenset[int]:
    """The ids of the calls that are statements of their own: of no `assert`, and in no `try` whose errors are handled."""
    tries = (each for each in unit.nodes if isinstance(each, p.Try) and each.handlers)
    tried = {id(part) for each in tries for part in walk(each.body)}
    alone = (each for each in unit.nodes if isinstance(each, p.Evaluate) and each.at == each.value.at)
    return frozenset(id(each.value) for each in alone if id(each) not in tried)


def _called_in(body: Iterable[p.Node]) -> set[str]:
    """The last parts of the names of what is called in some statements."""
    found = (each.func for each in walk(*body) if isinstance(each, p.Call))
    return {getattr(func, "name", "") or getattr(func, "id", "") for func in found}


def _around(run: Run) -> tuple[p.Stmt, ...]:
    """The statements of the function that is executed, or of the file."""
    frame = run.position.frame
    return frame.unit.program.body if frame.what is None else frame.what.node.body


def _shows(run: Run, node: p.Node) -> bool:
    """Whether a statement may be there to show what an operation does, or to measure how long it takes.

    So it may in statements that are executed once, without arguments, in a loop that does the same again and again and binds
    nothing, and in a function that reads clocks and does not train.
    """
    what = run.position.frame.what
    if not run.loop_depth and (what is None or not what.node.parameters):
        return True
    around = _around(run)
    loops = [each for each in walk(*around) if isinstance(each, (p.For, p.While)) and _is_within(node, each)]
    loop = max(loops, key=lambda each: each.at[:2], default=None)
    if loop is not None and all(isinstance(each, p.Evaluate) for each in loop.body):
        bound = {each.id for each in _targets(loop)}
        if not any(isinstance(each, p.Name) and each.id in bound for each in walk(node)):
            return True
    called = _called_in(around)
    return not _MEASURING.isdisjoint(called) and "backward" not in called


def _root(of: p.Expr) -> str:
    """The name that an expression begins with which names something that is there afterwards; "" for others."""
    while isinstance(of, (p.Attribute, p.Index)):
        if isinstance(of, p.Index) and not isinstance(of.key, (p.Const, p.Name)):
            return ""
        of = of.value
    return of.id if isinstance(of, p.Name) else ""


def _is_item(run: Run, node: p.Node, name: str) -> bool:
    """Whether a name stands for each item of a list or tuple that is read behind the loop over it."""
    for loop in walk(*_around(run)):
        if (
            isinstance(loop, p.For)
            and _is_within(node, loop)
            and isinstance(loop.target, p.Name)
            and loop.target.id == name
        ):
            over = run.resolve(run.evaluate(loop.over)) if isinstance(loop.over, p.Name) else None
            return isinstance(over, (Sequence, Tensor, Unknown)) and _is_read(run, loop, _root(loop.over))
    return False


def _is_read(run: Run, node: p.Node, name: str) -> bool:
    """Whether a local name is read behind a statement, or before it in a loop around both that does not bind the name."""
    if name not in run.position.frame.fields:
        return False
    inside = list(walk(*_around(run)))
    targets = [each for each in inside if name in {name.id for name in _targets(each)}]
    since = node.at[2:]
    for loop in inside:
        if isinstance(loop, (p.For, p.While)) and loop is not node and _is_within(node, loop):
            since = min(since, loop.at[:2]) if not any(_is_within(each, loop) for each in targets) else since
    written = {id(target) for each in targets for target in _targets(each)}
    reads = (each for each in inside if isinstance(each, p.Name) and each.id == name and id(each) not in written)
    return any(each.at[:2] >= since and not _is_within(each, node) for each in reads)


def _targets(node: p.Node) -> list[p.Name]:
    """The names that a statement binds."""
    targets = (
        node.targets if isinstance(node, p.Assign) else (node.target,) if isinstance(node, (p.For, p.With)) else ()
    )
    return [
        each
        for target in targets
        if isinstance(target, (p.Name, p.Display))
        for each in walk(target)
        if isinstance(each, p.Name)
    ]


def _is_within(inner: p.Node, outer: p.Node) -> bool:
    """Whether a node lies in another."""
    return outer.at[:2] <= inner.at[:2] and inner.at[2:] <= outer.at[2:]
