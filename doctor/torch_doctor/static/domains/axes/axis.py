"""Axes of tensors, and what `view` makes of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch_doctor.static.values.shapes import Shape, Size


class Part(NamedTuple):
    """What an axis, or a part of one, runs over: an axis of the tensor `source`, or a piece of the part that `view` split.

    `place` counts from the outermost one, and `size` is how many elements it has (None: not known).
    """

    source: object
    place: int
    size: Size


class Axis(NamedTuple):
    """One axis of a tensor: the parts that it runs over in row-major order, which are several where axes were merged.

    Not `whole`: it has some elements of these parts and others of the same ones lie in other axes, or nobody knows its parts.
    An axis of one element has no parts.
    """

    parts: tuple[Part, ...]
    whole: bool = True


UNKNOWN = Axis((), whole=False)
"""An axis of which nothing is known."""


def of_shape(source: object, shape: Shape) -> tuple[Axis, ...]:
    """The axes of a tensor that is not made of another one."""
    return tuple(Axis(() if size == 1 else (Part(source, place, size),)) for place, size in enumerate(shape))


def regrouped(axes: tuple[Axis, ...], sizes: Shape) -> tuple[Axis, ...]:
    """The axes after `view` or `reshape` to these sizes: each is a run of the parts that were there.

    Parts and sizes are matched from both ends, as far as the sizes are known.
    """
    if not all(axis.whole for axis in axes):
        return (UNKNOWN,) * len(sizes)
    parts = [part for axis in axes for part in axis.parts]
    wanted = [(place, size) for place, size in enumerate(sizes) if size != 1]
    found = [Axis(())] * len(sizes)
    left = _matched(parts, wanted, found, from_end=False)
    parts, wanted = parts[left[0] :], wanted[left[1] :]
    right = _matched(parts[::-1], wanted[::-1], found, from_end=True)
    parts, wanted = parts[: len(parts) - right[0]], wanted[: len(wanted) - right[1]]
    for place, _ in wanted:
        found[place] = Axis(tuple(parts)) if len(wanted) == 1 else UNKNOWN
    return tuple(found)


def _matched(
    parts: list[Part], wanted: list[tuple[int, Size]], found: list[Axis], *, from_end: bool
) -> tuple[int, int]:
    """Match parts with sizes, the next ones first, and return how many of both are done."""
    done = 0, 0
    first, second = 0, 0
    while first < len(parts) and second < len(wanted):
        first, second = first + 1, second + 1
        while (way := _compared(parts[done[0] : first], wanted[done[1] : second])) != 0:
            if way is None or first + (way < 0) > len(parts) or second + (way > 0) > len(wanted):
                return done
            first, second = first + (way < 0), second + (way > 0)
        _group(parts[done[0] : first], wanted[done[1] : second], found, from_end=from_end)
        done = first, second
    return done


def _compared(parts: list[Part], wanted: list[tuple[int, Size]]) -> int | None:
    """0 where both have as many elements, 1 where more sizes are needed, -1 where more parts are; None where nobody knows."""
    sizes = [[part.size for part in parts], [size for _, size in wanted]]
    if any(size in (None, -1, 0) for each in sizes for size in each):
        return None
    names = [Counter(size for size in each if not isinstance(size, int)) for each in sizes]
    numbers = [_product(each) for each in sizes]
    if names[0] == names[1] and numbers[0] == numbers[1]:
        return 0
    if names[0] >= names[1] and numbers[0] % numbers[1] == 0:
        return 1
    return -1


def _product(sizes: list[Size]) -> int:
    result = 1
    for size in sizes:
        result *= size if isinstance(size, int) else 1
    return result


def _group(parts: list[Part], wanted: list[tuple[int, Size]], found: list[Axis], *, from_end: bool) -> None:
    """Say what the axes are that have as many elements as these parts together."""
    if from_end:
        parts, wanted = parts[::-1], wanted[::-1]
    for number, (place, size) in enumerate(wanted):
        if len(wanted) == 1:
            found[place] = Axis(tuple(parts))
        elif len(parts) == 1:
            found[place] = Axis((Part(parts[0], number, size),))
        else:
            found[place] = Axis(tuple(parts), whole=False)
