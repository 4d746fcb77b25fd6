"""The range of each function of torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.limits.span import CLAMP, END, EPSILON, FAR, MASK, PAIR, ROUNDING, Attained, Span
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE: Final = 1e300
"""Numbers above it are taken for infinite."""
OF_EACH: Final = frozenset((CLAMP, END, EPSILON, FAR, MASK, ROUNDING))
"""Reasons why values are taken that hold of each part of a tensor."""
COMPARED: Final = frozenset(words("> < >= <= == != gt lt ge le eq ne one_hot isnan isfinite isinf isclose bool ~ & |"))
"""What gives zeros and ones."""
INDICES: Final = frozenset(("int64", "int32"))
"""The dtypes of indices."""
FRACTIONS: Final = frozenset(("float64", "float32", "float16", "bfloat16"))
"""The dtypes of fractions."""
_ROUNDED: Final = frozenset(("float32", "float16", "bfloat16"))
"""Precisions in which a sigmoid soon becomes 1."""
_BOUNDED: Final[dict[str, tuple[float, float, tuple[float, ...]]]] = {
    **dict.fromkeys(words("sigmoid nn.Sigmoid softmax nn.Softmax nn.Softmax2d softmin nn.Softmin"), (0.0, 1.0, (1.0,))),
    **dict.fromkeys(words("tanh nn.Tanh"), (-1.0, 1.0, (-1.0, 1.0))),
    **dict.fromkeys(words("log_softmax nn.LogSoftmax"), (-math.inf, 0.0, (0.0,))),
    **dict.fromkeys(words("logsigmoid nn.LogSigmoid"), (-math.inf, 0.0, ())),
    **dict.fromkeys(words("softplus nn.Softplus norm vector_norm var std"), (0.0, math.inf, ())),
    **dict.fromkeys(words("cos sin"), (-1.0, 1.0, ())),
    **dict.fromkeys(words("rand rand_like"), (0.0, 1.0, ())),
}
"""The interval of each function, and the values that it soon takes because of the precision."""
_SHARES: Final = frozenset(words("sigmoid nn.Sigmoid softmax nn.Softmax nn.Softmax2d softmin nn.Softmin"))
"""Functions that become 0 where scores lie far apart."""
_STOPPING: Final[dict[str, tuple[float, float]]] = {
    **dict.fromkeys(words("relu nn.ReLU"), (0.0, math.inf)),
    **dict.fromkeys(words("relu6 nn.ReLU6"), (0.0, 6.0)),
    **dict.fromkeys(words("hardsigmoid nn.Hardsigmoid"), (0.0, 1.0)),
    **dict.fromkeys(words("hardtanh nn.Hardtanh"), (-1.0, 1.0)),
}
"""Functions at the ends of whose interval no gradient goes on."""
_FUNCTIONS: Final[dict[str, Callable[[float], float]]] = {
    "exp": math.exp,
    "expm1": math.expm1,
    "sqrt": math.sqrt,
    "log": math.log,
    "log1p": math.log1p,
    "sigmoid": lambda value: 1 / (1 + math.exp(-value)),
    "tanh": math.tanh,
}
"""Functions that rise."""


def elementwise(name: str, first: Span, made: Making, dtype: str) -> Span | None:
    """What a function of each number gives; None for a function of which nothing is known."""
    if name in _STOPPING:
        low, high = _STOPPING[name]
        ends = frozenset((low, high)) - {math.inf}
        stopped = tuple(Attained(end, END, made) for end in ends if first.low < end < first.high)
        if len(made.args) > 1 or made.keywords.keys() - {"inplace"} or (name == "nn.Hardtanh"):
            return None if name.lower().endswith("hardtanh") else Span(low, high, stopped, ends)
        return Span(max(low, first.low), max(low, min(high, first.high)), stopped, ends)
    if name in _BOUNDED:
        low, high, near = _BOUNDED[name]
        free = first.low == -math.inf and first.high == math.inf
        taken = near if dtype in _ROUNDED and free else ()
        if dtype == "float16" and free and low == 0 and high == 1:
            taken = (low, *near)
        reached = tuple(Attained(value, ROUNDING, made) for value in taken)
        if name in _SHARES and low not in taken and first.low == -math.inf:
            reached = (*reached, Attained(low, FAR, made))
        return Span(low, high, reached)
    if name in ("abs", "absolute"):
        lowest = 0.0 if first.low <= 0 <= first.high else min(abs(first.low), abs(first.high))
        return Span(lowest, max(abs(first.low), abs(first.high)), first.through(abs), first.stopping(abs))
    if name in _FUNCTIONS:
        found = first.mapped(_FUNCTIONS[name])
        return Span(max(found.low, 0.0), found.high, found.taken, found.stops) if name in ("exp", "sqrt") else found
    if name == table.LOSSES and made.of is True and dtype in _ROUNDED:
        return Span(0.0, taken=(Attained(0.0, ROUNDING, made),))
    return None


def reduced(first: Span, made: Making, rank: int | None) -> Span:
    """A sum, mean or norm: of the difference of a set with itself, the diagonal stays 0 where only features are summed."""
    name = made.name
    dim = made.args[1] if len(made.args) > 1 and name in ("sum", "mean") else made.keywords.get("dim")
    number = dim.value if isinstance(dim, Const) else None
    features = isinstance(number, int) and (number == -1 or number == (rank or 3) - 1)
    taken = tuple(each for each in first.taken if each.why == PAIR and each.value == 0) if features else ()
    if name in ("norm", "vector_norm"):
        return Span(0.0, taken=taken)
    if name in ("var", "std"):
        return Span(0.0)
    if name in ("logsumexp", "prod"):
        return Span(0.0) if name == "prod" and first.positive else Span()
    stops = frozenset((0.0,)) & first.stops if first.positive else frozenset()
    if name in ("mean", "nanmean"):
        return Span(first.low, first.high, taken, stops)
    return Span(0.0 if first.positive else -math.inf, 0.0 if first.high <= 0 else math.inf, taken, stops)
