"""In which order the channels of pictures come: red first, as most libraries read them, or blue first, as OpenCV does.

An array is told by its symbol, a tensor by how it was made. What may have changed the order, or is not known to leave it, gives
something of which nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.scales import Scale, Transformed
from torch_doctor.static.tables import channels as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import (
    ARRAY,
    Call,
    Const,
    Lib,
    Making,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Value,
    fresh_symbol,
    leaves,
)
from torch_doctor.static.values.symbols import PICTURE, PIXELS, SLICE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.domains.scales import Numbers
    from torch_doctor.trace import Site

TRANSFORMED: Final = "transformed"
"""Names how the tensor is made that a library's transform makes of a picture."""
PICTURE_AXES: Final = 3
PAIR: Final = 2
BYTES: Final = 255
NEAR: Final = 0.004
"""By so much the same statistics differ from source to source."""


_TURNED_ROUND: Final = {"RGB": "BGR", "BGR": "RGB"}


class Channels(NamedTuple):
    """The order of a picture's channels, "" where it is not known, and whether they are its third and last dimension.

    `meant` is the order of the channels in the statistics that have normalised it, "" where nobody knows, and `scaled_at` where.
    `scale` says by which numbers it is scaled, None where nobody knows.
    """

    order: str = ""
    third: bool = True
    meant: str = ""
    scaled_at: Site | None = None
    scale: Scale | None = Scale()

    def swapped(self) -> Channels:
        """The same with the first channel in the place of the last."""
        scale = None if self.scale is None else self.scale.turned
        return self._replace(
            order=_TURNED_ROUND.get(self.order, ""), meant=_TURNED_ROUND.get(self.meant, ""), scale=scale
        )


def made_for(means: tuple[float, ...]) -> str:
    """Return the order of the channels in well-known statistics, "" for all others."""
    for scale in (1, BYTES):
        for known in table.RED_FIRST:
            if len(means) == len(known) and all(abs(m / scale - k) < NEAR for m, k in zip(means, known, strict=True)):
                return "RGB"
            if len(means) == len(known) and all(
                abs(m / scale - k) < NEAR for m, k in zip(means, known[::-1], strict=True)
            ):
                return "BGR"
    return ""


class Picture(NamedTuple):
    """A picture, or what was made of it: where it was read, and how its channels come."""

    site: Site
    channels: Channels


UNTOLD: Final = Channels()


def symbol(site: Site, channels: Channels = UNTOLD, word: str = PIXELS) -> Symbol:
    """The symbol of a picture that was read at a place."""
    return (word, site, fresh_symbol(), *channels)


def read(name: str, call: Call) -> Channels:
    """How the channels come of what a function reads."""
    order = table.ORDERS.get(name, "")
    flags = call.argument(1, "flags") if order == "BGR" else None
    if flags is None or (isinstance(flags, Const) and flags.value == 1):
        return Channels(order)
    return Channels(table.FLAGS.get(flags.name, "")) if isinstance(flags, Lib) else UNTOLD


class PictureOf(Domain[Picture | None]):
    """The picture that a value was made of, whose channels come in a known order; None for any other."""

    def unknown(self) -> Picture | None:
        """None."""
        return None

    def join(self, left: Picture | None, right: Picture | None) -> Picture | None:
        """The first of two pictures whose channels come alike."""
        return _alike((left, right))

    def given(self, value: Value) -> Picture | None:
        """An array is told by its symbol, a container by what is in it."""
        if isinstance(value, Sequence):
            return _alike(map(self.of, leaves(value)))
        return _of_symbol(value.symbol) if isinstance(value, Plain) else None

    def read(self, made: Making) -> Picture | None:
        """What is computed of one picture, or arranges its numbers."""
        if made.name in table.ARITHMETIC:
            picture = _only(map(self.of, made.args))
            means = numbers(made.args[1]) if made.name in _SUBTRACTS and len(made.args) > 1 else ()
            return picture if picture is None or not means else scaled_by(picture, means, made.site)
        if made.name == TRANSFORMED and isinstance(made.of, Transformed):
            picture = self.of(made.args[0])
            return picture if picture is None or made.of.at is None else scaled_by(picture, made.of.means, made.of.at)
        if made.args and (made.name in table.TENSORS or (made.name != "[]" and padding.arranges(made))):
            return self.of(made.args[0])
        return None


def scaled_by(picture: Picture, means: tuple[float, ...], site: Site | None) -> Picture:
    """A picture that is normalised by means of its channels."""
    return picture._replace(channels=picture.channels._replace(meant=made_for(means), scaled_at=site))


def numbers(value: Value | None) -> tuple[float, ...]:
    """The numbers in a list, or in a tensor or array that was made of one; () where they are not known."""
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    made = value.meta if isinstance(value, Tensor) else None
    if isinstance(made, Making) and made.args:
        return _numbers_of(made)
    items = value.content.items if isinstance(value, Sequence) and value.content.rest is None else ()
    known = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, (int, float))]
    return tuple(map(float, known)) if len(known) == len(items) else ()


def _numbers_of(made: Making) -> tuple[float, ...]:
    """The numbers in a tensor or an array that was arranged in another way, or scaled by one number."""
    given, *others = made.args
    if made.name == "[]":
        parts = [*others[0].content.all()] if isinstance(others[0], Sequence) else others
        if isinstance(made.of, p.Display) and made.of.kind != "tuple":
            parts = others
        turned = [part for part in parts if not _is_whole(part)]
        known = numbers(given)
        return known if not turned else known[::-1] if len(turned) == 1 and _bounds(turned[0]) in _TURNED else ()
    if made.name in _SCALING and len(others) == 1:
        by = others[0].value if isinstance(others[0], Const) else None
        if not isinstance(by, (int, float)) or not by:
            return ()
        return tuple(each * by if made.name in _TIMES else each / by for each in numbers(given))
    return numbers(given) if made.name in table.TENSORS or padding.arranges(made) or made.name in _CASTS else ()


def _is_whole(key: Value) -> bool:
    """Whether a part of a key takes all of a dimension, or adds one."""
    return _bounds(key) == (SLICE, None, None, None) or (isinstance(key, Const) and key.value in (None, ...))


def _of_symbol(symbol: Symbol) -> Picture | None:
    channels = Channels(*symbol[3:]) if symbol[0] in (PIXELS, PICTURE) else UNTOLD
    return Picture(symbol[1], channels) if channels.order else None


def _only(found: Iterable[Picture | None]) -> Picture | None:
    """The picture that something is computed of; None where there are several, or none."""
    pictures = [each for each in found if each is not None]
    return pictures[0] if len(pictures) == 1 else None


def _alike(found: Iterable[Picture | None]) -> Picture | None:
    """The first of several pictures whose channels come alike."""
    pictures = list(found)
    first = pictures[0] if pictures else None
    alike = first is not None and all(each is not None and each.channels == first.channels for each in pictures)
    return first if alike else None


def after(picture: Picture | None, name: str, call: Call) -> Channels:
    """How the channels come of what a function, or a method with a dot before its name, makes of a picture."""
    channels = UNTOLD if picture is None else picture.channels
    if name in table.CONVERTING:
        code = call.argument(1, "code")
        number = isinstance(code, Const) and code.value == table.SWAPPING_NUMBER
        return channels.swapped() if number or (isinstance(code, Lib) and code.name in table.SWAPPING) else UNTOLD
    if name == ".convert":
        mode = call.argument(0, "mode")
        return channels if isinstance(mode, Const) and mode.value == "RGB" else UNTOLD
    if name in table.FLIPPING:
        return channels if channels.third and table.FLIPPING[name] else UNTOLD
    return channels if name in table.KEEPING_THE_LAST else channels._replace(third=False)


def operated(op: str, operands: tuple[Value, ...], site: Site) -> Symbol | None:
    """The symbol of an array that is computed of one picture and of numbers, as its means are subtracted; None for others."""
    if op not in table.ARITHMETIC or len(operands) != PAIR:
        return None
    picture = _only(_of_symbol(each.symbol) for each in operands if isinstance(each, Plain))
    if picture is None:
        return None
    means, known = numbers(operands[1]) if op in _SUBTRACTS else (), calculated(op, operands)
    channels = (scaled_by(picture, means, site) if means else picture).channels
    scale = None if known is None else Channels(*known[3:]).scale
    return symbol(picture.site, channels._replace(scale=scale), PICTURE)


def item(value: Plain, key: Value) -> Symbol | None:
    """The symbol of a part of a picture, or of it with its channels turned round; None where that is not known."""
    picture = _of_symbol(value.symbol)
    if picture is None or value.symbol[0] not in (PIXELS, PICTURE):
        return None
    before = picture.channels
    after = _after_item(before, list(key.content.all()) if isinstance(key, Sequence) else [key])
    if after is UNTOLD:
        after = after._replace(scale=None if before.scale is None or before.scale.several else before.scale)
    return symbol(picture.site, after, value.symbol[0])


def calculated(op: str, operands: tuple[Value, ...]) -> Symbol | None:
    """The symbol of what an operator makes of a picture and numbers; None for anything else."""
    for of, by in (operands, operands[::-1]) if len(operands) == PAIR else ():
        if isinstance(of, Plain) and of.symbol[0] in (PIXELS, PICTURE) and not isinstance(by, Tensor):
            channels, known = Channels(*of.symbol[3:]), numbers_in(by)
            if not known:
                return None
            told = channels.scale is not None and (of is operands[0] or op in "+*")
            scale = channels.scale.computed(op, known) if told and channels.scale is not None else None
            return symbol(of.symbol[1], channels._replace(scale=scale), PICTURE)
    return None


def numbers_in(value: Value | None) -> Numbers:
    """The number that a value is, or the numbers in it; () where they are not known."""
    if isinstance(value, Const):
        number = value.value
        return (float(number),) if isinstance(number, (int, float)) and not isinstance(number, bool) else ()
    return numbers(value)


def _after_item(channels: Channels, keys: list[Value]) -> Channels:
    """How the channels come of what one key for each dimension picks."""
    if all(isinstance(key, Const) and key.value in (None, ...) for key in keys):
        return channels._replace(third=False)  # a dimension more
    if not channels.third:
        return UNTOLD
    if isinstance(keys[0], Const) and keys[0].value is ...:
        keys = [Plain((SLICE, None, None, None))] * (PICTURE_AXES - len(keys) + 1) + keys[1:]
    if len(keys) > PICTURE_AXES or not all(map(_slices, keys[: PICTURE_AXES - 1])):
        return UNTOLD
    last = keys[PICTURE_AXES - 1] if len(keys) == PICTURE_AXES else None
    if last is None or _bounds(last) in _ALL:
        return channels
    return channels.swapped() if _bounds(last) in _TURNED else UNTOLD


def _slices(key: Value) -> bool:
    return isinstance(key, Plain) and key.symbol[0] == SLICE


def _bounds(key: Value) -> tuple[object, ...]:
    """The constants that a key consists of."""
    if isinstance(key, Sequence):
        return tuple(item.value if isinstance(item, Const) else ... for item in key.content.all())
    parts = key.symbol[1:] if isinstance(key, Plain) and key.symbol[0] == SLICE else (...,)
    return (SLICE, *(part[1] if isinstance(part, tuple) and part[0] == "const" else part for part in parts))


_SUBTRACTS: Final = frozenset(("-", "sub", "sub_", "subtract"))
_TIMES: Final = frozenset(words("* mul multiply"))
_SCALING: Final = _TIMES | frozenset(words("/ div divide true_divide"))
_CASTS: Final = frozenset(words("to float double half type_as reshape"))
_ALL: Final = ((SLICE, None, None, None), (SLICE, None, 3, None), (SLICE, 0, 3, None), (0, 1, 2))
_TURNED: Final = ((SLICE, None, None, -1), (2, 1, 0))
