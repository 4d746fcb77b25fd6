"""Targets that are 0 or 1 for each class by itself, so that a sample may have several classes."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import measured
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import arrays, words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import ARRAY, Const, Making, Plain, Sequence, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import MutableSet


class Numbers(Enum):
    """What is known of the numbers of a tensor."""

    UNKNOWN = "unknown"
    FREE = "free"
    """Random numbers, or numbers computed from them: none depends on its neighbours."""
    MARKS = "marks"
    """0 or 1, each decided by itself."""


_DRAWN: Final = frozenset(
    (
        *words("rand randn rand_like randn_like normal"),
        *(f"{arrays.DRAWN}{name}" for name in words("random standard_normal normal uniform")),
    )
)
_INTEGERS: Final = frozenset(("randint", *(f"{arrays.DRAWN}{name}" for name in ("randint", "integers"))))
_COMPARED: Final = frozenset(words("> < >= <= gt lt ge le greater less"))
_COMPUTED: Final = frozenset(words("+ - * / ** add sub mul div pow"))
_PRODUCTS: Final = frozenset(words("@ matmul mm"))
_EACH: Final = frozenset(words("sigmoid tanh exp sin cos abs neg logit"))
_MIDDLE: Final = frozenset(words("mean median quantile"))
_SAME: Final = MOVES | frozenset(
    words(
        """
        long int bool clone detach contiguous cpu batch unbind [] Variable tensor as_tensor from_numpy astype
        FloatTensor numpy ~ logical_not
        """
    )
)
_JOINED: Final = frozenset(words("| logical_or"))


class Marked(Domain[Numbers]):
    """Whether a tensor marks any number of classes of each sample."""

    numbers = True

    ones: MutableSet[Making] = per_path(set)
    """Tensors into which the script wrote nothing but ones, which leaves marks what they are."""

    def unknown(self) -> Numbers:
        """Nothing is known."""
        return Numbers.UNKNOWN

    def ask(self, value: Value, written: MutableSet[Making]) -> Numbers:
        """The answer for a value, where the tensors in `written` were changed in place."""
        return super().ask(value, set(written).difference(self.ones) if self.ones else written)

    def record(self, value: Value) -> Making | None:
        """How a tensor or an array was made."""
        if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
            value = value.size.args[0]
        return super().record(value)

    def read(self, made: Making) -> Numbers:
        """What draws, compares and converts numbers."""
        name, args = made.name, made.args
        if name in _DRAWN:
            return Numbers.FREE
        if name in _INTEGERS:
            bounds = [arg.value for arg in args if isinstance(arg, Const)]
            return Numbers.MARKS if bounds in ([2], [0, 2]) else Numbers.UNKNOWN
        if not args:
            return Numbers.UNKNOWN
        if name in _SAME:
            return self.of(args[0])
        if name in _EACH:
            return self._free(self.of(args[0]) is Numbers.FREE)
        if name in _PRODUCTS:
            return self._free(any(self.of(arg) is Numbers.FREE for arg in args))
        if name in _COMPUTED:
            return self._free(self._are_free(args))
        if name in _COMPARED:
            return _marks(self._are_free(args))
        if name == "bernoulli":
            return _marks(self.of(args[0]) is Numbers.FREE or _name(args[0]) in ("full", "full_like"))
        if name in _JOINED:
            return _marks(all(self.of(arg) is Numbers.MARKS for arg in args))
        return _marks(self._are_rows(made) or _marks_several(made))

    def _are_free(self, args: tuple[Value, ...]) -> bool:
        """Whether some of these are free, and the others are numbers that all elements share."""
        free = [arg for arg in args if self.of(arg) is Numbers.FREE]
        return bool(free) and all(arg in free or self._is_shared(arg) for arg in args)

    def _is_shared(self, value: Value) -> bool:
        """Whether this is one number, or one for each column: neighbours in a row do not decide it."""
        if isinstance(value, Const) or (isinstance(value, Plain) and not _is_array(value)):
            return True
        made = self.record(value)
        if made is None:
            return False
        if measured(Tensor(meta=made)).shape == ():
            return True
        along = made.keywords.get("dim", made.args[1] if len(made.args) > 1 and made.name != "quantile" else None)
        return made.name in _MIDDLE and (along is None or (isinstance(along, Const) and along.value == 0))

    def _are_rows(self, made: Making) -> bool:
        """Whether rows of marks are stacked, one for each sample."""
        rows = made.args[0]
        if made.name != "stack" or len(made.args) > 1 or made.keywords or not isinstance(rows, Sequence):
            return False
        found = tuple(rows.content.all())
        return bool(found) and all(self.of(row) is Numbers.MARKS for row in found)

    @staticmethod
    def _free(holds: bool) -> Numbers:  # noqa: FBT001 - an answer
        return Numbers.FREE if holds else Numbers.UNKNOWN


def _is_array(value: Value) -> bool:
    return isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY


def _marks(holds: bool) -> Numbers:  # noqa: FBT001 - an answer
    return Numbers.MARKS if holds else Numbers.UNKNOWN


def _name(value: Value) -> str:
    made = getattr(value, "meta", None)
    return made.name if isinstance(made, Making) else ""


def _marks_several(made: Making) -> bool:
    """Whether several indices a row become ones: one-hot rows that are joined, or ones that are scattered."""
    along = made.keywords.get("dim", made.args[1] if len(made.args) > 1 else None)
    place = along.value if isinstance(along, Const) else None
    if made.name in ("amax", "any"):
        return _name(made.args[0]) == "one_hot" and len(measured(made.args[0]).shape or ()) == 3 and place in (1, -2)
    if made.name.rstrip("_") != "scatter" or place not in (1, -1) or _name(made.args[0]) != "zeros":
        return False
    index = made.args[2] if len(made.args) > 2 else made.keywords.get("index")
    value = made.args[3] if len(made.args) > 3 else made.keywords.get("value", made.keywords.get("src"))
    shape = measured(index).shape if index is not None else None
    wide = shape is not None and len(shape) == 2 and isinstance(shape[1], int) and shape[1] > 1
    return wide and isinstance(value, Const) and value.value == 1
