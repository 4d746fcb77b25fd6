"""Which known word is meant by one that is misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NEAR = 0.7  # of the characters are the same, in order; below, codes look like each other
ALIKE = str.maketrans("oil", "011")
"""Letters that are taken for digits."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that a word begins, looks like, or is nearest to; "" where none is near."""
    import difflib  # noqa: PLC0415 - only for what is misspelt

    by_folded = {name.casefold(): name for name in known}
    folded = word.casefold()
    longer = [name for name in by_folded if folded and name.startswith(folded)]
    alike = [name for name in by_folded if name.translate(ALIKE) == folded.translate(ALIKE)]
    near = longer or alike or difflib.get_close_matches(folded, by_folded, n=1, cutoff=NEAR)
    return by_folded[near[0]] if near else ""
