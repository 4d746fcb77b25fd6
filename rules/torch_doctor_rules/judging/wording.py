"""Messages: how they name what the user wrote."""

from __future__ import annotations

ROOM = 100
"""The most characters that a message may have."""

SHORTEST = 9
"""No name is cut to fewer characters than this."""


def message(template: str, **names: str) -> str:
    """The template with the names filled in, the longest of them cut until the whole has room."""
    names = {key: _plain(name) for key, name in names.items()}
    while len(text := template.format(**names)) > ROOM:
        longest = max(names, key=lambda key: len(names[key]), default="")
        if not longest or len(names[longest]) <= SHORTEST:
            return text[: ROOM - 1] + "…"
        uses = max(1, template.count("{" + longest + "}"))
        excess = -(-(len(text) - ROOM) // uses)
        names[longest] = _cut(names[longest], max(SHORTEST, len(names[longest]) - excess))
    return text


def owner(name: str, method: str, otherwise: str) -> str:
    """Whose method it is: `loss` for `loss.backward()`; `otherwise` where the source gives it no name."""
    return _plain(name).removesuffix("()").removesuffix(f".{method}") or otherwise


def _plain(name: str) -> str:
    return " ".join(name.replace("`", "'").split())


def _cut(name: str, room: int) -> str:
    head = room // 2
    return f"{name[:head]}…{name[len(name) - (room - head - 1) :]}"
