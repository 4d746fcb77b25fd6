"""Where sites lie for the editor, which counts rows and columns from 0, and columns in its own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Location, Position, Range
from pygls.uris import from_fs_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygls.workspace import PositionCodec

    from torch_doctor.server.documents import Document, Part
    from torch_doctor.server.looking import Looked
    from torch_doctor.trace import Site


class Places:
    """The places of what was found in one document. `codec` knows the units of the editor: UTF-16 unless it asked for others."""

    def __init__(self, document: Document, looked: Looked, codec: PositionCodec) -> None:
        self.document = document
        self.looked = looked
        self.codec = codec

    def part(self, site: Site) -> Part | None:
        """The text that a site in the document lies in."""
        return self.document.part(site.cell) if site.path == self.looked.name else None

    def range(self, site: Site) -> Range:
        """The stretch of text that a site is."""
        return self._range(site, self._lines(site))

    def location(self, site: Site) -> Location | None:
        """A site in any file; None where that file cannot be named."""
        part = self.part(site)
        if part is not None:
            return Location(part.uri, self._range(site, part.lines))
        source = self.looked.sources.get(site.path)
        uri = None if source is None else from_fs_path(str(source.path))
        return None if uri is None else Location(uri, self._range(site, self._lines(site)))

    def at(self, line: int, start: int, end: int, lines: Sequence[str]) -> Range:
        """A stretch of one line, both from 0, columns in code points."""
        return Range(self._position(line, start, lines), self._position(line, end, lines))

    def _lines(self, site: Site) -> Sequence[str]:
        part = self.part(site)
        if part is not None:
            return part.lines
        source = self.looked.sources.get(site.path)
        return [] if source is None else source.shown

    def _range(self, site: Site, lines: Sequence[str]) -> Range:
        return Range(
            self._position(site.row - 1, site.column - 1, lines),
            self._position(site.end_row - 1, site.end_column - 1, lines),
        )

    def _position(self, line: int, character: int, lines: Sequence[str]) -> Position:
        return self.codec.position_to_client_units(lines, Position(line, character))


def touches(one: Range, other: Range) -> bool:
    """Whether two stretches have a place in common, their ends among them."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: Position) -> tuple[int, int]:
    return position.line, position.character
