"""Render the gradients that a run measured by term of a loss and module: as rows of a table, or as records."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from torch_doctor.trace import TermGradient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.trace import Site, Trace

MOST: Final = 6
"""Modules that have a column."""
LONGEST: Final = 40
"""Characters of a term."""
NOTHING: Final = "-"


def by_pass(trace: Trace) -> dict[Site, list[TermGradient]]:
    """The measurements of each backward pass."""
    found: dict[Site, list[TermGradient]] = defaultdict(list)
    for event in trace.of(TermGradient):
        found[event.site].append(event)
    return found


def rows(measured: Sequence[TermGradient]) -> Iterator[str]:
    """Yield a table of one backward pass; nothing where it would have a single number."""
    modules = list(dict.fromkeys(each.module for each in measured))
    norms = {(each.number, each.module): each.norm for each in measured}
    terms = {each.number: each.term for each in measured}
    if len(norms) == 1:
        return
    more = len(modules) - MOST
    lines = [["first pass, norm by term", *(f"`{module}`" for module in modules[:MOST])]]
    for number, term in terms.items():
        lines.append([f"`{_shortened(term)}`", *(_number(norms[number, module]) for module in modules[:MOST])])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for place, line in enumerate(lines):
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        yield f"run: {cells}{f'  and {more} more' if more > 0 and not place else ''}"


def records(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield each measurement as an object."""
    for event in trace.of(TermGradient):
        path, row, column, *_, cell = event.site
        record: dict[str, Any] = {"path": path, "cell": cell, "row": row, "column": column, "event": "TermGradient"}
        record |= {"loss": event.loss, "term": event.term, "modules": f"`{event.module}`", "norm": event.norm}
        yield record | {"weights": event.weights, "observed": True}


def _shortened(term: str) -> str:
    """Return an expression as it fits into a table."""
    return term if len(term) <= LONGEST else f"{term[: LONGEST - 1]}…"


def _number(norm: float | None) -> str:
    return NOTHING if norm is None else f"{norm:.3g}"
