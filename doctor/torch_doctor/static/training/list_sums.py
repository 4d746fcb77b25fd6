"""Lists and tensors of what batches gave: their sums and means, which remember it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.flow import NONE, Flow
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import arrays
from torch_doctor.static.tables.libraries import MEANS
from torch_doctor.static.training.data import arrays as data_arrays
from torch_doctor.static.training.sums import forwards_of, hits_of, means_in, with_flow
from torch_doctor.static.values import Making, Number, Plain, Sequence, Tensor, Value, fresh_symbol, plain_from
from torch_doctor.static.values.symbols import SCALAR
from torch_doctor.trace import Averaged, Meaned, Summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_NAMED = (p.Name, p.Attribute)
_JOINED = ("stack", "cat", "concat", "concatenate", "hstack")
"""Functions that make one tensor of a list."""


def summed_up(run: Run, of: Value, items: Iterable[Value], result: Value, node: p.Node) -> Value:
    """`sum(items)`: of means over batches, or of counts of right answers, a sum that remembers them."""
    sums = _at_once(run, of, items, node, counted=True)
    if not sums:
        return with_flow(result, replace(result.flow, means=NONE)) if result.flow.means else result
    flow = replace(result.flow, sums=sums, means=NONE)
    return Number(flow, size=result.size) if isinstance(result, Plain) else with_flow(result, flow)


def sum_of(run: Run, flow: Flow, of: Value | None, node: p.Node) -> Flow:
    """The history of the sum over all that is in a tensor, which was made of a list: `torch.stack(counts).sum()`."""
    made = of.meta if isinstance(of, Tensor) else None
    if not isinstance(made, Making) or made.name not in _JOINED or not made.args or run.modules_called:
        return flow
    listed = made.args[0]
    if not isinstance(listed, Sequence):
        return flow
    sums = _at_once(run, listed, listed.content.all(), node, counted=made.name == "stack")
    return replace(flow, sums=flow.sums | sums, means=NONE) if sums else flow


@library_family(lambda name: arrays.ALIKE.get(name) == "sum", stage=Stage.ADAPTER)
def array_sum(run: Run, _: str, call: Call) -> Value | None:
    """`np.sum` of a list of means over batches, or of counts; None of anything else."""
    listed = call.args[0] if len(call.values) == 1 and call.args else None
    if not isinstance(listed, Sequence):
        return None
    sums = _at_once(run, listed, listed.content.all(), call.node, counted=True)
    return plain_from(call.values, (SCALAR, fresh_symbol()), Flow(sums=sums)) if sums else None


@library_family(MEANS, stage=Stage.ADAPTER)
def mean(run: Run, name: str, call: Call) -> Value | None:
    """A function that averages numbers, which all count as much; None where these are no means over batches."""
    by_name = isinstance(call.node, p.Call) and bool(call.node.args) and isinstance(call.node.args[0], _NAMED)
    array = data_arrays.tensor_of(call.args[0]) if call.args else None
    if not call.args or not (by_name or array) or "weights" in call.keywords:
        return None
    average = averaged(run, array or call.args[0], call.node)
    symbol = (SCALAR, fresh_symbol()) if arrays.ALIKE.get(name) in arrays.SCALARS else None
    return None if average is None else plain_from(call.values, symbol, Flow(sums=frozenset((average,))))


@library_family(lambda name: arrays.ALIKE.get(name) == "as_tensor", stage=Stage.ADAPTER)
def array_of(_: Run, name: str, call: Call) -> Value | None:
    """An array of means over batches, which are known as that still; None of anything else."""
    means = means_in(call.args[0]) if call.args and isinstance(call.args[0], Sequence) else NONE
    made = data_arrays.computed(name, call) if means else None
    if made is None or not isinstance(made.args[0], Tensor):
        return None
    array = Making(made.name, (made.args[0].with_flow(Flow(means=means)),))
    return plain_from(call.values, ("array", fresh_symbol()), size=array)


def array_mean(run: Run, func: Value, call: Call) -> Value | None:
    """`array.mean()` of means over batches; None of anything else."""
    made = func.size if isinstance(func, Plain) else None
    if made is None or made.name != data_arrays.METHOD or made.of != "mean" or not made.args:
        return None
    average = averaged(run, made.args[0], call.node)
    return None if average is None else plain_from((func,), (SCALAR, fresh_symbol()), Flow(sums=frozenset((average,))))


def averaged(run: Run, values: Value, node: p.Node) -> int | None:
    """`mean(values)`, where these are means over batches or counts of right answers, all with the same weight: its event."""
    means, counted = means_in(values), NONE
    if not means and isinstance(values, Sequence):
        counted = _at_once(run, values, values.content.all(), node, counted=True)
    if not means and not counted:
        return None
    length = values.counted if counted and isinstance(values, Sequence) else 0
    event: Averaged = run.emit(Averaged, node, name=run.text(node), sums=counted, means=means, length=length)
    return event.index


def mean_of(run: Run, flow: Flow, of: Value | None, node: p.Node) -> Flow:
    """The history of a tensor's mean over all that is in it."""
    if flow.means:
        if not (isinstance(of, Tensor) and of.scalar is True):  # means of batches, made one tensor
            event = run.emit(Averaged, node, name=run.text(node), sums=NONE, means=flow.means)
            return replace(flow, means=NONE, sums=flow.sums | {event.index})
    elif flow.forwards and run.loop_depth and not run.modules_called and isinstance(of, Tensor):
        event = run.emit(Meaned, node, value=run.fact(of), hits=hits_of(run, of))
        return replace(flow, means=frozenset((event.index,)))
    return flow


def _at_once(run: Run, of: Value, items: Iterable[Value], node: p.Node, *, counted: bool) -> frozenset[int]:
    """The event of a sum of these, if all are means over batches, or count or mark where answers are right; else none."""
    values = list(items)
    each = [item.flow.means if isinstance(item, (Tensor, Plain)) else NONE for item in values]
    hits = []
    if not any(each):
        hits = [hits_of(run, value, counted=counted) if forwards_of(value) else None for value in values]
    if not all(each) and (None in hits or not hits):
        return NONE
    means, forwards = NONE.union(*each), NONE.union(*map(forwards_of, values)) if hits else NONE
    of_list = {
        "at_once": True,
        "listed": of.counted if isinstance(of, Sequence) else 0,
        "hits": hits[0] if hits else None,
    }
    event = run.emit(Summed, node, holder=_summand(run, node), means=means, forwards=forwards, **of_list)
    return frozenset((event.index,))


def _summand(run: Run, node: p.Node) -> str:
    """The user's expression for what is summed: the argument of a function, or whose method it is."""
    if isinstance(node, p.Call) and not node.args and isinstance(node.func, p.Attribute):
        return run.text(node.func.value)
    return run.text_of_argument(node, 0)
