"""Where sites lie for the editor, which counts rows and columns from 0, and columns in its own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Location, Position, Range
from msgspec.structs import replace
from pygls.uris import from_fs_path

from torch_doctor.edits import Proposal
from torch_doctor.server.moving import Movement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pygls.workspace import PositionCodec

    from torch_doctor.edits import Change
    from torch_doctor.rule import Finding
    from torch_doctor.server.documents import Document, Part
    from torch_doctor.server.looking import Ignore, Looked
    from torch_doctor.trace import Site


class Places:
    """The places of what was found in one document. `codec` knows the units of the editor: UTF-16 unless it asked for others.

    `now` is the document as it is now, if what was found is of an older text: findings move with their lines, and those on
    lines that have changed are left out.
    """

    def __init__(self, document: Document, looked: Looked, codec: PositionCodec, now: Document | None = None) -> None:
        self.document = now or document
        self.looked = looked
        self.codec = codec
        self._movement = None if now is None or now == document else Movement(document, now)

    def findings(self) -> list[tuple[Finding, tuple[Ignore, ...]]]:
        """What was found, where it is now, each with the comments that would silence it."""
        ignores = self.looked.ignores or ((),) * len(self.looked.findings)
        found = list(zip(self.looked.findings, ignores, strict=True))
        if self._movement is None:
            return found
        moved = ((self._site(finding.site), finding, comments) for finding, comments in found)
        return [
            (replace(finding, site=site, fix=self._fix(finding)), tuple(self._comments(comments)))
            for site, finding, comments in moved
            if site is not None
        ]

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

    def _site(self, site: Site, apart: int = 0) -> Site | None:
        """A site of the older text in the one of now."""
        elsewhere = site.path != self.looked.name
        return site if self._movement is None or elsewhere else self._movement.moved(site, apart)

    def _fix(self, finding: Finding) -> Proposal | None:
        """The fix of a finding where nothing next to it has changed: what was typed there may be the same fix."""
        if finding.fix is None:
            return None
        changes = [self._change(change) for change in finding.fix.changes]
        whole = [change for change in changes if change is not None]
        return Proposal(tuple(whole), finding.fix.safe) if len(whole) == len(changes) else None

    def _comments(self, comments: Sequence[Ignore]) -> Iterator[Ignore]:
        for comment in comments:
            change = self._change(comment.change)
            if change is not None:
                yield replace(comment, change=change)

    def _change(self, change: Change) -> Change | None:
        site = self._site(change.site, apart=1)
        return None if site is None else replace(change, site=site)

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
