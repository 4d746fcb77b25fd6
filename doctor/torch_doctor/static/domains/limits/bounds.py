"""The domain of limits: the interval that numbers lie in, from how they were computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.limits import arithmetic, pairs, ranges
from torch_doctor.static.domains.limits.masked_sums import masked_sum
from torch_doctor.static.domains.limits.singular import inside
from torch_doctor.static.domains.limits.span import CLAMP, EPSILON, MASK, PAIR, UNKNOWN, Attained, Span, hull, rounded
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Tensor, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Callable

_SAME: Final = frozenset(
    words(
        """
        T mT data t transpose permute unsqueeze squeeze view reshape expand expand_as repeat flatten contiguous clone detach
        requires_grad_ to type type_as float double half bfloat16 cuda cpu parameter movedim swapaxes view_as reshape_as
        unbind chunk split unflatten dropout nn.Dropout nn.Identity
        """
    )
)
_PARTS: Final = frozenset(words("gather index_select take_along_dim narrow select diagonal diag max_pool1d max_pool2d"))
_BY_INDEX: Final = frozenset(words("gather index_select take_along_dim"))
_LARGEST: Final = frozenset(words("max min amax amin median topk sort cummax"))
_JOINING: Final = frozenset(words("cat concat concatenate stack hstack vstack"))
_CLAMPS: Final = {"clamp": (1, 2), "clip": (1, 2), "clamp_min": (1, 9), "clamp_max": (9, 1)}
_EXTREMES: Final = {"max": True, "maximum": True, "fmax": True, "min": False, "minimum": False, "fmin": False}
_FILLED: Final = {"zeros": 0.0, "zeros_like": 0.0, "new_zeros": 0.0, "ones": 1.0, "ones_like": 1.0, "new_ones": 1.0}
_FULL: Final = {"full": 1, "full_like": 1, "new_full": 2, "tensor": 0, "as_tensor": 0, "scalar_tensor": 0}
_CONVERTING: Final = frozenset(words("to type type_as tensor as_tensor astype from_numpy [] batch"))
_NEAR: Final = 1e-5
_DEEP: Final = 12


class Bounds(Domain[Span]):
    """The interval of the numbers of a tensor, and which values some of them surely have."""

    numbers = True

    def unknown(self) -> Span:
        """Any number."""
        return UNKNOWN

    def join(self, left: Span, right: Span) -> Span:
        """The interval around both; values that are taken on either path."""
        both = {each.value for each in left.taken} & {each.value for each in right.taken}
        taken = tuple(each for each in left.taken if each.value in both)
        return replace(hull((left, right)), taken=taken, stops=left.stops & right.stops)

    def given(self, value: Value) -> Span:
        """A number of the script is what it is."""
        number = value.value if isinstance(value, Const) else None
        if isinstance(number, (int, float)) and not math.isnan(number) and abs(number) < ranges.LARGE:
            return Span(float(number), float(number), whole=float(number).is_integer())
        return UNKNOWN

    def record(self, value: Value) -> Making | None:
        """How a tensor was made, within the module that returned it too."""
        return made_of(value)

    def read(self, made: Making) -> Span:
        """What an operation makes of the numbers that it gets."""
        dtype = self.precision(made) or "float32"  # who tells of it asks whether that is so
        return self._read(made, dtype).rounded(dtype)

    def precision(self, made: Making) -> str:
        """The dtype of a result; where only operands have a known one, theirs."""
        dtype = measured(Tensor(meta=made)).dtype
        for _ in range(_DEEP):
            if dtype not in ("", "floating") or made.name in _CONVERTING:
                break
            inner = next((each for value in made.args if (each := made_of(value)) is not None), None)
            if inner is None:
                break
            made, dtype = inner, measured(Tensor(meta=inner)).dtype
        return dtype if dtype in ranges.FRACTIONS else ""

    def _read(self, made: Making, dtype: str) -> Span:
        name = made.name.rstrip("_") or made.name
        if name in _FILLED:
            return Span(_FILLED[name], _FILLED[name])
        if not made.args:
            return UNKNOWN
        if name in _FULL:
            filling = argument(made, _FULL[name], "fill_value")
            return UNKNOWN if filling is None else self.of(filling).only()
        if name == "either":
            return self.join(*(self.of(each) for each in made.args[:2]))
        if name in ranges.COMPARED:
            return Span(0.0, 1.0, (Attained(0.0, MASK, made), Attained(1.0, MASK, made)), whole=True)
        if name in _JOINING:
            return hull(self.of(each) for each in inside(made.args[:1])).only(ranges.OF_EACH)
        if (rule := self._RULES.get(name)) is not None:
            return rule(self, made, dtype)
        first = self.of(made.args[0])
        if name in _SAME:
            return first
        found = ranges.elementwise(name, first, made, dtype)
        return UNKNOWN if found is None else found

    def _operands(self, made: Making) -> tuple[Span, Span]:
        return self.of(made.args[0]), self.of(made.args[1])

    def _sum(self, made: Making, dtype: str) -> Span:
        if len(made.args) < 2 or "alpha" in made.keywords:
            return UNKNOWN
        left, right = self._operands(made)
        return arithmetic.added(left, right, dtype)

    def _difference(self, made: Making, dtype: str) -> Span:
        if len(made.args) == 1:
            return self._negative(made, dtype)
        if len(made.args) < 2 or "alpha" in made.keywords:
            return UNKNOWN
        if pairs.with_itself(*made.args[:2]):
            return Span(taken=(Attained(0.0, PAIR, made),))
        left, right = self._operands(made)
        return arithmetic.added(left, right.mapped(lambda value: -value, falling=True), dtype)

    def _negative(self, made: Making, _: str) -> Span:
        return self.of(made.args[0]).mapped(lambda value: -value, falling=True)

    def _product(self, made: Making, _: str) -> Span:
        if len(made.args) < 2:
            return UNKNOWN
        left, right = self._operands(made)
        if pairs.same(*made.args[:2]):
            return arithmetic.powered(left, 2.0)
        graphs = tuple(each.flow.graph is not False for each in made.args[:2])
        return arithmetic.multiplied(left, right, graphs)

    def _quotient(self, made: Making, _: str) -> Span:
        return arithmetic.divided(*self._operands(made)) if len(made.args) > 1 else UNKNOWN

    def _power(self, made: Making, _: str) -> Span:
        exponent = argument(made, 1, "exponent")
        number = None if exponent is None else self.of(exponent).constant
        base = self.of(made.args[0])
        if number is None:
            return Span(0.0) if base.positive else UNKNOWN
        return arithmetic.powered(base, number)

    def _square(self, made: Making, _: str) -> Span:
        return arithmetic.powered(self.of(made.args[0]), 2.0)

    def _clamped(self, made: Making, dtype: str) -> Span:
        places = _CLAMPS.get(made.name.removesuffix("_"), (1, 2))
        ends: list[float | None] = []
        for place, word in zip(places, ("min", "max"), strict=True):
            given = argument(made, place, word)
            if given is None or (isinstance(given, Const) and given.value is None):
                ends.append(None)
            elif (number := self.of(given).constant) is not None:
                ends.append(number)
            else:
                return UNKNOWN
        return bounded(self.of(made.args[0]), made, ends[0], ends[1], dtype)

    def _extreme(self, made: Making, dtype: str) -> Span:
        """The larger or smaller of two; or of all."""
        upper = _EXTREMES[made.name]
        other = made.args[1] if len(made.args) > 1 else None
        if not isinstance(other, (Tensor, Unknown)):
            return self._largest(made, dtype)
        left, right = self._operands(made)
        if left.constant is not None:
            left, right = right, left
        if right.constant is not None:
            low, high = (right.constant, None) if upper else (None, right.constant)
            return bounded(left, made, low, high, dtype)
        pick = max if upper else min
        return Span(pick(left.low, right.low), pick(left.high, right.high))

    def _largest(self, made: Making, _: str) -> Span:
        return replace(self.of(made.args[0]).only())

    def _part(self, made: Making, _: str) -> Span:
        span = self.of(made.args[0])
        drawn = made.name in _BY_INDEX and any(pairs.drawn_from(each, made.args[0]) for each in made.args[1:])
        return span.only() if drawn else span.only(ranges.OF_EACH)

    def _item(self, made: Making, _: str) -> Span:
        first = self.of(made.args[0])
        if pairs.takes_all(made):
            return first
        keys = inside(made.args[1:2])
        masked = any(
            isinstance(key, Unknown) or (isinstance(key, Tensor) and measured(key).dtype not in ranges.INDICES)
            for key in keys
        )
        drawn = any(pairs.drawn_from(key, made.args[0]) for key in keys)
        return first.only(() if masked or drawn else ranges.OF_EACH)

    def _chosen(self, made: Making, _: str) -> Span:
        """A choice: what is left out gets no gradient, and the test may keep values out."""
        if len(made.args) < 3:
            return UNKNOWN
        arms = [self.of(each) for each in made.args[1:3]]
        filled = frozenset(each.constant for each in arms if each.constant is not None)
        return replace(hull(arms).only(), stops=filled)

    def _filled(self, made: Making, _: str) -> Span:
        value = argument(made, 2, "value")
        fill = UNKNOWN if value is None else self.of(value)
        first = self.of(made.args[0])
        stops = first.stops | ({fill.constant} if fill.constant is not None else set())
        return replace(hull((first, fill)).only(), stops=frozenset(stops))

    def _reduced(self, made: Making, _: str) -> Span:
        shape = measured(made.args[0]).shape
        rank = None if shape is None else len(shape)
        found = ranges.reduced(self.of(made.args[0]), made, rank)
        masked = masked_sum(self.of, made, rank)
        return found if masked is None else replace(found, taken=(*found.taken, masked))

    def _distances(self, made: Making, _: str) -> Span:
        itself = len(made.args) > 1 and pairs.same(*made.args[:2])
        return Span(0.0, taken=(Attained(0.0, PAIR, made),) if itself else (), stops=frozenset((0.0,)))

    _RULES: Final[dict[str, Callable[[Bounds, Making, str], Span]]] = {
        **dict.fromkeys(words("+ add"), _sum),
        **dict.fromkeys(words("- sub subtract"), _difference),
        **dict.fromkeys(words("neg negative"), _negative),
        **dict.fromkeys(words("* mul multiply"), _product),
        **dict.fromkeys(words("/ div divide true_divide"), _quotient),
        **dict.fromkeys(words("** pow float_power"), _power),
        "square": _square,
        **dict.fromkeys(_CLAMPS, _clamped),
        **dict.fromkeys(_EXTREMES, _extreme),
        **dict.fromkeys(_LARGEST - set(_EXTREMES), _largest),
        **dict.fromkeys(_PARTS, _part),
        "[]": _item,
        "where": _chosen,
        "masked_fill": _filled,
        **dict.fromkeys(words("sum mean nansum nanmean norm vector_norm logsumexp var std prod"), _reduced),
        "cdist": _distances,
    }


def bounded(span: Span, made: Making, low: float | None, high: float | None, dtype: str) -> Span:
    """What a clamp leaves: ends that it gives are taken, where numbers may lie beyond."""
    taken = [each for each in span.taken if (low is None or each.value > low) and (high is None or each.value < high)]
    stops = {each for each in span.stops if (low is None or each >= low) and (high is None or each <= high)}
    ends = {"low": span.low, "high": span.high}
    for word, bound, beyond in (("low", low, span.low), ("high", high, span.high)):
        if bound is None:
            continue
        exact = rounded(bound, dtype)
        reaches = beyond < exact if word == "low" else beyond > exact
        held = next((each for each in span.taken if each.value == exact), None)
        why = EPSILON if is_swallowed(bound, exact) else CLAMP
        if reaches or held is not None or (why == EPSILON and beyond == exact):
            taken.append(Attained(exact, why, made))
        if reaches:
            ends[word] = exact
    return Span(ends["low"], ends["high"], tuple(taken), frozenset(stops))


def is_swallowed(number: float, exact: float) -> bool:
    """Whether a number that is nearly whole becomes that whole number in the precision at hand."""
    return number != exact and float(exact).is_integer() and abs(number - exact) < _NEAR
