"""Computes with tensors: methods, functions and losses, as the tables declare them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import EMPTY, blend
from torch_doctor.static.language import containers, operators, outside, targets
from torch_doctor.static.measuring import making, measured, size_at, with_facts
from torch_doctor.static.tables import functions, losses
from torch_doctor.static.tables.fitting import STATISTICS
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import (
    broadcasts,
    cuts,
    fitting,
    gradients,
    initialising,
    keeping,
    lost_moves,
    memory,
    parameters,
    pixels,
    places,
    plain_tensors,
    sums,
)
from torch_doctor.static.training.reductions import reduction_of
from torch_doctor.static.values import (
    MADE_OF_GRADIENTS,
    NOTHING,
    VOLATILE,
    Args,
    Const,
    Content,
    Either,
    Keywords,
    Making,
    Meta,
    Method,
    Module,
    ParameterValue,
    Params,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
    either,
    plain_from,
    shapes,
)
from torch_doctor.trace import (
    Kind,
    LogTaken,
    LossCalled,
    Normalised,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.executor import Executor
    from torch_doctor.trace import Site, Tri

JOINING = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack"))
"""Functions that put tensors together."""


RESHAPES = frozenset(("squeeze_", "unsqueeze_", "transpose_", "t_", "resize_", "resize_as_", "set_"))
"""Methods that give the tensor itself another shape."""


SOFTMAXES = frozenset(("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin"))
"""Functions and layers that make numbers along a dimension (their first setting) sum to one."""


def tensor_method(
    run: Executor, of: Value, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
) -> Value:
    """A method of a tensor, or of something that carries one."""
    if name == "backward":
        gradients.backward(run, of, node, receiver, through="backward", args=args, keywords=keywords)
        return NOTHING
    if name in ("requires_grad_", "retain_grad"):
        on = args[0] if args else keywords.get("requires_grad")
        gathers = not (isinstance(on, Const) and not on.value)
        if name == "requires_grad_" and gathers and isinstance(of, Tensor) and of.flow.graph is False:
            return cuts.leaf(run, of.flow, of, node, origin=of.made)
        return of
    if isinstance(of, ParameterValue):
        if name.endswith("_") and not name.startswith("_"):
            parameters.changed_by_hand(run, frozenset((of.id,)), args, node)
            return of
        if name in MOVES:
            return parameters.moved(of, name, args, keywords)
        of = Tensor(of.flow, made=None if of.declared else of.made)
    known = functions.METHODS.get(name)
    assert isinstance(of, (Tensor, Unknown))
    if known is None:
        return (
            outside.opaque(run, Method(of, name), args, keywords, node, receiver)
            if not isinstance(of, Tensor)
            else Unknown(of.flow)
        )
    result = computed(run, name, known, (of, *args), keywords, node, dims=len(args) + len(keywords))
    if known.in_place:
        keeping.stored(run, result, node)
    if name in MOVES and isinstance(result, (Tensor, Unknown)):
        place = places.moved(run, of, name, args, keywords, node)
        if isinstance(result, Unknown) and result is not of:
            result = Unknown(result.flow, result.holds, place=place)
        elif isinstance(result, Tensor) and result is not of and result.made is None:
            result = result.at(place)
    if run.straight:
        initialising.computed(run, name, of, result)
    return result


def computed(  # noqa: PLR0911, PLR0915 - one return per sort of result
    run: Executor, name: str, known: functions.Function, values: Args, keywords: Keywords, node: p.Node, *, dims: int
) -> Value:
    """The result of a function of torch, by its table entry; `dims` counts the arguments beside the first."""
    if name.rpartition(".")[2] in ("max", "min") and _of_two(values, keywords):
        known, dims = functions.METHODS["maximum"], 1
    everything = [*values, *keywords.values()]
    first = next(
        (v for v in values if isinstance(v, (Tensor, Unknown, ParameterValue, Params, Sequence, Either))), None
    )
    if known.result == "none":
        return NOTHING
    flow = sums.through(name, blend(value.flow for value in everything), first)
    if known.result == "plain":
        read = cuts.cut(run, flow, first, name, node) if name in functions.READING else EMPTY
        return containers.size_of(values, keywords) if name == "size" else plain_from([], flow=read)
    if any(isinstance(v, Params) and not v.cut for v in everything) and run.grad is not False:
        owners = frozenset[int]().union(*(v.modules for v in everything if isinstance(v, Params) and not v.cut))
        flow = replace(flow, graph=run.grad, modules=flow.modules | owners)
    flow = operators.recorded(run, flow) if known.graph else cuts.cut(run, flow, first, name, node)
    if known.source is not None and flow.source.value == "unknown":
        flow = replace(flow, source=known.source)
    if name.rpartition(".")[2].rstrip("_") in functions.PRODUCTS and flow.graph is not False:
        flow = operators.divided(flow)
    leading = _leading(run, first)
    kind = _kind(name, known, leading)
    reduced = known.scalar is None and dims == 0 and "dim" not in keywords
    if reduced and name.rpartition(".")[2] == "mean":
        flow = sums.mean_of(run, flow, first, node)
    scalar = True if known.scalar is True or reduced else None
    short = name.rpartition(".")[2]
    meta = _made(run, short, values, keywords, node)
    _told(run, name, first, leading, (values, keywords), node)
    made = None
    if any(isinstance(v, (Tensor, Either, Sequence)) for v in everything) and "device" not in keywords:
        made = plain_tensors.combined(run, name, everything, node, scalar=reduced)
    place = places.of_computed(run, name, values, keywords, node, made=known.source is not None, scalar=bool(scalar))
    vague = kind in (Kind.UNKNOWN, Kind.BATCH)
    if isinstance(first, Unknown) and leading is None and vague and known.kind is None and not reduced:
        return Unknown(flow, first.holds, place=place)
    if leading is not None and kind is leading.kind and kind is not Kind.UNKNOWN:
        made_by = leading.made_by if known.keeps_zeros or kind not in functions.LOG_OF else f"torch.{name}"
        scalar = scalar or _still(leading, name, known)
        tensor = Tensor(flow, kind, leading.made_at, made_by, leading.trail, scalar, meta, made=made, place=place)
    else:
        made_by = f"torch.{name}" if "." not in name else name
        tensor = Tensor(flow, kind, run.site(node), made_by, (), scalar, meta, made=made, place=place)
    marks = {v.made_by for v in values if isinstance(v, Tensor)} & {MADE_OF_GRADIENTS, VOLATILE}
    if marks and vague:
        tensor = tensor.altered(made_by=marks.pop())
    if first is not None:
        _noted(run, short, first, (values, keywords), tensor, node)
    if known.result == "tuple" or (known.with_dim == "tuple" and not reduced):
        if known.indices:
            along = making("argmax", values, keywords) if short in ("max", "min", "median", "mode") else None
            labels = Tensor(cuts.cut(run, flow, first, name, node), Kind.LABELS, meta=along)
            return run.own(Sequence("tuple", Content((tensor, labels))))
        return Stream(tensor)
    if name in RESHAPES and isinstance(first, Tensor):
        run.heap.change(first, tensor)  # it has another shape from here on, whatever it is called
    if (
        known.in_place
        and isinstance(node, p.Call)
        and isinstance(node.func, p.Attribute)
        and isinstance(node.func.value, (p.Name, p.Attribute))
    ):
        old = values[0]
        if isinstance(node.func.value, p.Attribute) and not (isinstance(old, Tensor) and old.kind is Kind.PIXELS):
            return tensor
        if isinstance(old, Tensor) and (flow is not old.flow or tensor.kind is not old.kind or name in RESHAPES):
            targets.bind(run, node.func.value, tensor, node)
    return tensor


def _of_two(values: Args, keywords: Keywords) -> bool:
    """Whether `max` or `min` compares two tensors, number by number, and does not go along a dimension of one."""
    other = values[1] if len(values) > 1 else keywords.get("other")
    if isinstance(other, Either):
        return any(_of_two((other, option), {}) for _, option in other.options)
    return isinstance(other, (Tensor, ParameterValue, Params)) or (
        isinstance(other, Unknown) and (other.flow.graph is True or bool(other.flow.forwards))
    )


def _told(
    run: Executor,
    name: str,
    first: Value | None,
    leading: Tensor | None,
    given: tuple[Args, Keywords],
    node: p.Node,
) -> None:
    """Write what a function does that has an event of its own."""
    short = name.rpartition(".")[2]
    values, keywords = given
    if short in SOFTMAXES and first is not None:
        named = next((keywords[word] for word in ("dim", "axis", "**") if word in keywords), None)  # axis: as in numpy
        dim = values[1] if len(values) > 1 else named
        normalised(run, name if "." in name else f"torch.{name}", first, dim, run.site(node))
    if short in functions.LOGS and leading is not None and leading.kind is not Kind.UNKNOWN:
        run.emit(LogTaken, node, function=f"torch.{short}", input=run.fact(leading, _argument(run, node)))


def _noted(run: Executor, short: str, first: Value, given: tuple[Args, Keywords], made: Tensor, node: p.Node) -> None:
    """Note what a tensor that was made has of others: their memory, or a statistic of their rows."""
    values, keywords = given
    if run.shares.of:
        memory.viewed(run, short, first, made)
        if short in JOINING:
            memory.used(run, values, node, many=True)
    if short in STATISTICS:
        fitting.statistic(run, first, values[1:], keywords, made, node)


def normalised(run: Executor, function: str, given: Value, dim: Value | None, site: Site) -> None:
    """Say over how many numbers a softmax goes, where that is known; without a `dim` torch chooses."""
    shape = measured(given).shape
    omitted = dim is None or (isinstance(dim, Const) and dim.value is None)
    size: object = None
    if shape is not None:
        chosen: object = size_at(dim) if dim is not None else None
        if omitted and shapes.ANY not in shape:
            chosen = 0 if len(shape) in (0, 1, 3) else 1
        place = shapes.place(shape, chosen)
        size = None if place is None else shape[place]
    if isinstance(size, int) or omitted:
        fact = with_facts(run.fact(given), given)
        known = size if isinstance(size, int) else 0
        run.emit(Normalised, site, function=function, input=fact, size=known, dim_given=not omitted)


def _made(run: Executor, short: str, values: Args, keywords: Keywords, node: p.Node) -> Making | None:
    """How the result of a function is made; of a difference also where and in which words."""
    if short in broadcasts.DIFFERENCES:
        return making(short, values, keywords, run.text(node), run.site(node))
    return making(short, values, keywords)


def _argument(run: Executor, node: p.Node) -> str:
    """The text of what a function gets first, or whose method it is."""
    if isinstance(node, p.Call) and not node.args and isinstance(node.func, p.Attribute):
        return run.text(node.func.value)
    return run.text_of_argument(node, 0)


def _kind(name: str, known: functions.Function, leading: Tensor | None) -> Kind:
    """What the numbers mean that come out of a function."""
    if leading is None:
        return Kind.UNKNOWN if name == "log" else known.kind or Kind.UNKNOWN
    kind = known.of(leading.kind)
    if name == "log":
        return functions.LOG_OF.get(leading.kind, Kind.LOSS if kind is Kind.LOSS else Kind.UNKNOWN)
    return functions.EXP_OF.get(leading.kind, kind) if name == "exp" else kind


def _still(tensor: Tensor, name: str, known: functions.Function) -> Tri:
    """Whether what comes out of the tensor is a single number: of several numbers come several, unless some are chosen."""
    if tensor.scalar is True:
        return True
    as_large = known.scalar is False and known.result == "tensor" and name.rpartition(".")[2] not in functions.SELECTING
    return tensor.scalar if as_large else None


def _leading(run: Executor, value: Value | None) -> Tensor | None:
    """The tensor whose kind a computation keeps."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Either):
        return run.agreed(value)
    if isinstance(value, Sequence):
        items = [item for item in value.content.all() if isinstance(item, Tensor)]
        if items and len(items) == len(value.content.all()) and all(item.kind is items[0].kind for item in items):
            return items[0]
    return None


def call_function(
    run: Executor, name: str, known: functions.Function, args: Args, keywords: Keywords, node: p.Node
) -> Value:
    """Call a function of torch that the tables know."""
    needs = keywords.get("requires_grad")
    if needs is not None and isinstance(needs, Const) and needs.value:
        leading = args[0] if args else None
        flow = cuts.cut(run, blend(value.flow for value in args[:1]), leading, name, node)
        if flow.source is Source.UNKNOWN and known.source is not None:
            flow = replace(flow, source=known.source)
        return cuts.leaf(run, flow, leading, node, origin=plain_tensors.of_factory(run, name, args, keywords, node))
    made = plain_tensors.of_factory(run, name, args, keywords, node) if known.source is not None else None
    short = name.rpartition(".")[2]
    dims = len(args) + len(keywords) - 1
    if short in functions.METHODS and functions.METHODS[short].scalar is not None:
        dims = max(0, dims)
    result = computed(run, short if short in ("log", "exp") else name, known, args, keywords, node, dims=dims)
    result = pixels.made(run, name, args, keywords, result, node)
    if isinstance(result, Tensor) and short in JOINING and (result.kind is Kind.UNKNOWN or not result.made_by):
        result = result.altered(made_by=name)
    if made is not None and isinstance(result, Tensor):
        result = result.with_made(made)
    if run.straight and args:
        initialising.computed(run, name, args[0], result)
    memory.shared(run, name, args, keywords, result, node)
    volatile = keywords.get("volatile")
    if isinstance(volatile, Const) and volatile.value and isinstance(result, (Tensor, Unknown)):
        return Tensor(result.flow, Kind.BATCH, made_by=VOLATILE)
    return result


def compute_loss(
    run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str, module: Module | None = None
) -> Value:
    """Compute one of torch's losses."""
    table = losses.LOSSES[name]
    given = args[table.input] if table.input < len(args) else keywords.get(table.input_name, Unknown())
    target: Value = Unknown()
    if table.target is not None:
        target = args[table.target] if table.target < len(args) else keywords.get(table.target_name, Unknown())
    flow = operators.recorded(run, blend(value.flow for value in (*args, *keywords.values())))
    if run.shares.of:
        memory.used(run, (given, target), node)
    plain_tensors.combined(run, name, (given, target), node)
    if not name.endswith(("ctc_loss", "CTCLoss")):
        places.together(run, name, (given, target), node, loss=True)
    lost_moves.used(run, (given, target))
    if flow.divided is not False:
        flow = replace(flow, divided=False)
    settings = module.settings if module is not None else keywords
    reduction = reduction_of(name, args, keywords, module)
    scalar = losses.SCALAR.get(reduction, None if "reduction" in settings else True)
    if scalar is False and isinstance(given, Tensor) and given.scalar is True:
        scalar = True
    place = places.result(run, (given, target), scalar=scalar is not False)
    meta = Meta("floating", ()) if scalar else None
    output = Tensor(flow, Kind.LOSS, run.site(node), name, (), scalar, meta, place=place)
    text = run.text_of_argument(node, table.input)
    spelled_target = "" if table.target is None else run.text_of_argument(node, table.target)

    def called(value: Value) -> bool:
        run.emit(
            LossCalled,
            node,
            loss=name,
            name=spelling,
            expects=table.expects,
            input=with_facts(run.fact(value, text), value),
            target=with_facts(run.fact(target, spelled_target), target),
            output=run.fact(output),
            reduction=reduction,
        )
        return True

    _of_each_model(run, given, called, node)
    return output.with_flow(sums.mean_loss(run, flow, reduction))


def _of_each_model(run: Executor, value: Value, called: Callable[[Value], bool], node: p.Node) -> None:
    """Call once, or, where a test chose between models that give other kinds of values, for each on its own path."""
    if not isinstance(value, Either) or run.agreed(value) is not None:
        called(value)
        return
    (_, first), *others = value.options
    models = [option.flow.forwards for _, option in value.options]
    apart = all(models) and sum(map(len, models)) == len(frozenset().union(*models))
    decision = run.deciding(value)
    if not apart or decision is None or not all(isinstance(option, Tensor) for _, option in value.options):
        called(value)
        return
    symbol, arm = decision
    rest = others[0][1] if len(others) == 1 else either(others)

    def second() -> bool:
        _of_each_model(run, rest, called, node)
        return True

    run.fork((({symbol: arm}, lambda: called(first)), ({symbol: not arm}, second)), node, symbol)
