"""Computes with tensors: what a function or method returns, as the tables declare it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding
from torch_doctor.static.domains.rows import windows
from torch_doctor.static.flow import EMPTY, NONE, Flow, blend
from torch_doctor.static.language import containers, operators, targets
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables import functions, words
from torch_doctor.static.tables.fitting import STATISTICS
from torch_doctor.static.tables.function import PLACES
from torch_doctor.static.training import cross_device, cuts, drawing, fitting, kinds, list_sums, plain_tensors, sums
from torch_doctor.static.training.graph import running_sums
from torch_doctor.static.training.update import given_gradients
from torch_doctor.static.values import (
    ARRAY,
    MADE_OF_GRADIENTS,
    NOTHING,
    VOLATILE,
    Call,
    Const,
    Content,
    Either,
    Making,
    ParameterValue,
    Params,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
    plain_from,
    shapes,
)
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.function import Function
    from torch_doctor.trace import Site, Tri

JOINING = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack"))
"""Functions that put tensors together."""


_SHAPED = frozenset(
    words(
        """
        zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
        new_empty_strided
        """
    )
)
"""Functions that read the shape of a tensor, and none of its numbers."""

_PLACED = functions.DIFFERENCES | padding.FUNCTIONS | padding.JOINING | {"eq"}
"""Functions of whose results it is known where they were made."""
_COUNTING = frozenset(("numel", "nelement"))
"""Functions that count the numbers of a tensor."""

_OF_ONE_NUMBER = dict.fromkeys(_COUNTING, Const(1)) | dict.fromkeys(("dim", "ndimension"), Const(0))
"""What functions that count the numbers or dimensions of a tensor give for a single number."""

RESHAPES = frozenset(("squeeze_", "unsqueeze_", "transpose_", "t_", "resize_", "resize_as_", "set_"))
"""Methods that give the tensor itself another shape."""

_LEADING = (Tensor, Unknown, ParameterValue, Params, Sequence, Either)


def computed(run: Run, name: str, known: Function, call: Call, *, dims: int) -> Value:
    """The result of a function of torch, by its table entry; `dims` counts the arguments beside the first."""
    short = name.rpartition(".")[2]
    if short in ("max", "min") and _of_two(call):
        known, dims = functions.METHODS["maximum"], 1
    if _gives_places(short, call):
        known = PLACES
    first = next((value for value in call.args if isinstance(value, _LEADING)), None)
    if known.result == "none":
        return NOTHING
    if known.result == "plain":
        return _plain(run, name, call, first)
    flow = _flow(run, name, known, call, first)
    leading = None if first is None else kinds.leading(first)
    reduced = known.scalar is None and dims == 0 and "dim" not in call.keywords
    if reduced and short == "mean":
        flow = list_sums.mean_of(run, flow, first, call.node)
    elif reduced and short == "sum":
        flow = list_sums.sum_of(run, flow, first, call.node)
    scalar = True if known.scalar is True or reduced else None
    meta = _made(run, short, call)
    made = None
    if any(isinstance(v, (Tensor, Either, Sequence)) for v in call.values) and "device" not in call.keywords:
        together = cross_device.on_one_device(name, call)
        made = plain_tensors.combined(run, name, together, call.node, scalar=reduced)
    place = cross_device.of_computed(run, name, call, made=known.source is not None, scalar=bool(scalar))
    kind, operation, site, still = _meaning(run, name, known, leading, call)
    vague = kind in (Kind.UNKNOWN, Kind.BATCH)
    unseen = isinstance(first, Unknown) and leading is None and short not in padding.FUNCTIONS
    if isinstance(first, Unknown) and unseen and vague and known.selects and not reduced:
        return Unknown(flow, first.holds, origin=place)
    origin = (place if made is None else made).by(operation, site)
    tensor = Tensor(flow, kind, origin, scalar=scalar or still, meta=meta)
    if first is not None:
        _noted(run, short, first, call, tensor)
    if known.result == "tuple" or (known.with_dim == "tuple" and not reduced):
        if not known.indices:
            return Stream(tensor)
        chosen = cuts.cut(run, flow, first, name, call.node)
        labels = Tensor(chosen, Kind.LABELS, meta=None if meta is None else making("indices", (tensor,)))
        return run.own(Sequence("tuple", Content((tensor, labels)), names=("values", "indices")))
    if name in RESHAPES and isinstance(first, Tensor):
        run.heap.change(first, tensor)  # it has another shape from here on, whatever it is called
    if known.in_place:
        _rebind(run, name, call, tensor)
        given_gradients.changed(run, call.args[0], call.node)
    if isinstance(out := call.keywords.get("out"), Tensor):
        given_gradients.changed(run, out, call.node)
        run.heap.change(out, tensor)
    return tensor


def _gives_places(short: str, call: Call) -> bool:
    """Whether this is `where` of a condition alone, or `nonzero` that is asked for a tuple."""
    if short == "where":
        return len(call.args) + len(call.keywords) == 1
    asked = call.keywords.get("as_tuple") if short == "nonzero" else None
    return isinstance(asked, Const) and asked.value is True


def method(run: Run, of: Value, name: str, known: Function, call: Call) -> Value:
    """The result of a method of a tensor, or of something that carries one."""
    dims = len(call.args) + len(call.keywords)
    call = call.with_first(of)
    result = computed(run, name, known, call, dims=dims)
    for observe in run.observers.made[name]:
        observe(run, name, call, result)
    return result


def _plain(run: Run, name: str, call: Call, first: Value | None) -> Value:
    """A number, a size or an array that is read from tensors."""
    flow = sums.through(name, blend(value.flow for value in call.values), first)
    if name == "item" and (number := drawing.read(first)) is not None:
        return number
    counted = _OF_ONE_NUMBER.get(name.rpartition(".")[2])
    if counted is not None and first is not None and measured(first).shape == ():
        return counted
    read = cuts.cut(run, flow, first, name, call.node) if name in functions.READING else EMPTY
    if name == "size":
        return containers.size_of(call)
    return plain_from([], flow=read, size=what_is_read(name, first))


def what_is_read(name: str, tensor: Value | None) -> Making | None:
    """What is known of what is read from a tensor: a number, an array of the same numbers, or how many there are."""
    short = name.rpartition(".")[2]
    if isinstance(tensor, (Tensor, Unknown)) and short in _COUNTING:
        return Making(shapes.NUMEL, (tensor,))
    if isinstance(tensor, (Tensor, Unknown)) and name == "numpy":
        kind = tensor.kind if isinstance(tensor, Tensor) else Kind.UNKNOWN
        return Making(ARRAY, (Tensor(tensor.flow.cut(), kind, meta=making("detach", (tensor,))),))
    return _number(tensor) if name == "item" else None


def _number(tensor: Value | None) -> Making | None:
    """What is known of a number that is read from a tensor."""
    if tensor is None:
        return None
    dtype = measured(tensor).dtype
    return shapes.read(tensor, "floating" if shapes.is_floating(dtype) else "int64" if dtype else "")


def _flow(run: Run, name: str, known: Function, call: Call, first: Value | None) -> Flow:
    """The history of what is computed."""
    values = call.values
    flow = sums.through(name, blend(value.flow for value in values), first)
    flow = operators.with_parameters(run, flow, values)
    flow = operators.recorded(run, flow) if known.graph else cuts.cut(run, flow, first, name, call.node)
    if known.source is not None and flow.source.value == "unknown":
        flow = replace(flow, source=known.source)
    if name == "unfold" and first is not None:
        flow = replace(flow, rows=flow.rows | windows.unfolded(run, call))
    if flow.lost and name.rpartition(".")[2] in _SHAPED:
        flow = replace(flow, lost=NONE)
    if name.rpartition(".")[2].rstrip("_") in functions.PRODUCTS and flow.graph is not False:
        flow = operators.divided(flow)
    return flow


def _meaning(
    run: Run, name: str, known: Function, leading: Tensor | None, call: Call
) -> tuple[Kind, str, Site | None, Tri]:
    """What the numbers mean that are computed, by which operation and where, and whether they are a single one."""
    kept = _kept(name, known, leading, call)
    kind = kept.kind
    if kept.of is not None:
        origin = kept.of.origin
        operation = origin.operation if kept.zeros or kind not in functions.REACH_ZERO else f"torch.{name}"
        return kind, operation, origin.site, _still(kept.of, name, known) if kept.of is leading else None
    if kind is Kind.LOGITS:
        return kind, "", None, None
    marks = {v.origin.operation for v in call.args if isinstance(v, Tensor)} & {MADE_OF_GRADIENTS, VOLATILE}
    if marks and kind in (Kind.UNKNOWN, Kind.BATCH):
        return kind, marks.pop(), run.site(call.node), None
    return kind, f"torch.{name}" if "." not in name else name, run.site(call.node), None


def _rebind(run: Run, name: str, call: Call, tensor: Tensor) -> None:
    """A method that changes its tensor in place: the variable holds what came out."""
    node, old = call.node, call.args[0]
    if not (isinstance(node, p.Call) and isinstance(node.func, p.Attribute)) or not isinstance(old, Tensor):
        return
    target = _changed(node.func.value)
    new = running_sums.carried_on(run, target, target, tensor, node)
    named = isinstance(target, p.Name) or (isinstance(target, p.Attribute) and old.kind is Kind.PIXELS)
    if named and (new.flow is not old.flow or tensor.kind is not old.kind or name in RESHAPES):
        targets.bind(run, target, new, node)


def _changed(target: p.Expr) -> p.Expr:
    """What `target.mul_(2)`, and `target` itself, are: calls that change a tensor return it."""
    while isinstance(target, p.Call) and isinstance(target.func, p.Attribute):
        known = functions.METHODS.get(target.func.name)
        if known is None or not known.in_place:
            break
        target = target.func.value
    return target


def _of_two(call: Call) -> bool:
    """Whether `max` or `min` compares two tensors, number by number, and does not go along a dimension of one."""
    other = call.argument(1, "other")
    if isinstance(other, Either):
        return any(_of_two(call.with_args((other, option))) for _, option in other.options)
    return isinstance(other, (Tensor, ParameterValue, Params)) or (
        isinstance(other, Unknown) and (other.flow.graph is True or bool(other.flow.forwards))
    )


def _noted(run: Run, short: str, first: Value, call: Call, made: Tensor) -> None:
    """Note of a tensor that was made that it is a statistic of rows."""
    if short in STATISTICS:
        fitting.statistic(run, first, call.with_args(call.args[1:]), made)


def _made(run: Run, short: str, call: Call) -> Making | None:
    """How the result of a function is made; of a difference, a comparison and what was padded, also where and in which words."""
    if short in _PLACED:
        return making(short, call.args, call.keywords, run.text(call.node), run.site(call.node))
    return making(short, call.args, call.keywords)


def _kept(name: str, known: Function, leading: Tensor | None, call: Call) -> kinds.Kept:
    """What the numbers mean that come out of a function, and of which argument they are."""
    short = name.rpartition(".")[2].rstrip("_")
    if known.kind is None:
        kept = kinds.computed(known.effect, kinds.operands_of(known, call, leading))
        return kinds.NOTHING if kept.kind is Kind.LOSS and not known.loss else kept
    if leading is None:
        return kinds.NOTHING if short == "log" else kinds.Kept(known.kind)
    kind = known.of(leading.kind)
    if short == "log":
        kind = functions.LOG_OF.get(leading.kind, Kind.LOSS if kind is Kind.LOSS else Kind.UNKNOWN)
    elif short == "exp":
        kind = functions.EXP_OF.get(leading.kind, kind)
    of = leading if kind is leading.kind and kind is not Kind.UNKNOWN else None
    return kinds.Kept(kind, of)


def _still(tensor: Tensor, name: str, known: Function) -> Tri:
    """Whether what comes out of the tensor is a single number: of several numbers come several, unless some are chosen."""
    if tensor.scalar is True:
        return True
    as_large = known.scalar is False and known.result == "tensor" and name.rpartition(".")[2] not in functions.SELECTING
    return tensor.scalar if as_large else None
