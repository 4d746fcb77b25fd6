"""Text of messages, with the names from the user's code filled in."""

from __future__ import annotations

import re
import sys
from functools import partial

ROOM = 100
"""The most characters that a message may have."""

SHORTEST = 9
"""No name is cut to fewer characters than this."""


class Phrase(str):
    """A phrase for something without a name in the source: it replaces the name, without backticks."""

    __slots__ = ()


def message(template: str, **names: str) -> str:
    """Return the template with the names filled in, the longest of them cut until the text has at most `ROOM` characters."""
    return _filled(template, names, ROOM)


def sentence(template: str, **names: str) -> str:
    """Return the template with the complete names filled in, for a help or a note."""
    return _filled(template, names, sys.maxsize)


def _filled(template: str, names: dict[str, str], room: int) -> str:
    phrases = [key for key, name in names.items() if isinstance(name, Phrase)]
    for key in phrases:
        template = _PLACE.sub(partial(_unquoted, key=key), template)
    names = {key: _plain(name) for key, name in names.items()}
    while len(text := template.format(**names)) > room:
        longest = max((key for key in names if key not in phrases), key=lambda key: len(names[key]), default="")
        if not longest or len(names[longest]) <= SHORTEST:
            return text[: room - 1] + "…"
        uses = max(1, template.count("{" + longest + "}"))
        excess = -(-(len(text) - room) // uses)
        names[longest] = _cut(names[longest], max(SHORTEST, len(names[longest]) - excess))
    return text


_PLACE = re.compile(r"`\{(\w+)\}(?:\.([^`]*))?`")
_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+|\[[^][]*\])*$")


def _unquoted(place: re.Match[str], key: str) -> str:
    """Return a placeholder of a name rewritten for a phrase: `` `{loss}.backward()` `` becomes `` `backward()` of {loss} ``."""
    if place[1] != key:
        return place[0]
    return f"`{place[2]}` of {{{key}}}" if place[2] else f"{{{key}}}"


def named(name: str, otherwise: str) -> str:
    """Return the name, or the phrase `otherwise` if the source gives none."""
    return name or Phrase(otherwise)


def is_path(name: str) -> bool:
    """Return whether an expression is a name, or an attribute or an item of one, so that a method call can follow it."""
    return _PATH.match(name) is not None


def with_method(what: str, name: str, method: str = "item") -> str:
    """Return `what` with the call of the method on the tensor of this name, or with the method alone where it has no name."""
    if is_path(name) and not isinstance(name, Phrase):
        return f"{what}: `{name}.{method}()`"
    return f"{what}: `.{method}()`"


def owner(name: str, method: str, otherwise: str) -> str:
    """Return the owner of a method, `loss` for `loss.backward()`, or the phrase `otherwise` if the source gives no name."""
    text = _plain(name)
    called = text.removesuffix("()")
    return named(called.removesuffix(f".{method}") if called.endswith(f".{method}") else text, otherwise)


def _plain(name: str) -> str:
    return " ".join(name.replace("`", "'").split())


def _cut(name: str, room: int) -> str:
    head = room // 2
    return f"{name[:head]}…{name[len(name) - (room - head - 1) :]}"
