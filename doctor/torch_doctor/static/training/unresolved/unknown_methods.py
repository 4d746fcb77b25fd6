"""Methods of something that is not known, when the method's name tells what it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.static.dispatch import handles
from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.language import containers, kept, opaque_calls, operators
from torch_doctor.static.tables import functions
from torch_doctor.static.tables.data import REORDERING_METHODS
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import drawing, hub_rows, mapped_rows, places
from torch_doctor.static.training.computing import tensors
from torch_doctor.static.training.data import batch_parts, tokenizing
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.training.update import gradients, parameters
from torch_doctor.static.values import (
    NOTHING,
    NOWHERE,
    Call,
    Const,
    Content,
    Fact,
    Module,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
    shapes,
)
from torch_doctor.trace import (
    Escaped,
    Source,
    Stepped,
    ZeroGrad,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.function import Function


OfUnknown: TypeAlias = "Callable[[Run, UnknownAttribute, Call], Value | None]"
_METHODS: dict[str, OfUnknown] = {}


def method_of_unknown(run: Run, of: UnknownAttribute, call: Call) -> Value:
    """A method of something that is not known, when its name tells what it must be."""
    if of.name == "update":
        kept.perhaps_set_in(run, of.of.symbol)
    if of.name in REORDERING_METHODS:
        drawing.reordered(run, call.node)
    method = _METHODS.get(of.name)
    result = method(run, of, call) if method is not None else None
    if result is None and (of.name in MOVES or of.name in functions.METHODS):
        result = _of_tensor(run, of, call)
    if result is None:
        result = _opaque(run, of, call)
        kept.given(run, of.of, call.values)
        mapped_rows.noted(run, of.of, of.name, call, result)
        hub_rows.noted(run, of.of, of.name, call, result)
    return result


@handles(_METHODS, "backward")
def _backward(run: Run, of: UnknownAttribute, call: Call) -> Value | None:
    owner = of.of
    if not call.args or owner.flow.forwards:
        gradients.backward(run, owner, call.renamed(call.receiver), through="backward")
        return NOTHING
    loss = call.args[0]
    if not isinstance(loss, (Tensor, Unknown)) or not loss.flow.forwards:
        return None
    given = Call((), call.keywords, call.node, run.text_of_argument(call.node, 0))
    gradients.backward(run, loss, given, through=call.name)
    return NOTHING


@handles(_METHODS, "zero_grad")
def _zero_grad(run: Run, of: UnknownAttribute, call: Call) -> Value:
    run.emit(ZeroGrad, call.node, target=0, name=call.receiver, modules=_modules_in(run, of.of), whole=False)
    run.heap.set(run.state.facts, Fact.CLEARED, run.state.fact(Fact.CLEARED) | {of.of.symbol})
    return NOTHING


@handles(_METHODS, "step")
def _step(run: Run, of: UnknownAttribute, call: Call) -> Value | None:
    if call.values or of.of.symbol not in run.state.fact(Fact.CLEARED):
        return None  # else it is an optimizer, which has gradients to clear
    escaping.hand_over(run, call.name, (of.of,), (), call.node)
    run.emit(Stepped, call.node, optimizer=0, name=call.receiver, modules=_modules_in(run, of.of), whole=False)
    return NOTHING


@handles(_METHODS, "detach_")
def _detach(run: Run, of: UnknownAttribute, call: Call) -> Value:
    owners = frozenset(number for number in of.of.holds if isinstance(run.objects.get(number), Module))
    parameters.set_trainable(run, owners, Const(value=False), call.node, whole=False)  # it may be one of theirs
    now = Unknown(of.of.flow.cut(), of.of.holds, origin=of.of.origin)
    run.heap.change(of.of, now)
    return now


@handles(_METHODS, "append", "add", "appendleft")
def _append(run: Run, _: UnknownAttribute, call: Call) -> None:
    if call.args and call.args[0].flow.graph is True:  # where it goes is out of sight
        keeping.keep_item(run, call.args[0], frozenset(), call.node, call.receiver, bounded=True)


@handles(_METHODS, "extend")
def _extend(run: Run, of: UnknownAttribute, call: Call) -> Value | None:
    """A row is filled up in place; anything else may be extended by anything."""
    more = call.args[0] if call.args else None
    if not isinstance(more, Sequence) or more.fact(Fact.FILLING) is None:
        return None
    run.heap.change(of.of, operators.operate(run, "+", (of.of, more), call.node))
    return NOTHING


@handles(_METHODS, "items", "values")
def _parts(_: Run, of: UnknownAttribute, call: Call) -> Value | None:
    """What a batch of a loader holds under its names."""
    if call.values or of.of.flow.source is not Source.LOADER:
        return None
    part = Unknown(of.of.flow, of.of.holds)
    return Stream(part if of.name == "values" else Sequence("tuple", Content((Plain(), part))))


@handles(_METHODS, *tokenizing.METHODS)
def _encode(run: Run, of: UnknownAttribute, call: Call) -> Value | None:
    return tokenizing.encoded(run, of, of.of, of.name, call)


def _modules_in(run: Run, owner: Unknown) -> frozenset[int]:
    """The modules that it holds, with their parts."""
    held = frozenset(number for number in owner.holds if isinstance(run.objects.get(number), Module))
    return module_parts.with_parts(run, held)


def _of_tensor(run: Run, of: UnknownAttribute, call: Call) -> Value | None:
    """A method that a tensor has; None where it may as well be another's."""
    name, owner = of.name, of.of
    known = functions.METHODS.get(name)
    if name in MOVES or owner.flow.source.value != "unknown":
        return _of_surely_tensor(run, of, known, call)
    if known is None:
        return None
    if owner.flow.forwards or owner.flow.graph is True:
        return _computed(run, of, known, call)
    if name == "size":
        return containers.size_of(call.with_first(owner))
    if known.result == "plain" and name in ("item", "tolist", "numpy", "numel", "dim"):
        return Plain(size=shapes.read(owner)) if name == "item" else Plain()
    if not known.graph and name == "detach":
        return Unknown(owner.flow.cut(), owner.holds, origin=owner.origin)
    return None


def _of_surely_tensor(run: Run, of: UnknownAttribute, known: Function | None, call: Call) -> Value:
    name, owner = of.name, of.of
    if name == "size":
        return containers.size_of(call.with_first(owner))
    if known is not None and known.result == "plain":
        return Plain(size=tensors.what_is_read(name, owner))
    place = places.moved(run, owner, name, call) if name in MOVES else NOWHERE
    if known is not None and known.kind is not None and owner.flow.forwards:
        return _computed(run, of, known, call)
    flow = owner.flow if known is None or known.graph else owner.flow.cut()
    if name not in MOVES and known is not None and known.result == "tensor" and known.scalar is False:
        place = places.result(run, (owner,))
    return batch_parts.taken(run, owner, Unknown(flow, owner.holds, origin=place), name)


def _computed(run: Run, of: UnknownAttribute, known: Function, call: Call) -> Value:
    return tensors.method(run, of.of, of.name, known, call)


def _opaque(run: Run, of: UnknownAttribute, call: Call) -> Value:
    """A method of which the name tells nothing."""
    owner = of.of
    if not call.values and of.name not in functions.METHODS:
        if of.name == "step" and not owner.holds:
            run.emit(Escaped, call.node, to=call.name)  # what steps is out of sight: something does
        escaping.hand_over(run, call.name, (owner,), (), call.node)
        flow = owner.flow if owner.flow.forwards else Flow(graph=None)
        return Unknown(flow, owner.holds, (".()", owner.symbol, of.name))
    result = opaque_calls.opaque(run, of, call)
    if owner.flow.forwards and isinstance(result, Unknown):
        return Unknown(blend((result.flow, owner.flow)), result.holds | owner.holds)
    return result
