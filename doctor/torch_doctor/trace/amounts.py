"""Sizes of dimensions as products of numbers and names, and what a reshape does with the elements of such dimensions."""

from __future__ import annotations

from itertools import combinations
from math import gcd
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    Names: TypeAlias = frozenset[tuple[Hashable, int]]


class Amount(NamedTuple):
    """A product of a number and of powers of names; a name stands for a size that nobody knows, and is at least two.

    The number is `number / divisor`, without common factors. Two sizes with one name are equal. Different names are taken for
    different sizes.
    """

    number: int
    """The number above the line."""
    divisor: int = 1
    """The number below it."""
    names: Names = frozenset()
    """The names, each with its power, which is not 0."""

    def times(self, other: Amount, power: int = 1) -> Amount:
        """The product with a power of another one, which is 1 or -1."""
        powers = dict(self.names)
        for name, its in other.names:
            powers[name] = powers.get(name, 0) + power * its
        over, under = (other.number, other.divisor) if power > 0 else (other.divisor, other.number)
        number, divisor = self.number * over, self.divisor * under
        common = gcd(number, divisor) or 1
        return Amount(
            number // common, divisor // common, frozenset((name, its) for name, its in powers.items() if its)
        )

    @property
    def whole(self) -> bool:
        """Whether it is surely a number of elements: nothing is divided."""
        return self.divisor == 1 and all(power > 0 for _, power in self.names)

    def within(self, other: Amount) -> bool:
        """Whether it surely divides another one."""
        rest = other.times(self, -1)
        return rest.whole


ONE = Amount(1)
MOST = 7
"""Dimensions of a tensor that is looked at."""


def amount(size: Hashable) -> Amount:
    """A number, or a name."""
    return Amount(size) if isinstance(size, int) else Amount(1, names=frozenset(((size, 1),)))


def product(sizes: Sequence[Amount]) -> Amount:
    """How many elements there are in several dimensions together."""
    result = ONE
    for size in sizes:
        result = result.times(size)
    return result


class Regrouped(NamedTuple):
    """How the dimensions of a tensor are divided into those that a reshape gives.

    Each pair is a group: the places of dimensions before, and of those after it that have as many elements. One of both is a
    single one. Dimensions of one element are left out.
    """

    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """The pairs of places."""

    @property
    def pieces(self) -> int:
        """Into how many pieces the elements are divided."""
        return sum(max(map(len, group)) for group in self.groups)


def kept_order(before: Sequence[Amount], after: Sequence[Amount]) -> int | None:
    """Into how many pieces a reshape, which keeps the order of the elements, divides dimensions; None where they do not fit.

    Each dimension before and after is a run of pieces that are as long as the sizes tell; None where a size is no multiple of
    another one for certain.
    """
    old, new = ([size for size in sizes if size != ONE] for sizes in (before, after))
    pieces, left, right = 0, ONE, ONE
    while True:
        left = old.pop() if left == ONE and old else left
        right = new.pop() if right == ONE and new else right
        if ONE in (left, right):
            return pieces if left == right else None
        piece = left if left.within(right) else right
        if not piece.within(left) or not piece.within(right):
            return None
        pieces, left, right = pieces + 1, left.times(piece, -1), right.times(piece, -1)


def regrouped(before: Sequence[Amount], after: Sequence[Amount]) -> Regrouped | None:
    """The simplest way to make dimensions of these sizes, in another order, by merging some whole ones or splitting one.

    None where there is no way, or where one keeps the order.
    """
    old, new = ([place for place, size in enumerate(sizes) if size != ONE] for sizes in (before, after))
    if max(len(old), len(new)) > MOST or product(before) != product(after):
        return None
    best: Regrouped | None = None
    for way in _ways(before, after, tuple(old), tuple(new)):
        if _in_order(way, old, new):
            return None
        best = way if best is None or way.pieces < best.pieces else best
    return best


def _in_order(way: Regrouped, old: list[int], new: list[int]) -> bool:
    """Whether the groups follow each other in both shapes."""
    groups = sorted(way.groups)
    return [at for group, _ in groups for at in group] == old and [at for _, group in groups for at in group] == new


def _ways(
    before: Sequence[Amount], after: Sequence[Amount], old: tuple[int, ...], new: tuple[int, ...]
) -> Iterator[Regrouped]:
    if not new:
        yield from () if old else (Regrouped(()),)
        return
    first, others = new[0], new[1:]
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]]
    groups = [(places, (first,)) for places in _subsets(old) if product([before[at] for at in places]) == after[first]]
    for at in old:
        groups += [
            ((at,), (first, *places))
            for places in _subsets(others)
            if product([after[each] for each in (first, *places)]) == before[at]
        ]
    for group in groups:
        rest = tuple(at for at in old if at not in group[0]), tuple(at for at in new if at not in group[1])
        yield from (Regrouped((group, *way.groups)) for way in _ways(before, after, *rest))


def _subsets(places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for many in range(1, len(places) + 1):
        yield from combinations(places, many)


def crossed(before: Sequence[Amount], after: Sequence[Amount]) -> Regrouped | None:
    """What a reshape was meant to give where it hands elements to other dimensions than those that they belong to.

    It keeps the order of the elements. If its sizes are those of whole dimensions in another order, merged or split, it takes
    elements of several of them for one. None where that is not certain: the order may be kept in as few pieces.
    """
    kept = kept_order(before, after)
    if kept is not None and kept <= max(sum(size != ONE for size in sizes) for sizes in (before, after)):
        return None  # there are no fewer pieces
    meant = regrouped(before, after)
    return meant if meant is not None and (kept is None or meant.pieces < kept) else None
