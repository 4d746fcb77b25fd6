"""Products and sums with weights that a softmax gave: along which dimension it normalised them, and over which one they go."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from torch_doctor.static.domains.axes import Sizes, comparing
from torch_doctor.static.domains.axes.origins import VIEWS, At, before, from_end
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.measuring.layers import setting
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.module.mixed_rows import rows_first
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Making
from torch_doctor.trace import WeightsSummed
from torch_doctor.trace.amounts import ONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.domains.axes.origins import SizesOf
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module, Value
    from torch_doctor.trace import Site
    from torch_doctor.trace.amounts import Amount

_SOFTMAXES: Final = frozenset(("softmax", "nn.Softmax"))
_NAMES: Final = comparing.PRODUCTS.keys() | {"softmax", "sum"}


class SoftmaxWeights(Observer, made=lambda name: name.rpartition(".")[2] in _NAMES, operated=("@", "/")):
    """Follows weights from a softmax to the next product."""

    writes = (WeightsSummed,)

    _places: dict[Making, tuple[Site, str]] = per_run(dict)  # where each softmax stands, and how it is written

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A layer was called, which may be a softmax."""
        if module.cls is None and module.layer == "torch.nn.Softmax":
            self._softmax(run, call.node, result)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A softmax, a product or a sum."""
        if name.rpartition(".")[2] == "softmax":
            self._softmax(run, call.node, result)
        elif self._places:
            self._used(run, result, call.node)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """A product; or a division, by the sum of weights that the script normalises itself."""
        if not self._places:
            return
        if op == "@":
            self._used(run, result, node)
        elif (softmax := comparing.any_softmax(operands[-1], _SOFTMAXES)) in self._places and softmax is not None:
            self._told(run, softmax, node, 0, 0)

    def _softmax(self, run: Run, node: p.Node, result: Value) -> None:
        made = comparing.made_of(result)
        if made is not None and made.name in _SOFTMAXES:
            self._places[made] = run.site(node), run.text(node)

    def _used(self, run: Run, result: Value, node: p.Node) -> None:
        """Weights may be used: find the softmax, and what it normalised."""
        made = comparing.made_of(result)
        if made is None:
            return
        sizes = partial(run.ask, Sizes)
        for weights, values in weights_in(made, sizes):
            found = comparing.softmax_behind(weights, _SOFTMAXES, sizes)
            if found is None or found[0] not in self._places or comparing.any_softmax(values, _SOFTMAXES) is not None:
                continue
            softmax, at = found
            given, rank = softmax.args[0], at.rank
            shape = sizes(given)
            rank = rank if shape is None else len(shape)
            dim = argument(softmax, 1, "dim") if softmax.name == "softmax" else setting(softmax, 0, "dim")
            along = from_end(dim, rank)
            if along is None or not (weights.exact or _size_at(At(given, along, rank), sizes) == ONE):
                continue
            rows, many = rows_first(given), _size_at(weights, sizes)
            compared = comparing.compares(given, along, at.place, rank, sizes)
            of_samples = rows is not None and along == -len(rows)
            if made.name == "sum" and not _is_number(many):  # one weight may be spread over what it is multiplied by
                other = _size_at(At(values, weights.place, None), sizes)
                of_samples = of_samples and many is not None and many == other
            first = isinstance(dim, Const) and isinstance(dim.value, int) and dim.value >= 0
            told = {"dims": rank or 0, "from_start": first, "compared": compared, "of_samples": of_samples}
            self._told(run, softmax, node, along, at.place, **told, weights=many.number if _is_number(many) else 0)

    def _told(self, run: Run, softmax: Making, node: p.Node, along: int, summed: int, **more: Any) -> None:
        site, name = self._places[softmax]
        run.emit(
            WeightsSummed,
            site,
            name=name,
            product=run.text(node),
            used_at=run.site(node),
            along=along,
            summed=summed,
            by_call=softmax.name == "softmax",
            **more,
        )


def _size_at(at: At, sizes: SizesOf) -> Amount | None:
    """How long a dimension is: one element where the tensor has fewer dimensions; None where that is not known."""
    shape = sizes(at.value)
    return None if shape is None else shape[at.place] if len(shape) >= -at.place else ONE


def _is_number(size: Amount | None) -> TypeGuard[Amount]:
    return size is not None and not size.names


def weights_in(made: Making, sizes: SizesOf) -> Iterator[tuple[At, Value]]:
    """Each factor that may be weights, with the dimension that is summed over, and the other factor."""
    found = comparing.factors(made)
    if found is not None:
        for one, other, place in ((found.left, found.right, 0), (found.right, found.left, 1)):
            summed = found.summed[place]
            if summed is not None:
                yield At(one, summed, found.ranks[place]), other
    elif made.name == "sum" and made.args and (dim := argument(made, 1, "dim")) is not None:
        shape = sizes(made.args[0])
        summed = from_end(dim, None if shape is None else len(shape))
        at = None if summed is None else At(made.args[0], summed, None if shape is None else len(shape))
        while at is not None and (product := comparing.made_of(at.value)) is not None:
            if product.name in ("*", "mul", "multiply") and len(product.args) > 1:
                for one, other in (product.args[:2], product.args[1::-1]):
                    yield At(one, at.place, None, at.exact), other
                return
            at = before(product, at, sizes) if product.name in VIEWS else None
