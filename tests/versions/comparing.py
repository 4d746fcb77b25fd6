"""What the probe says of a fixture in one environment and not in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

ABSENT = "not found"


class Probed(msgspec.Struct, frozen=True):
    """The verdicts of a fixture, each with its reason, by place and rule; and the warnings and errors of the report."""

    name: str
    verdicts: dict[str, list[tuple[str, str]]]
    said: list[str]

    def at(self, place: str) -> dict[str, str]:
        return dict(self.verdicts.get(place, [(ABSENT, "")]))


def read(line: str | bytes) -> Probed:
    """What a line of `running.py` tells."""
    return msgspec.json.decode(line, type=Probed)


def differences(before: Probed, after: Probed) -> Iterator[str]:
    """One line for each place whose verdicts differ, and for a script that comes to an end in one alone."""
    for place in sorted({*before.verdicts, *after.verdicts}):
        was, now = before.at(place), after.at(place)
        if set(was) != set(now):
            why = next(filter(None, now.values()), "")
            yield f"{place}: {_all(was)} → {_all(now)}{f' ({why})' if why else ''}"
    if bool(before.said) != bool(after.said):
        yield "; ".join([*after.said, *(f"no longer said: {line}" for line in before.said)])


def _all(verdicts: dict[str, Any]) -> str:
    return ", ".join(sorted(verdicts))
