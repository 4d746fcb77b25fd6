"""Calls Python's functions that count, and tells how many numbers they give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.static.iteration import PASSES
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import libraries, sinks
from torch_doctor.static.training.data import arrays, stretches
from torch_doctor.static.values import (
    COUNTER,
    WHOLE,
    Call,
    Const,
    Content,
    Default,
    Making,
    Plain,
    Stream,
    Value,
    constant,
    counting,
    symbol_of,
)
from torch_doctor.static.values.shapes import is_integer

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args

STEP = 2
"""The place of the step among the arguments of a range."""


@library("builtins.range")
def counted(run: Run, _: str, call: Call) -> Stream:
    """`range(start, stop, step)`."""
    numbers = range_of(call.args, size=WHOLE)
    if len(call.args) in (1, 2):
        stretches.counted(run, numbers, call.args[0] if len(call.args) > 1 else Const(0), call.args[-1])
    return numbers


def range_of(args: Args, bar: str = "", size: Making | None = None) -> Stream:
    """The numbers of a range with these arguments; `size` tells of which type they are, where that is known."""
    if any(isinstance(value, Const) and not isinstance(value.value, int) for value in args):
        return Stream(Plain(), Content(()), length=0, bar=bar)  # it raises, and nothing is counted
    numbers = _range([constant(value) for value in args])
    length = None if numbers is None else counting.length(numbers)
    if (
        numbers is not None
        and length is not None
        and length <= PASSES
        and not any(isinstance(value, Default) for value in args)
    ):
        return Stream(Plain(), Content(tuple(Const(number) for number in numbers)), length=length, bar=bar)
    first = args[0] if len(args) > 1 else Const(0)
    from_zero = isinstance(first, Const) and not isinstance(first, Default) and first.value == 0 and bool(args)
    step = symbol_of(args[STEP]) if len(args) > STEP else ("const", 1)
    return Stream(Plain((COUNTER, None) if from_zero else None, size), length=length, bar=bar, step=step)


def _range(numbers: list[object]) -> range | None:
    """The range that starts, stops and steps at these numbers; None where one is not known, or is none."""
    known = [number for number in numbers if isinstance(number, int)]
    if not known or len(known) < len(numbers) or len(known) > 3 or 0 in known[2:]:
        return None
    return range(*known)


@library("itertools.count")
def endless(_: Run, __: str, ___: Call) -> Stream:
    """`itertools.count(start, step)`."""
    return Stream(Plain(), length=math.inf)


@library_family(libraries.RANGES, stage=Stage.ADAPTER)
def counting_numbers(_: Run, name: str, call: Call) -> Stream:
    """A function that counts as `range` does."""
    return range_of(call.args, name, WHOLE) if name in sinks.BARS else range_of(call.args)


def of_array(value: Value) -> Stream | None:
    """The numbers of NumPy's `arange`, in steps of any size; None for any other array."""
    array = arrays.tensor_of(value)
    made = None if array is None else array.meta
    if array is None or not isinstance(made, Making) or made.name != "arange" or made.keywords:
        return None
    meta = measured(array)
    if is_integer(meta.dtype) or not meta.dtype:
        return range_of(made.args)
    length = meta.shape[0] if meta.shape else None
    return Stream(Plain(size=Making("number", (), of="floating")), length=length if isinstance(length, int) else None)
