"""What the numbers of a result mean, by what an operation does to the numbers that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static import describing
from torch_doctor.static.tables import kinds as table
from torch_doctor.static.tables.functions import LOG_OF
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.static.values import Const, Either, ParameterValue, Params, Plain, Sequence, Tensor, Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.tables.function import Function
    from torch_doctor.static.values import Call


class Kept(Struct, frozen=True):
    """The kind that a result has, of which of the operands, and whether it reaches 0 wherever that does."""

    kind: Kind = Kind.UNKNOWN
    of: Tensor | None = None
    zeros: bool = True


NOTHING: Final = Kept()
"""Nobody knows what the numbers mean."""
MOST = 2
"""The largest factor by which probabilities still fill too small a range for scores."""


def computed(effect: Effect, operands: tuple[Value, ...]) -> Kept:
    """What an operation on these operands gives; the first is the tensor itself where the others are settings."""
    tensors = [known for value in operands if (known := leading(value)) is not None]
    losses = [tensor for tensor in tensors if tensor.kind is Kind.LOSS]
    if losses and effect is not Effect.COMPARED:
        return Kept(Kind.LOSS, losses[0])
    return _RULES.get(effect, _of_one)(effect, operands, tensors)


def leading(value: Value) -> Tensor | None:
    """The tensor whose kind a computation keeps: of several options or items one, where they are of one kind."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Either):
        return describing.agreed(value)
    if isinstance(value, Sequence):
        items = [item for item in value.content.all() if isinstance(item, Tensor)]
        if items and len(items) == len(value.content.all()) and all(item.kind is items[0].kind for item in items):
            return items[0]
    return None


def _of_one(effect: Effect, operands: tuple[Value, ...], _: list[Tensor]) -> Kept:
    first = leading(operands[0]) if operands else None
    if first is None or first.kind not in table.OF_ONE.get(effect, ()):
        return NOTHING
    return Kept(first.kind, first, zeros=effect in table.KEEPS_ZEROS)


def _arithmetic(effect: Effect, operands: tuple[Value, ...], tensors: list[Tensor]) -> Kept:
    """An operator between two operands, or in front of one."""
    found = [tensor for tensor in tensors if not _is_number(tensor)]
    kinds = {tensor.kind for tensor in found}
    others = [value for value in operands if leading(value) not in found]
    if len(found) > 1:
        noisy = effect in (Effect.ADDED, Effect.SUBTRACTED) and kinds == {Kind.LOGITS, Kind.NOISE}
        kept = not others and (noisy or (len(kinds) == 1 and kinds <= table.OF_TWO.get(effect, frozenset())))
        return Kept(Kind.LOGITS if noisy else found[0].kind, found[0], zeros=False) if kept else NOTHING
    if not found or found[0].kind is Kind.UNKNOWN:
        return NOTHING
    first = found[0]
    if effect is Effect.SUBTRACTED and _is_one(operands[0]) and first.kind in LOG_OF:
        whole = first.origin.operation not in _OUT_OF_RANGE
        return Kept(Kind.BOUNDED, first) if whole else NOTHING  # what a probability lacks to 1
    if effect is Effect.DIVIDED and leading(operands[0]) is not first:
        return NOTHING
    if all(_keeps(effect, first.kind, other) for other in others):
        return Kept(first.kind, first, zeros=False)
    return NOTHING


_OUT_OF_RANGE: Final = frozenset((Effect.ADDED.value, Effect.MULTIPLIED.value, Effect.DIVIDED.value))
"""The operators whose result need not lie between 0 and 1."""


def _keeps(effect: Effect, kind: Kind, other: Value) -> bool:
    """Whether a tensor of this kind keeps it beside another operand."""
    if isinstance(other, (Params, ParameterValue)):
        return kind in table.WITH_A_PARAMETER.get(effect, ())
    if not _is_number(other):
        return False
    number = other.value if isinstance(other, Const) else None
    if isinstance(number, int) and kind in table.WITH_A_WHOLE_NUMBER.get(effect, ()):
        return True
    if kind not in table.WITH_A_NUMBER.get(effect, ()):
        return False
    if effect not in table.SHRINKS or kind not in LOG_OF:
        return True
    if not isinstance(number, (int, float)) or not number:
        return effect is Effect.DIVIDED and number is None
    factor = 1 / number if effect is Effect.DIVIDED else number
    return 0 < factor <= MOST


def _product(_: Effect, operands: tuple[Value, ...], tensors: list[Tensor]) -> Kept:
    """What is linear in scores, or in what a parameter is multiplied with, is unbounded as they are."""
    scores = next((tensor for tensor in tensors if tensor.kind is Kind.LOGITS), None)
    if scores is None and any(isinstance(value, (Params, ParameterValue)) for value in operands):
        return Kept(Kind.LOGITS)
    return Kept(Kind.LOGITS, scores) if scores is not None else NOTHING


def _merged(effect: Effect, operands: tuple[Value, ...], tensors: list[Tensor]) -> Kept:
    """Each number is one of two, or between them; where one of the two is a number, some are replaced by it."""
    numbers = [value for value in operands[:2] if _is_number(value)]
    if numbers:
        return _of_one(Effect.FILLED, tuple(value for value in operands[:2] if value not in numbers), tensors)
    return _arithmetic(effect, operands[:2], tensors)


def _clipped(effect: Effect, operands: tuple[Value, ...], tensors: list[Tensor]) -> Kept:
    """Bounded by numbers: scores that may still lie on both sides of the range of a probability, or far above it."""
    kept = _of_one(effect, operands, tensors)
    low, high = ((operands[i] if i < len(operands) else None) for i in (1, 2))
    if kept.kind not in (Kind.LOGITS, Kind.HIDDEN):
        return kept
    bottom, top = map(_bound, (low, high))
    if top is not None and top > 1:
        return kept
    if top is None and _is_absent(high):
        return (
            kept
            if kept.kind is Kind.HIDDEN or (bottom is not None and bottom < 0)
            else Kept(Kind.HIDDEN, kept.of, zeros=False)
        )
    below = bottom < 0 if bottom is not None else _is_absent(low)
    return kept if kept.kind is Kind.LOGITS and below else NOTHING


def _bound(value: Value | None) -> float | None:
    number = value.value if isinstance(value, Const) else None
    return number if isinstance(number, (int, float)) else None


def _is_absent(value: Value | None) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)


def _is_number(value: Value) -> bool:
    """Whether it is a number, or a tensor that holds one of which nothing else is known."""
    if isinstance(value, (Const, Plain)):
        return True
    return isinstance(value, Tensor) and value.scalar is True and value.kind is Kind.UNKNOWN and not value.flow.graph


def _is_one(value: Value) -> bool:
    return isinstance(value, Const) and value.value == 1


_SIGNED: Final = (
    *(
        Effect.ADDED,
        Effect.SUBTRACTED,
        Effect.MULTIPLIED,
        Effect.DIVIDED,
        Effect.QUOTIENT,
        Effect.REMAINDER,
        Effect.COMPARED,
    ),
)
_RULES: Final = {
    **dict.fromkeys(_SIGNED, _arithmetic),
    Effect.PRODUCT: _product,
    Effect.MERGED: _merged,
    Effect.CLIPPED: _clipped,
}
"""The operations whose result hangs on more than one operand."""

_PAIR: Final = ((0, "input"), (1, "other"))
_PLACES: Final[dict[Effect, tuple[tuple[int, str], ...]]] = {
    Effect.CLIPPED: ((0, "input"), (1, "min"), (2, "max")),
    **dict.fromkeys((Effect.MERGED, *_SIGNED), _PAIR),
}
"""Where an operation that is called finds its operands, by place and name."""


def operands_of(known: Function, call: Call, leading: Tensor | None) -> tuple[Value, ...]:
    """The operands among the arguments of a call; `leading` is the first tensor, where nothing stands for it."""
    if known.effect is Effect.PRODUCT:
        return call.values
    places = known.operands or _PLACES.get(known.effect)
    if places is None:
        return (Const(None) if leading is None else leading,)
    given = (call.argument(position, name) for position, name in places)
    return tuple(Const(None) if value is None else value for value in given)
