"""Sums over steps: where they start, what is added, and what they are divided by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.domains import counting
from torch_doctor.static.domains.hits import Hits
from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.flow import NONE, Flow
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.measuring import size_at
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.functions import ALIKE
from torch_doctor.static.training.data import arrays as data_arrays
from torch_doctor.static.values import (
    Const,
    Default,
    Making,
    Number,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Zero,
    shapes,
)
from torch_doctor.static.values.shapes import BATCH
from torch_doctor.trace import LossCalled, Meaned, Source, Steered, Summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol
    from torch_doctor.static.values.shapes import Shape


class Turns(Knowledge):
    """Loaders whose batches loops take all of, how far the numbers lie apart that loops count, and how many there are."""

    loaders: dict[int, int] = per_run(dict)  # by the number in the symbol of a turn
    steps: dict[int, Symbol] = per_run(dict)
    lengths: dict[int, float | None] = per_run(dict)


class Weighted(Knowledge):
    """The means of batches that products with the sizes of these are made of, and the losses that are sums over their batch."""

    means: dict[int, frozenset[int]] = per_run(dict)  # by the id of the product's node
    totals: dict[Making, int] = per_run(dict)  # by the record of the loss


_PERCENT = (1, 100)
_ZEROS = ("zeros", "zeros_like", "new_zeros")
_NUMBERS = ("tensor", "as_tensor", "scalar_tensor")


def started(run: Run, value: Value, node: p.Node) -> Value:
    """What a name gets: a zero remembers where it was assigned."""
    if (
        isinstance(value, Const)
        and not isinstance(value, (Zero, Default))
        and type(value.value) in (int, float)
        and not value.value
    ):
        return Zero(value.value, run.site(node))
    return value


def summed(run: Run, old: Value, value: Value, result: Value, node: p.Augment) -> Value:
    """`holder += something`: the sum, which remembers what went into it."""
    if node.op != "+" or not run.loop_depth or run.modules_called or isinstance(result, Const):
        return result
    if result.flow.means and not old.flow.means:  # else they are terms of one loss
        result = with_flow(result, replace(result.flow, means=NONE))
    earlier = [event for event in run.trace.at(*old.flow.sums) if isinstance(event, Summed)]
    start = old.site if isinstance(old, Zero) else next((event.started for event in earlier), None)
    if not earlier and start is None and not _is_zero(old):
        return result
    event = run.emit(
        Summed,
        node,
        holder=run.text(node.target),
        started=start,
        carries=old.flow.sums,
        means=value.flow.means if isinstance(value, (Tensor, Plain)) else NONE,
        counts=isinstance(value, Const) and value.value == 1,
        rows=is_batch_size(value),
        weighted=run.of(Weighted).means.get(id(node.value)) or _total(run, value),
        forwards=(forwards := forwards_of(value)),
        hits=hits_of(run, value, counted=True) if forwards else None,
    )
    run.of(Merits).added[event.index] = value
    flow = replace(result.flow, sums=old.flow.sums | {event.index}, means=NONE)
    if isinstance(result, Plain):
        return Number(flow, size=result.size)
    return with_flow(result, flow)


def _is_zero(old: Value) -> bool:
    """Whether a counter that is no name of its own has nothing yet: an item of a table, or a tensor of zeros."""
    if isinstance(old, Const):
        return type(old.value) in (int, float) and not old.value
    tensor = data_arrays.tensor_of(old) or old
    made = tensor.meta if isinstance(tensor, Tensor) else None
    if not isinstance(made, Making):
        return False
    given = made.args[0] if made.args else None
    return made.name in _ZEROS or (made.name in _NUMBERS and isinstance(given, Const) and given.value == 0)


def ratio(run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> frozenset[int]:
    """The means over batches that a product or quotient is, in percent or not; a sum over a batch by its size is one."""
    percent = [isinstance(each, Const) and each.value in _PERCENT for each in operands]
    if op in "*/" and len(operands) == 2 and percent[op == "/" :].count(True) == 1:
        return operands[percent.index(True) - 1].flow.means if not all(percent) else NONE
    if op == "*" and len(operands) == 2 and run.loop_depth:
        means = next((one.flow.means for one, by in (operands, operands[::-1]) if is_batch_size(by)), NONE)
        if means:
            run.of(Weighted).means[id(node)] = means
    if op != "/" or not run.loop_depth or run.modules_called or not is_batch_size(operands[1]):
        return NONE
    read = shapes.read_from(operands[0].size) if isinstance(operands[0], Plain) else operands[0]
    made = read.meta if isinstance(read, Tensor) and read.flow.forwards and not read.flow.sums else None
    if not isinstance(made, Making) or made.name != "sum" or len(made.args) != 1 or made.keywords:
        return NONE
    event: Meaned = run.emit(Meaned, node, value=run.fact(made.args[0]), hits=hits_of(run, made.args[0]), by_rows=True)
    return frozenset((event.index,))


def steered(run: Run, values: Iterable[Value], node: p.Node) -> None:
    """These decide what happens, and a sum or an average may be one of them."""
    found = NONE.union(*(value.flow.sums for value in values))
    if found:
        run.emit(Steered, node, sums=found)


def _total(run: Run, value: Value) -> frozenset[int]:
    """The event of a loss that is the sum over its batch, if a value is one."""
    read = shapes.read_from(value.size) if isinstance(value, Plain) else value
    made = read.meta if isinstance(read, Tensor) else None
    while isinstance(made, Making) and made.name in ALIKE and made.args and isinstance(inner := made.args[0], Tensor):
        made = inner.meta
    found = run.of(Weighted).totals.get(made) if isinstance(made, Making) else None
    return NONE if found is None else frozenset((found,))


def mean_loss(run: Run, flow: Flow, reduction: str, made: object = None) -> Flow:
    """The history of a loss that has just been computed, with the record of that."""
    last = run.trace.events[-1] if run.trace.events else None
    if reduction == "sum" and isinstance(last, LossCalled) and flow.forwards and isinstance(made, Making):
        run.of(Weighted).totals[made] = last.index
    if reduction in ("mean", "batchmean") and isinstance(last, LossCalled) and flow.forwards:
        return replace(flow, means=frozenset((last.index,)))
    return replace(flow, means=NONE) if flow.means else flow


def through(name: str, flow: Flow, of: Value | None) -> Flow:
    """What a function of torch leaves of a batch's mean: itself, where it only looks different."""
    if not flow.means or (name.rpartition(".")[2] in ALIKE and (not isinstance(of, Sequence) or means_in(of))):
        return flow
    return replace(flow, means=NONE)


def counts(run: Run, number: Plain) -> bool:
    """Whether a number is a count: it starts at 0, and whatever is added to it is 1."""
    events = run.trace.at(*number.flow.sums)
    return bool(events) and all(isinstance(event, Summed) and event.counts for event in events)


def apart(op: str, operands: tuple[Value, ...], flow: Flow) -> Flow:
    """The history of what an operator computed: a difference has no longer what both sides have, such as earlier passes."""
    if op != "-" or len(operands) < 2 or not operands[1].flow.sums:
        return flow
    return replace(flow, sums=operands[0].flow.sums - operands[1].flow.sums)


def number_with(op: str, number: Plain, terms: tuple[Value, ...]) -> Plain:
    """The sum or difference of such terms: with the mean of a batch in it, it grows by one with every batch."""
    means = frozenset[int]().union(*(term.flow.means for term in terms))
    flow = apart(op, terms, number.flow)
    if not means and flow is number.flow:
        return number
    return Number(replace(flow, means=means or flow.means), number.symbol, number.size)


def ratio_with(run: Run, op: str, number: Plain, operands: tuple[Value, ...], node: p.Node) -> Plain:
    """A product or quotient of numbers, which may be the mean of a batch."""
    means = ratio(run, op, operands, node)
    return Number(replace(number.flow, means=means), number.symbol, number.size) if means else number


def forwards_of(value: Value) -> frozenset[int]:
    """The forwards whose results are in a value, or in what a number was read from."""
    read = shapes.read_from(value.size) if isinstance(value, Plain) else None
    return value.flow.forwards if read is None else read.flow.forwards


def hits_of(run: Run, value: Value, *, counted: bool = False) -> Shape | None:
    """The sizes of the labels, if a value marks, or with `counted` counts, where answers are right; None for anything else."""
    marks = run.ask(Hits, value)
    if marks is None or marks.counted is not counted or isinstance(marks.labels, Unknown):
        return None
    return marks.shape or (shapes.ANY,)


def is_batch_size(number: Value) -> bool:
    """Whether it is how many rows a batch of a loader has: the first size of one of its tensors."""
    if not isinstance(number, Plain) or number.size is None or number.size.name != "size":
        return False
    of = number.size.args[0]
    if not isinstance(of, Tensor) or of.flow.source is not Source.LOADER or counting.counts_all(number):
        return False
    return size_at(number) == BATCH or (of.origin.how == "batch" and number.size.of == 0)


def means_in(values: Value) -> frozenset[int]:
    """The means of batches of which a list consists, and of nothing else."""
    if isinstance(values, Sequence):
        items = values.content.all()
        return values.flow.means if all(item.flow.means for item in items) else NONE
    return values.flow.means if isinstance(values, (Tensor, Plain)) else NONE


def with_flow(value: Value, flow: Flow) -> Value:
    """The value with another history."""
    if isinstance(value, Plain):
        return Number(flow, value.symbol, value.size)
    if isinstance(value, Tensor):
        return value.with_flow(flow)
    return Unknown(flow, value.holds) if type(value) is Unknown else value
