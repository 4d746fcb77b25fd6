"""Write notes beside the lines of the source that they are about."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source

WIDEST: Final = 72
"""Columns of source that are shown before the notes."""


def render(notes: Mapping[Site, Sequence[str]], sources: Mapping[str, Source], look: Look) -> str:
    """Return each line of the source that has notes, with the notes beside it, file by file."""
    files: dict[str, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for site, texts in sorted(notes.items(), key=lambda item: item[0][:3]):
        files[site.path][site.cell or 0, site.row] += texts
    return "\n".join(
        "\n".join((look.paint(path, "bold"), *_of_file(each, sources.get(path), look))) + "\n"
        for path, each in sorted(files.items())
    )


def _of_file(found: Mapping[tuple[int, int], Sequence[str]], source: Source | None, look: Look) -> Iterator[str]:
    places = sorted(found)
    rows = {place: _row(source, *place) for place in places}
    gutter = max(len(_position(*place)) for place in places)
    width = max(map(len, rows.values()))
    for place in places:
        before = f"{look.paint(f'{_position(*place):>{gutter}}', 'dim')}  {rows[place]:<{width}}"
        for text in found[place]:
            yield f"{before}  {look.paint(text, 'cyan')}"
            before = " " * (gutter + 2 + width)


def _row(source: Source | None, cell: int, row: int) -> str:
    """A row of the source, cut where it is too long; "" where it is not available."""
    at = 0 if source is None else source.row_of(Site("", row, 1, row, 1, cell or None))
    text = source.shown[at - 1].rstrip() if source is not None and 0 < at <= len(source.shown) else ""
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _position(cell: int, row: int) -> str:
    return f"cell {cell}:{row}" if cell else str(row)
