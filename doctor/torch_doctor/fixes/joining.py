"""Which proposals can be carried out together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_doctor.edits import Change
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site

Span = tuple[int, int, int, int]


def joined(findings: Iterable[Finding]) -> tuple[list[Finding], dict[str, list[Change]]]:
    """The findings that are mended in one go, and the changes of each file in the order of the text.

    A proposal that touches what an earlier one changes waits for the next round; one that asks for the very same change
    as another, such as an import, shares it.
    """
    taken: list[Finding] = []
    changes: dict[str, list[Change]] = {}
    for finding in findings:
        if finding.fix is None:
            continue
        new = [change for change in finding.fix.changes if change not in changes.get(change.site.path, ())]
        if not new or any(
            _clash(change.site, other.site) for change in new for other in changes.get(change.site.path, ())
        ):
            continue
        taken.append(finding)
        for change in new:
            changes.setdefault(change.site.path, []).append(change)
    for several in changes.values():
        several.sort(key=lambda change: (change.site.cell or 0, *_span(change.site)))
    return taken, changes


def _clash(one: Site, two: Site) -> bool:
    """Whether two stretches have a character in common, or the place of an insertion."""
    if one.cell != two.cell:
        return False
    (row, column, end_row, end_column), other = _span(one), _span(two)
    if (row, column) == (end_row, end_column) and other[:2] == other[2:]:
        return (row, column) == other[:2]
    return (row, column) < other[2:] and other[:2] < (end_row, end_column)


def _span(site: Site) -> Span:
    return site.row, site.column, site.end_row, site.end_column


def moved(site: Site, changes: Mapping[str, Sequence[Change]]) -> Site:
    """Where a site lies when the changes are made, which put text in above it, or before it on its rows."""
    same = [change for change in changes.get(site.path, ()) if change.site.cell == site.cell]
    row, column = _moved(site.row, site.column, same)
    end_row, end_column = _moved(site.end_row, site.end_column, same)
    return site._replace(row=row, column=column, end_row=end_row, end_column=end_column)


def _moved(row: int, column: int, changes: Iterable[Change]) -> tuple[int, int]:
    """Where a place lies when the changes are made, which are in the order of the text."""
    below = right = 0
    for change in changes:
        old, lines = change.site, change.content.split("\n")
        if (old.end_row, old.end_column) > (row, column):
            continue
        below += len(lines) - 1 - (old.end_row - old.row)
        if old.end_row == row:
            start = old.column + (right if old.row == row else 0) if len(lines) == 1 else 1
            right = start + len(lines[-1]) - old.end_column
    return row + below, column + right
