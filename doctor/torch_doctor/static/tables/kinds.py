"""What an operation does to the numbers of a tensor, and which kinds of numbers stay what they are by that."""

from __future__ import annotations

import enum
from typing import Final

from torch_doctor.trace.words import Kind


class Effect(enum.Enum):
    """What a function, a method or an operator does to the numbers that it is given; the operators by their signs."""

    MOVED = "moved"  # moved, copied, selected, cast, repeated
    PICKED = "picked"  # some are selected by their size or by a mask
    AVERAGED = "averaged"
    SUMMED = "summed"
    CUT = "cut"  # what follows the point is cut off
    CLIPPED = "clipped"  # bounded below, above or on both sides
    FILLED = "filled"  # some are replaced by a number
    MERGED = "merged"  # each is one of those of two tensors, or between them
    NEGATED = "negated"
    ADDED = "+"
    SUBTRACTED = "-"
    MULTIPLIED = "*"
    DIVIDED = "/"
    QUOTIENT = "//"
    REMAINDER = "%"
    COMPARED = "=="
    PRODUCT = "@"  # linear in each tensor
    OTHER = "other"  # anything else


_SCORES: Final = frozenset((Kind.LOGITS, Kind.NOISE))
_SHARES: Final = frozenset((Kind.PROBABILITIES, Kind.BOUNDED))
_LOGS: Final = frozenset((Kind.LOG_PROBABILITIES, Kind.LOG_BOUNDED))
_ALL: Final = frozenset(Kind) - {Kind.UNKNOWN}

OF_ONE: Final[dict[Effect, frozenset[Kind]]] = {
    Effect.MOVED: _ALL,
    Effect.PICKED: _ALL,
    Effect.AVERAGED: _ALL - _LOGS - {Kind.LABELS},  # a mean of logarithms is that of no mean
    Effect.CUT: _ALL - _LOGS - _SHARES - {Kind.LOGITS},
    Effect.SUMMED: frozenset((Kind.LOGITS,)),
    Effect.NEGATED: _SCORES,
    Effect.CLIPPED: _SCORES | _SHARES | {Kind.HIDDEN, Kind.LABELS},  # by bounds that leave them so: see `clipped`
    Effect.FILLED: _SCORES | _SHARES | {Kind.LABELS},
}
"""The kinds that one tensor keeps."""

WITH_A_NUMBER: Final[dict[Effect, frozenset[Kind]]] = {
    Effect.ADDED: _SCORES | {Kind.PROBABILITIES},  # cross-entropy does not see what is added to all
    Effect.SUBTRACTED: _SCORES,
    Effect.MULTIPLIED: _SCORES | _SHARES,
    Effect.DIVIDED: _SCORES | _SHARES,
}
"""The kinds that a tensor keeps beside a number."""

WITH_A_WHOLE_NUMBER: Final[dict[Effect, frozenset[Kind]]] = {
    Effect.ADDED: frozenset((Kind.LABELS,)),
    Effect.SUBTRACTED: frozenset((Kind.LABELS,)),
    Effect.QUOTIENT: frozenset((Kind.LABELS,)),
    Effect.REMAINDER: frozenset((Kind.LABELS,)),
    Effect.COMPARED: frozenset((Kind.LABELS,)),
}
"""The kinds that a tensor keeps beside a whole number that is known: classes get other numbers, or are put together.

A comparison of classes with one of them gives the labels of two classes.
"""

WITH_A_PARAMETER: Final[dict[Effect, frozenset[Kind]]] = dict.fromkeys(
    (Effect.ADDED, Effect.SUBTRACTED, Effect.MULTIPLIED, Effect.DIVIDED), frozenset((Kind.LOGITS,))
)
"""The kinds that a tensor keeps beside a parameter: a bias, a scale, a temperature that is learned."""

OF_TWO: Final[dict[Effect, frozenset[Kind]]] = {
    Effect.ADDED: frozenset((Kind.LOGITS,)) | _SHARES,
    Effect.SUBTRACTED: frozenset((Kind.LOGITS,)),
    Effect.MERGED: frozenset((Kind.LOGITS, Kind.LABELS)) | _SHARES,
}
"""The kinds that two tensors of one kind keep."""

SHRINKS: Final = frozenset((Effect.MULTIPLIED, Effect.DIVIDED))
"""What takes probabilities out of the range from 0 to 1, or further into it."""
KEEPS_ZEROS: Final = frozenset((Effect.MOVED,))
"""What gives 0 wherever it gets 0, and may give all that it gets."""
