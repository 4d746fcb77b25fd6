"""Where answers of models are right: tensors that mark it, and what counts or averages the marks."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import measured, size_at
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import ARRAY, Making, Plain, Tensor, Unknown, Value, shapes
from torch_doctor.static.values.shapes import Shape  # noqa: TC001 - msgspec reads the annotation
from torch_doctor.static.values.symbols import UNTOLD
from torch_doctor.trace import Site  # noqa: TC001 - as above


class Marks(Struct, frozen=True):
    """Marks of answers that are right, or how many there are."""

    shape: Shape | None
    """The sizes of the labels, each of which can be right by itself; None if unknown."""
    counted: bool = False
    """Whether the marks are added up, to one number."""
    labels: Value | None = None
    """The labels that were compared, if each has a mark of its own, or one that is counted."""
    answers: frozenset[int] = frozenset()
    """The `Forward` events of the answers."""
    site: Site | None = None
    """Where they were compared; None if unknown."""


_EQUAL: Final = frozenset(words("== eq"))
_ARRANGED: Final = frozenset(words("view reshape flatten contiguous"))
_SAME: Final = MOVES | _ARRANGED | frozenset(words("float int long double half bool type type_as detach clone item"))
"""What keeps the marks, in another dtype, place or order."""
_LIKE: Final = frozenset(words("view_as expand_as reshape_as type_as to"))
_COUNTING: Final = frozenset(words("sum count_nonzero"))
_COMBINED: Final = frozenset(words("all any mean amin amax"))
_CHOSEN: Final = frozenset(words("& [] masked_select logical_and"))
"""What keeps a part of the marks."""
_OF_LABELS: Final = _SAME | frozenset(words("> >= < <= gt ge lt le argmax squeeze round"))
"""What gives one label for each label, or for each row of them."""
_TAKEN: Final = frozenset(words("batch unbind"))
"""What gives labels as the loader has them."""


class Hits(Domain["Marks | None"]):
    """The marks that a tensor holds or counts; None where it holds anything else, or nobody knows."""

    numbers = True

    def unknown(self) -> Marks | None:
        """None."""
        return None

    def record(self, value: Value) -> Making | None:
        """How a tensor was made, or the one that a number was read from."""
        if isinstance(value, Plain):
            size = value.size
            if size is not None and size.name == ARRAY:
                return super().record(size.args[0])
            if value.symbol[0] != UNTOLD:  # it is computed of what was read
                return None
            read = shapes.read_from(size)
        else:
            read = None
        return super().record(value if read is None else read)

    def read(self, made: Making) -> Marks | None:
        """A comparison of a model's answer with something else, and what becomes of its result."""
        if made.name in _EQUAL:
            sides = [value for value in made.args if isinstance(value, (Tensor, Unknown))]
            labels = [value for value in sides if not answers_of(value)]
            if len(sides) != 2 or len(labels) != 1:
                return None
            answers = answers_of(sides[1] if labels[0] is sides[0] else sides[0])
            untouched = None if any(map(self._is_changed, sides)) else labels[0]
            return Marks(_labels(labels[0]), labels=untouched, answers=answers, site=made.site)
        marks = self.of(made.args[0]) if made.args else None
        if marks is None or made.name in _SAME:
            return marks
        if made.name in _CHOSEN:
            return None if marks.counted else Marks(None)
        along = argument(made, 1, "dim")
        if made.name in _COUNTING and (along is None or measured(Tensor(meta=made)).shape == ()):
            return replace(marks, counted=True)
        if made.name in _COMBINED and along is not None and not marks.counted:
            return Marks(shapes.reduced(_now(marks, made.args[0]), size_at(along), keep=False))
        return None

    def _is_changed(self, value: Value) -> bool:
        """Whether some numbers of a tensor, or of what it was made of, were changed in place."""
        while isinstance(value, Tensor) and isinstance(made := value.meta, Making):
            if made in self._written:
                return True
            if not made.args or made.name in _TAKEN:  # what is in the data set may have been written before
                break
            value = made.args[0]
        return False


def _now(marks: Marks, of: Value) -> Shape | None:
    """The sizes of marks that may have been arranged in another way; None where it is not known which ones are a sample's."""
    shape, now = marks.shape, measured(of).shape
    if shape is None or now is None or len(shape) == len(now):
        return shape
    return now if shape[:1] == now[:1] else None


def answers_of(value: Value) -> frozenset[int]:
    """The `Forward` events whose results a tensor holds, or an array that was read from one; none for labels.

    Another tensor may give the shape or the dtype alone.
    """
    while isinstance(value, Tensor) and isinstance(made := value.meta, Making) and made.args:
        if made.name not in _LIKE and value.flow.forwards:
            break
        if not isinstance(made.args[0], (Tensor, Unknown)):
            break
        value = made.args[0]
    return value.flow.forwards


def _labels(value: Value) -> Shape | None:
    """The sizes of labels of a loader, before they were flattened; None where others were made of them."""
    shape: Shape | None = None
    while isinstance(value, Tensor) and isinstance(made := value.meta, Making) and made.args:
        if made.name in _TAKEN:
            return shape or measured(value).shape
        if made.name not in _OF_LABELS:
            return None
        if made.name not in _ARRANGED and shape is None:
            shape = measured(value).shape
        value = made.args[0]
    return shape or measured(value).shape
