"""Parts of batches of which nothing else is known: are they as the loader gave them, or something that was made of that?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import padding
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSet

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value

_PARTS: Final = ("[]", ".")
_FLAT: Final = frozenset(("view", "reshape", "flatten", "ravel"))


class BatchParts(Lasting):
    """Unknown batches, what was taken of them, moved or arranged in another way, and which of that was changed in place."""

    batches: set[Symbol] = per_run(set)
    before: dict[Symbol, Symbol] = per_run(dict)
    flat: set[Symbol] = per_run(set)
    changed: MutableSet[Symbol] = per_path(set)


def begun(run: Run, batch: Unknown) -> Unknown:
    """Note that a loader gave an unknown batch."""
    run.of(BatchParts).batches.add(batch.symbol)
    return batch


def taken(run: Run, of: Value, part: Value, method: str = "") -> Value:
    """Note that a value is a part of a batch, or what a method gives that only moves or arranges such a part."""
    parts = run.of(BatchParts)
    if not parts.batches or not isinstance(of, Unknown) or not isinstance(part, Unknown):
        return part
    if method.endswith("_"):
        changed(run, of)
    if (not method or method in padding.ARRANGING) and is_part(run, of):
        parts.before[part.symbol] = of.symbol
        if method in _FLAT:
            parts.flat.add(part.symbol)
    return part


def changed(run: Run, value: Value) -> None:
    """Note that numbers of a value are changed in place: those of what it is a view of are changed as well."""
    parts = run.of(BatchParts)
    if parts.batches and isinstance(value, Unknown):
        for each in _back(parts, value.symbol):
            parts.changed.add(each)


def is_part(run: Run, value: Value) -> bool:
    """Whether a value is a part of a batch as its loader gave it, but for its place and its shape."""
    parts = run.of(BatchParts)
    if not parts.batches or not isinstance(value, Unknown):
        return False
    found = list(_back(parts, value.symbol))
    return found[-1] in parts.batches and not any(each in parts.changed for each in found)


def is_flat(run: Run, value: Value) -> bool:
    """Whether such a part had several dimensions, and got one of them."""
    parts = run.of(BatchParts)
    return isinstance(value, Unknown) and not parts.flat.isdisjoint(_back(parts, value.symbol))


def _back(parts: BatchParts, symbol: Symbol) -> Iterator[Symbol]:
    """The symbol of a part, of what it was taken of, and so on to the batch."""
    while True:
        yield symbol
        if symbol in parts.batches:
            return
        if symbol in parts.before:
            symbol = parts.before[symbol]
        elif symbol[0] in _PARTS and isinstance(symbol[1], tuple) and (symbol[0] == "." or symbol[2][0] == "const"):
            symbol = symbol[1]
        else:
            return
