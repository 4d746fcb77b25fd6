"""What is known not to hold yet: `known_breaks.txt`, one pair of bugs a line with its scripts. It may only shrink."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWN = Path(__file__).with_name("known_breaks.txt")
HEADER = "# What is known not to hold yet: two bugs, and the scripts in which one hides the other. This list may only shrink."

Case: TypeAlias = "tuple[str, str, str]"
"""The name of a script, and the codes of two bugs."""


def read_known() -> set[Case]:
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    rows = (line.split(":") for line in lines if line and not line.startswith("#"))
    return {(name, first, second) for pair, names in rows for first, second in [pair.split()] for name in names.split()}


def write_known(cases: Iterable[Case]) -> None:
    by_pair: dict[str, list[str]] = {}
    for name, first, second in sorted(cases):
        by_pair.setdefault(f"{first} {second}", []).append(name)
    lines = [HEADER, *(f"{pair}: {' '.join(names)}" for pair, names in sorted(by_pair.items()))]
    KNOWN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
