"""Whether a model can know where the targets of a loss end: if it has to predict that, padding is a target on purpose."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.domains.unmasked import EACH_PLACE
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Sequence, Tensor, Value, symbol_of

if TYPE_CHECKING:
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run

_ALONG: Final = EACH_PLACE | frozenset(
    (
        *(f"nn.{name}" for name in words("Conv1d TransformerEncoder TransformerEncoderLayer")),
        *words("relu relu_ softplus exp float double half to clamp conv1d"),
    )
)
"""How predictions are made that have the places of what they are made of."""
_OF_PICTURES: Final = frozenset(words("nn.Conv2d nn.Conv3d conv2d conv3d"))
"""What computes features of pictures, in which nothing tells where a text ends."""
_VIEWS: Final = frozenset(words("view reshape unflatten view_as reshape_as"))
_JOINING: Final = padding.JOINING | frozenset(words("hstack append"))
_FAR: Final = 60
"""Steps that are followed back."""


class KnownPlaces(Enum):
    """What the inputs tell of the places of predictions."""

    ENDS = auto()
    """Where each sequence ends: something else is padded at the same places, or nothing else is given."""
    NO_ENDS = auto()
    """Nothing: several places are predicted of one row of features, of a picture, or of what has no padding."""
    MAYBE = auto()
    """That is not known."""


def known(run: Run, scores: Value | None, target: Padding) -> KnownPlaces:
    """Follow predictions back to what is padded at their places."""
    waiting, steps = [scores], 0
    others = alone = pictures = False
    while waiting and steps < _FAR:
        value = waiting.pop(0)
        steps += 1
        if isinstance(value, Sequence):
            waiting += value.content.all()
            continue
        found = run.ask(Padded, value) if value is not None else None
        made = made_of(value) if value is not None else None
        if found is not None and found.made is not target.made:
            return KnownPlaces.ENDS
        if found is not None:
            alone = True
        elif made is not None and made.args and _at_once(made):
            return KnownPlaces.NO_ENDS
        elif made is not None and made.name in _OF_PICTURES:
            pictures = True
        elif made is not None and made.name == "[]" and _is_stretch(made.of):
            waiting.append(made.args[0])
        elif made is not None and (made.name in _ALONG or padding.arranges(made)):
            waiting += made.args
        elif isinstance(value, Tensor):
            others = True
    if others or waiting or alone == pictures:  # of both, or of neither
        return KnownPlaces.MAYBE
    return KnownPlaces.ENDS if alone else KnownPlaces.NO_ENDS


def _is_stretch(key: object) -> bool:
    """Whether an item is made of slices alone: all places, but for some at the ends."""
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    return all(isinstance(part, p.Slice) for part in parts)


def _at_once(made: Making) -> bool:
    """Whether a view takes one row of features apart into several places."""
    if made.name not in _VIEWS:
        return False
    before, after = measured(made.args[0]).shape, measured(Tensor(meta=made)).shape
    if not before or not after or len(after) <= len(before):
        return False
    return isinstance(before[-1], int) and isinstance(after[-1], int) and after[-1] < before[-1]


def is_whole(value: Value) -> bool:
    """Whether a value has all places of padded sequences, perhaps arranged in another way, and perhaps not of all samples."""
    made = made_of(value)
    while made is not None and made.args and padding.arranges(made):
        if made.name == "[]" and not isinstance(made.of, p.Slice):
            return False
        made = made_of(made.args[0])
    return True


def tells(run: Run, found: Padding) -> bool:
    """Whether padding goes on with what the sequences end with, or is all that distinguishes targets of a single value.

    That is how a model is taught when to stop.
    """
    fill, rows = found.fill, found.made.args[0] if found.made.args else None
    row = found.made.keywords.get("row")
    if isinstance(row, Const) and isinstance(fill, Const):
        return row.value != fill.value
    if row is not None and fill is not None:
        return _ends_with(run, row, fill)
    if found.made.name != "pad_sequence" or not isinstance(rows, Sequence) or fill is None:
        return False
    content = rows.content.all()
    return bool(content) and all(_ends_with(run, each, fill) for each in content)


def may_tell(found: Padding) -> bool:
    """Whether that may be so: another number than 0 was chosen for sequences of which nothing is known."""
    rows = found.made.args[0] if found.made.args else None
    chosen = isinstance(found.fill, Const) and found.fill.value not in (0, None)
    content = rows.content.all() if isinstance(rows, Sequence) else ()
    return (
        found.made.name == "pad_sequence" and chosen and (not content or any(made_of(each) is None for each in content))
    )


def _ends_with(run: Run, row: Value, fill: Value) -> bool:
    made = made_of(row)
    if made is not None and padding.arranges(made):
        return _ends_with(run, made.args[0], fill)
    if made is not None and made.name in padding.TENSORS and made.args:
        return _ends_with(run, made.args[0], fill)
    if made is not None and made.name in _JOINING and made.args and isinstance(made.args[0], Sequence):
        parts = made.args[0].content
        last = parts.items[-1] if parts.rest is None and parts.items else None
        return last is not None and (_is_full_of(run, last, fill) or _ends_with(run, last, fill))
    if isinstance(row, Sequence) and row.content.rest is None and row.content.items:
        return symbol_of(row.content.items[-1]) == symbol_of(fill)
    by = None if made is None else padding.filled_with(made)
    return isinstance(by, Const) and isinstance(fill, Const) and by.value != fill.value


def _is_full_of(run: Run, part: Value, fill: Value) -> bool:
    number = run.ask(Filled, part)
    return isinstance(fill, Const) and number is not None and number == fill.value
