"""Texts of which parts are known: paths are joined of them, and two that are joined of the same parts are the same."""

from __future__ import annotations

import posixpath
from itertools import count
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static.values.plain import Const, Either, Plain, Unknown
from torch_doctor.static.values.symbols import compound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_doctor.static.values.symbols import Symbol
    from torch_doctor.static.values.value import Value

TEXT = "text"
"""Begins the symbol of a text; then come its parts: strings that are known, and symbols of what is not."""
FOLDER: Symbol = ("folder of the script",)
"""The part of a path that is the script's own file, its folder, one above it, or that in which it is started."""
SAME = frozenset(("resolve", "absolute", "expanduser", "as_posix"))
"""Methods of paths that give the same place in other words."""
_METHODS = frozenset(
    (
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold", "replace"),
        *("removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition"),
        *("startswith", "endswith", "find", "rfind", "count"),
    )
)
"""Methods of texts whose result is worked out where all is known."""
_MOST = 50
"""Parts of a text that are told apart."""


def is_index(text: str) -> bool:
    """Whether a text is a number that can be a place in a sequence."""
    return text.isdecimal() and len(text) < 10


def parts(value: Value) -> tuple[str | Symbol, ...] | None:
    """The known and unknown parts of a text; None where the value is surely none, or nothing is known of it."""
    if isinstance(value, Const):
        return (value.value,) if isinstance(value.value, str) else (repr(value.value),)
    if isinstance(value, Plain):
        return value.symbol[1:] if value.symbol[0] == TEXT else (value.symbol,)
    return (value.symbol,) if isinstance(value, Unknown) else None


def known(value: Value | None) -> str | None:
    """The text that a value surely is; None for all others."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, str) else None
    found = value.symbol[1:] if isinstance(value, Plain) and value.symbol[0] == TEXT else ("", ())
    return None if any(not isinstance(part, str) for part in found) else "".join(map(str, found))


def made(values: Sequence[Value], between: str = "") -> Plain | None:
    """The text that is joined of these values; None where one of them is no text."""
    found: list[str | Symbol] = []
    for value in values:
        of_value = parts(value)
        if of_value is None:
            return None
        if found and between:
            found.append(between)
        found += of_value
    return of(found) if found else None


def joined(operands: Sequence[Value], between: str) -> Plain | None:
    """What an operator makes of texts, of which one is known to be one."""
    known = any(isinstance(value, Plain) and value.symbol[0] == TEXT for value in operands)
    known = known or (
        not between and any(isinstance(value, Const) and isinstance(value.value, str) for value in operands)
    )
    return made(operands, between) if known else None


def formatted(text: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Plain | None:
    """What `format` makes of a text; None where a field is no text, or is not there."""
    from string import Formatter  # noqa: PLC0415 - few scripts format so

    found: list[Value] = []
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return None
    numbers = count()
    for before, field, spec, _ in fields:
        found.append(Const(before))
        if field is None:
            continue
        value = keywords.get(field) if field and not is_index(field) else _at(args, int(field or next(numbers)))
        if value is None:
            return None
        found.append(_shaped(value, spec or ""))
    return made(found)


def interpolated(text: str, given: Sequence[Value]) -> Plain | None:
    """What the operator `%` makes of a text and these values; None where one of them is no text, or is not there."""
    pieces = _PLACE.split(text)
    found: list[Value] = [Const(pieces[0])]
    values = iter(given)
    for place, after in zip(pieces[1::2], pieces[2::2], strict=True):
        value = Const("%") if place == "%%" else next(values, None)
        if value is None or "(" in place or "*" in place:
            return None
        found += [_shaped(value, place.strip("%sd")), Const(after)]
    return made(found)


_PLACE = pattern(r"(%(?:\([^)]*\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[a-zA-Z%])")


def _at(values: Sequence[Value], number: int) -> Value | None:
    return values[number] if number < len(values) else None


def _shaped(value: Value, spec: str) -> Value:
    """A value in the form that a field gives it: the same value in the same form is the same text."""
    if isinstance(value, Either) and all(parts(option) is not None for _, option in value.options):
        return Plain()
    found = parts(value) if spec else None
    return value if found is None else Plain(compound("form", spec, *found))


def of(found: Iterable[str | Symbol]) -> Plain:
    """The text of these parts."""
    return Plain(compound(TEXT, *found))


def is_own(symbol: Symbol) -> bool:
    """Whether it is a path that begins at the script's own place, and of which the script says the rest."""
    sort, *rest = symbol
    if sort == TEXT:
        return all(isinstance(part, str) or is_own(part) for part in rest)
    if sort in (".", "[]"):
        return is_own(rest[0]) and (sort == "[]" or rest[1] in ("parent", "parents"))
    if sort == "/":
        return all(map(is_own, rest))
    return symbol == FOLDER or (sort == "const" and isinstance(rest[0], str))


def path(found: Iterable[str | Symbol]) -> str:
    """A path in one spelling: however it was joined, the same file has the same."""
    text = "".join(part if isinstance(part, str) else f"{{{part}}}" for part in found)
    return posixpath.normpath(text) if text else ""


def method(text: Value, name: str, args: tuple[Value, ...]) -> str | bool | list[str] | tuple[str, ...] | None:
    """What a method of a known text returns for known arguments; None for those that are not followed."""
    own = known(text)
    if own is None or name not in _METHODS or not all(type(each) is Const for each in args):
        return None
    try:
        made: str | bool | list[str] = getattr(own, name)(*(each.value for each in args if isinstance(each, Const)))
    except (TypeError, ValueError):
        return None
    return None if isinstance(made, (list, tuple)) and len(made) > _MOST else made
