"""Sums over a complete batch, and choices in one, where what they meet has a number for each sample."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes import Sizes, comparing
from torch_doctor.static.domains.axes.comparing import made_of, options
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.loss.sample_rows import is_for_rows, is_table, rows_of
from torch_doctor.static.observers.loss.weighting import weights_in
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Sequence, Tensor, shapes
from torch_doctor.trace import ReducedToOne

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Site

_REDUCTIONS: Final = frozenset(("sum", "argmax"))
_DIVISIONS: Final = frozenset(words("/ div divide true_divide"))
_SUMS: Final = frozenset(words("+ - add sub subtract"))
_SCALING: Final = frozenset(words("* mul multiply"))
_SCALAR: Final = frozenset(words("clamp clamp_min clip float double to type detach neg cpu max maximum"))
"""What leaves a number one, and about as large."""
_ARRANGED: Final = frozenset(
    words(
        """
        unsqueeze squeeze [] expand expand_as view reshape repeat to type float double type_as bool int long contiguous
        ~ logical_not bitwise_not
        """
    )
)
"""What leaves the elements of a mask as they are, or inverts them all."""
_FILLED: Final = {"masked_fill": 1, "masked_fill_": 1, "where": 0}
"""What puts numbers where a mask says, and the place of the mask among the arguments."""
_BENT: Final = frozenset(
    words(
        "relu clamp clamp_min sqrt exp log log1p logsigmoid sigmoid softplus tanh nn.ReLU nn.Softplus nn.Sigmoid nn.LogSigmoid"
    )
)
"""Functions of which the mean is another thing than their value for a mean."""
_CONTRACTING: Final = comparing.PRODUCTS.keys() | {"sum"}
_NAMES: Final = _REDUCTIONS | _CONTRACTING | {"mean", "eq"} | _DIVISIONS | _SUMS
_MOST: Final = 60
_FEW: Final = 8
"""Samples that a batch has at least: a factor below one over it may be one over the size of the batch."""


class Collapsed(
    Observer,
    made=lambda name: name.rpartition(".")[2] in _NAMES,
    operated=_DIVISIONS | _SUMS | {"@"},
    computed=("==", "!="),
):
    """Follows reductions without a dimension to what they meet next."""

    writes = (ReducedToOne,)

    _places: dict[Making, tuple[Site, str]] = per_run(dict)  # where each reduction stands, and how it is written
    _shares: dict[Making, Making] = per_run(dict)  # the sum by which each quotient was divided

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A reduction, or what one meets."""
        made, short = made_of(result), name.rpartition(".")[2]
        if made is None:
            return
        if short in _REDUCTIONS and _is_full(made) and is_table(made.args[0], short):
            self._places[made] = run.site(call.node), run.text(call.node)
        if not self._places:
            return
        if short == "eq":
            self.computed(run, "==", call.args[:2], call.node)
        elif short in _DIVISIONS | _SUMS:
            self.operated(run, short, call.args[:2], result, call.node)
        elif short == "mean" and _is_full(made):
            self._averaged(run, made, call.node)
        elif short in _CONTRACTING:
            self._weighted(run, made, call.node)
            if short == "sum":
                self._totalled(run, made, call.node)

    @override
    def computed(self, run: Run, _: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Something is compared: a choice in the batch, with a label for each sample."""
        for one, other in (operands, operands[::-1]) if self._places else ():
            found = _behind(one, "argmax")
            if found is not None and is_for_rows(other, found.args[0]):
                self._tell(run, found, "compared", node)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """A quotient, a sum, or a product."""
        made = made_of(result) if self._places else None
        if made is None or len(operands) < 2:
            return
        if op == "@":
            self._weighted(run, made, node)
        elif op in _DIVISIONS:
            found = _behind(operands[1], "sum")
            if found is None:
                return
            self._shares[made] = found
            if rows_of(operands[0]) is not None and _is_of_mask(operands[0], found.args[0]):
                self._tell(run, found, "divided", node)
        else:
            for one, other in (operands[:2], operands[1::-1]):
                found = _behind(one, "sum") if "alpha" not in made.keywords else None
                evened = _is_evened(one) or _is_evened(other)
                if found is not None and not evened and measured(other).shape == (shapes.BATCH,):
                    self._tell(run, found, "added", node)

    def _averaged(self, run: Run, made: Making, node: p.Node) -> None:
        """A mean of one number: that of a sum over the batch, after a function that is not linear."""
        if measured(made.args[0]).shape != ():
            return
        waiting: list[tuple[Value, bool]] = [(made.args[0], False)]
        for _ in range(_MOST):
            if not waiting:
                return
            value, bent = waiting.pop(0)
            each = made_of(options(value)[0])
            if each is None:
                continue
            if each in self._places and each.name == "sum":
                if bent:
                    self._tell(run, each, "averaged", node)
                    return
                continue
            if measured(Tensor(meta=each)).shape == ():
                waiting += [(part, bent or each.name in _BENT) for part in each.args]

    def _weighted(self, run: Run, made: Making, node: p.Node) -> None:
        """Weights are used that were divided by their sum over the complete batch."""
        sizes = partial(run.ask, Sizes)
        for weights, _ in weights_in(made, sizes) if self._shares else ():
            found = comparing.softmax_behind(weights, _DIVISIONS, sizes)
            total = self._shares.get(found[0]) if found is not None else None
            if found is None or total is None or not _is_exponential(found[0].args[0]):
                continue
            if _alike(_root(found[0].args[0]), _root(total.args[0])):
                self._tell(run, total, "normalized", node)

    def _totalled(self, run: Run, made: Making, node: p.Node) -> None:
        """Quotients are added up over the samples: then all of them were meant to be divided by one number."""
        before = made_of(options(made.args[0])[0])
        total = self._shares.get(before) if before is not None else None
        dims = {value.value for value in (*made.args[1:], *made.keywords.values()) if isinstance(value, Const)}
        if total is not None and (_is_full(made) or 0 in dims):
            self._tell(run, total, "totalled", node)

    def _tell(self, run: Run, made: Making, how: str, node: p.Node) -> None:
        if made not in self._places:
            return
        site, name = self._places[made]
        run.emit(
            ReducedToOne,
            site,
            name=name,
            function=made.name,
            how=how,
            shape=measured(made.args[0]).shape or (),
            used_at=run.site(node),
        )


def _is_full(made: Making) -> bool:
    """Whether a reduction goes over all dimensions."""
    return len(made.args) == 1 and not {"dim", "axis", "keepdim", "**"} & made.keywords.keys()


def _behind(value: Value, name: str) -> Making | None:
    """The reduction over all dimensions that a number comes from, which may have been scaled or kept above a bound."""
    for _ in range(_MOST):
        made = made_of(options(value)[0])
        if made is None or not made.args:
            return None
        if made.name == name and _is_full(made):
            return made
        tensors = [each for each in made.args if isinstance(each, Tensor)]
        constants = all(isinstance(each, (Const, Tensor)) for each in made.args)
        scaled = made.name in _SCALING or (made.name in _SUMS | _DIVISIONS and constants)
        if (
            len(tensors) != 1
            or (made.name not in _SCALAR and not scaled)
            or (made.name in _DIVISIONS and not constants)
        ):
            return None
        value = tensors[0]
    return None


def _is_evened(value: Value) -> bool:
    """Whether a number or a loss was multiplied or divided by what may be the number of samples."""
    for _ in range(_MOST):
        made = made_of(options(value)[0])
        if made is None or not made.args or made.name not in _SCALAR | _SCALING | _DIVISIONS:
            return False
        if made.name in _DIVISIONS:
            return True
        tensors = [each for each in made.args if isinstance(each, Tensor)]
        if made.name in _SCALING and not all(_is_weight(each) for each in made.args if each not in tensors):
            return True
        if len(tensors) != 1:
            return False
        value = tensors[0]
    return True


def _is_weight(value: Value) -> bool:
    """Whether a factor is the weight of a term, and not one over the number of samples, or a number that nobody knows."""
    number = value.value if isinstance(value, Const) else None
    return isinstance(number, (int, float)) and abs(number) > 1 / _FEW


def _is_of_mask(numerator: Value, mask: Value) -> bool:
    """Whether something with a number for each sample is a sum of what a mask leaves."""
    shape = measured(numerator).shape
    if not shape or shape[0] != shapes.BATCH:
        return False
    made = made_of(options(numerator)[0])
    while made is not None and made.name in ("squeeze", "unsqueeze", "[]", "float", "to"):
        made = made_of(options(made.args[0])[0])
    if made is None:
        return False
    factors: list[Value] = []
    if made.name == "sum" and not _is_full(made):
        product = made_of(options(made.args[0])[0])
        if product is not None and product.name in _FILLED:
            factors = [*product.args[_FILLED[product.name] :][:1]]
        elif product is not None and product.name in _SCALING:
            factors = [*product.args]
    elif made.name in comparing.PRODUCTS and (found := comparing.factors(made)) is not None:
        factors = [found.left, found.right]
    root = _root(mask)
    return root is not None and any(_alike(_root(each), root) for each in factors)


def _alike(one: Making | None, other: Making | None, deep: int = 4) -> bool:
    """Whether two tensors were made in the same way of the same values."""
    if one is None or other is None or one is other:
        return one is other
    if deep == 0 or one.name != other.name or len(one.args) != len(other.args) or one.keywords or other.keywords:
        return False
    for left, right in zip(one.args, other.args, strict=True):
        same = left is right or (isinstance(left, Const) and isinstance(right, Const) and left.value == right.value)
        if not same and (made_of(left) is None or not _alike(made_of(left), made_of(right), deep - 1)):
            return False
    return True


def _root(value: Value) -> Making | None:
    """What a mask was arranged from; None where that has no record."""
    for _ in range(_MOST):
        made = made_of(options(value)[0])
        if made is None or made.name not in _ARRANGED or not made.args:
            return made
        value = made.args[0]
    return None


def _is_exponential(value: Value) -> bool:
    """Whether numbers are exponentials, which may have been masked."""
    return any(made.name == "exp" for made in _chain(value))


def _chain(value: Value) -> Iterator[Making]:
    for _ in range(_MOST):
        made = made_of(options(value)[0])
        if made is None:
            return
        yield made
        if not made.args or made.name not in _ARRANGED | _SCALING or isinstance(made.args[0], Sequence):
            return
        value = made.args[0]
