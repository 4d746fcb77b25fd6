"""Messages: how they name what the user wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from torch_doctor.rule import Finding

ROOM = 100
"""The most characters that a message may have."""

SHORTEST = 9
"""No name is cut to fewer characters than this."""


COUNT = len(" (999 more)")
"""The room that is left for a count of the other findings of one cause."""


def message(template: str, **names: str) -> str:
    """The template with the names filled in, the longest of them cut until the whole has room."""
    return _filled(template, names, ROOM)


def countable(template: str, **names: str) -> str:
    """A message that leaves room for how many others of its cause there are."""
    return _filled(template, names, ROOM - COUNT)


def counted(finding: Finding, others: int) -> Finding:
    """The finding, whose message says how many others there are."""
    return replace(finding, message=f"{finding.message} ({others:,} more)") if others else finding


def _filled(template: str, names: dict[str, str], room: int) -> str:
    names = {key: _plain(name) for key, name in names.items()}
    while len(text := template.format(**names)) > room:
        longest = max(names, key=lambda key: len(names[key]), default="")
        if not longest or len(names[longest]) <= SHORTEST:
            return text[: room - 1] + "…"
        uses = max(1, template.count("{" + longest + "}"))
        excess = -(-(len(text) - room) // uses)
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
