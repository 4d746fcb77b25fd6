"""What a fix changes, as the rows before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.edits import Change, Proposal
    from torch_doctor.report.reported import Reported, Source


Difference: TypeAlias = tuple[str, int, list[str], list[str]]
"""A file, the first row there that changes, and the rows before and after."""


def differences(fix: Proposal, reported: Reported) -> Iterator[Difference]:
    """For each stretch that changes its file, its first row in that file or cell, and its rows before and after."""
    for path in dict.fromkeys(change.site.path for change in fix.changes):
        source = reported.sources.get(path)
        if source is not None:
            changes = sorted((change for change in fix.changes if change.site.path == path), key=_place)
            for several in _on_common_rows(changes):
                yield path, *_rows(source, several)


def _place(change: Change) -> tuple[int, int, int]:
    return change.site.cell or 0, change.site.row, change.site.column


def _on_common_rows(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes in groups that have a row in common."""
    group: list[Change] = []
    for change in changes:
        last = group[-1].site if group else None
        if last is not None and (last.cell, last.end_row) == (change.site.cell, change.site.row):
            group.append(change)
            continue
        if group:
            yield group
        group = [change]
    if group:
        yield group


def _rows(source: Source, changes: Sequence[Change]) -> tuple[int, list[str], list[str]]:
    first, last = changes[0].site, changes[-1].site
    offset = source.row_of(first) - first.row
    before = source.shown[first.row - 1 + offset : last.end_row + offset]
    after, text = "", "\n".join(before)
    starts = [0]
    for row in before:
        starts.append(starts[-1] + len(row) + 1)
    done = 0
    for change in changes:
        site = change.site
        start, end = (
            starts[site.row - first.row] + site.column - 1,
            starts[site.end_row - first.row] + site.end_column - 1,
        )
        after += text[done:start] + change.content
        done = end
    return _without_what_stays(first.row, before, (after + text[done:]).split("\n"))


def _without_what_stays(row: int, before: list[str], after: list[str]) -> tuple[int, list[str], list[str]]:
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    while before and after and before[0] == after[0]:
        row, before, after = row + 1, before[1:], after[1:]
    return row, before, after
