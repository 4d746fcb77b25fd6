"""Whether rows were made of other rows, each of the one at its own place."""

from __future__ import annotations

from typing import Any

ASKED = 64  # rows that are looked for among the others
OTHERS = 2048
FEWEST = 16
ENOUGH = 0.9  # of the rows that are asked for: without a relation, one in as many as there are rows is found by chance


def aligned(one: Any, other: Any) -> bool:
    """Whether almost every row of one matrix is more like the row at its own place in the other than like any other row.

    What is compared are the numbers in their order, apart from level and scale, or, for rows that were turned round, sorted.
    """
    if one.shape != other.shape or len(one) < FEWEST:
        return False
    step = max(1, len(one) // OTHERS)
    one, other = one[::step].double(), other[::step].double()
    places = range(0, len(one), max(1, len(one) // ASKED))
    own = one.new_tensor(list(places)).long()
    for first, second in ((one, other), (one.sort(1).values, other.sort(1).values)):
        like = _levelled(second[own]) @ _levelled(first).T
        if bool(like.isfinite().all()) and float((like.abs().argmax(1) == own).double().mean()) >= ENOUGH:
            return True
    return False


def _levelled(rows: Any) -> Any:
    centred = rows - rows.mean(1, keepdim=True)
    return centred / centred.norm(dim=1, keepdim=True).clamp_min(1e-12)
