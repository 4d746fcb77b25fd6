"""Elementwise operations on a column and a row that a loss is made of: found from how it was made, when it goes backward."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes import Sizes
from torch_doctor.static.domains.axes.lengths import equal
from torch_doctor.static.measuring import measured, with_facts
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.tables.functions import DIFFERENCES, PRODUCTS
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import Const, Either, Making, Sequence, Tensor, Value
from torch_doctor.static.values.shapes import Returned
from torch_doctor.trace import Broadcast
from torch_doctor.trace.amounts import ONE, Amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site, TensorFact, Tri

MOST = 100
"""Steps of a computation that are looked at, from its end."""
_QUOTIENTS: Final = frozenset(words("/ div divide true_divide"))
_PRODUCTS: Final = PRODUCTS | {"*", "/"}
_COMBINED: Final = DIFFERENCES | _PRODUCTS | {"+", "add"}
"""Sums, differences, products and quotients of two tensors."""
_TOTALS: Final = frozenset(words("mean sum nanmean nansum"))
_KEPT: Final = MOVES | frozenset(words("neg clone detach contiguous"))
"""What leaves a tensor as it is, but for a factor."""
_EACH: Final = frozenset(
    words(
        """
        ** pow square abs absolute exp log log1p sqrt tanh sigmoid logsigmoid relu softplus max min maximum minimum clamp
        clamp_min clamp_max clip where masked_fill nan_to_num either
        """
    )
) | {table.LOSSES}
"""What computes each element for itself."""


SUMS, PRODUCTS_TOO, ANYTHING = range(3)


class _Step(NamedTuple):
    """A value behind a loss, and what the loss makes of it."""

    value: Value
    summed: Tri = False
    """Whether all its elements are summed up; None if something else is done with them."""
    through: int = SUMS
    """What is computed of the elements before: sums, products too, or anything else."""
    within: bool = False
    """Whether a module that was called computed it."""


class Broadcasts(Observer, operated=("+", "-", "*", "/"), made=lambda name: name.rpartition(".")[2] in _COMBINED):
    """Differences of tensors with different numbers of dimensions, of which a loss is made that goes backward.

    Of other operations, and of those within modules, those on a column and a row of equal length whose results are summed up.
    """

    writes = (Broadcast,)

    _places: dict[Making, tuple[Unit, p.Node]] = per_run(dict)  # where sums and products stand

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """An operator was applied."""
        self._placed(run, result, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A function or method was called."""
        self._placed(run, result, call.node)

    def _placed(self, run: Run, result: Value, node: p.Node) -> None:
        if isinstance(result, Tensor) and isinstance(result.meta, Making):
            self._places[result.meta] = run.frame.unit, node

    @override
    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Write the operations behind a loss."""
        told: set[Making] = set()
        for made, step in _behind(loss):
            if made.name not in _COMBINED or len(made.args) < 2 or made in told:
                continue
            sides = measured(made.args[0]).shape, measured(made.args[1]).shape
            if not sides[0] or not sides[1] or len(sides[0]) == len(sides[1]):
                continue
            difference = made.name in DIFFERENCES and not step.within
            length = _length(run, made) if step.summed else None
            harmless = (
                step.through == SUMS and made.name not in _PRODUCTS
            )  # the mean of all sums is the sum of the means
            if not difference and (length is None or harmless):
                continue
            facts = [with_facts(run.fact(each), each) for each in made.args[:2]]
            facts = facts if length is None else [_named(fact, length) for fact in facts]
            site = self._site(made)
            if site is not None:
                told.add(made)
                run.emit(
                    Broadcast,
                    site[0],
                    name=site[1],
                    left=facts[0],
                    right=facts[1],
                    operation=_called(made.name),
                    by_method=site[2],
                    linear=step.through != ANYTHING and made.name not in DIFFERENCES,
                )

    def _site(self, made: Making) -> tuple[Site, str, bool] | None:
        """Where an operation stands, how it is written, and whether it is a call of a method."""
        if made not in self._places:
            return None if made.site is None else (made.site, made.of if isinstance(made.of, str) else "", False)
        unit, node = self._places[made]
        return unit.site(node.at), unit.text(node.at), isinstance(node, p.Call) and len(node.args) == 1


def _behind(loss: Value) -> Iterator[tuple[Making, _Step]]:
    """How a loss was made, from its end, and of what."""
    waiting = [_Step(loss)]
    seen: set[tuple[object, ...]] = set()
    while waiting and len(seen) < MOST:
        step = waiting.pop()
        value = step.value
        if isinstance(value, Either):
            waiting += [step._replace(value=option) for _, option in value.options]
        elif isinstance(value, Sequence):
            waiting += [step._replace(value=each) for each in value.content.all()]
        if not isinstance(value, Tensor):
            continue
        made = value.meta
        if isinstance(made, Returned):
            made, step = made.within, step._replace(within=True)
        if not isinstance(made, Making) or (key := (id(made), *step[1:])) in seen:
            continue
        seen.add(key)
        yield made, step
        after = _after(made, step)
        for place, each in enumerate(made.args):
            if after.summed is not None or not after.within:
                through = max(step.through, PRODUCTS_TOO) if _is_compared(made, place) else after.through
                waiting.append(after._replace(value=each, through=through))


def _is_compared(made: Making, place: int) -> bool:
    """Whether a loss compares this argument with a column or a row."""
    other = measured(made.args[1 - place]).shape if made.name == table.LOSS and len(made.args) > 1 else None
    return other is not None and (len(other) == 1 or (len(other) == 2 and other[1] == 1))


def _after(made: Making, step: _Step) -> _Step:
    """What a loss makes of the arguments of an operation."""
    if made.name == table.LOSS:
        return step._replace(summed=True, through=ANYTHING)
    if made.name in _TOTALS:
        over = argument(made, 1, "dim")
        whole = over is None or (isinstance(over, Const) and over.value is None)
        return step._replace(summed=True if whole and "axis" not in made.keywords else None)
    if made.name in _EACH:
        return step._replace(through=ANYTHING)
    if made.name in _PRODUCTS and step.summed and all(measured(each).shape != () for each in made.args):
        return step._replace(through=max(step.through, PRODUCTS_TOO))
    return step if made.name in _COMBINED | _KEPT else step._replace(summed=None)


def _called(name: str) -> str:
    """What an operation is called."""
    if name in DIFFERENCES:
        return "difference"
    return "quotient" if name in _QUOTIENTS else "product" if name in _PRODUCTS else "sum"


def _length(run: Run, made: Making) -> Amount | None:
    """How long a column and a row are; None where they are none, or where it is not known that both are as long."""
    sizes = [run.ask(Sizes, each) for each in made.args[:2]]
    column = next((each for each in sizes if each is not None and len(each) == 2 and each[1] == ONE), None)
    row = next((each for each in sizes if each is not None and len(each) == 1), None)
    if column is None or row is None or column[0] is None or row[0] is None:
        return None
    sizes_of = partial(run.ask, Sizes)
    return row[0] if equal(column[0], sizes_of) & equal(row[0], sizes_of) else None


def _named(fact: TensorFact, length: Amount) -> TensorFact:
    """The fact of a column or row of this length, which has a name where it is no number."""
    size = length.number if not length.names else "N"
    return replace(fact, shape=tuple(size if each is None else each for each in fact.shape or ()))
