"""What an editor shows of the shapes of variables: under the pointer, and as inlay hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Hover, InlayHint, InlayHintKind, MarkupContent, MarkupKind, Position, Range

from torch_doctor.server.places import touches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.server.documents import Part
    from torch_doctor.server.looking import Shape
    from torch_doctor.server.places import Places


def is_name(part: Part, position: Position) -> bool:
    """Whether there is a name at a position of a text."""
    line = part.lines[position.line] if position.line < len(part.lines) else ""
    return line[position.character : position.character + 1].isidentifier()


def shape(uri: str, position: Position, places: Places | None) -> Hover | None:
    """The shape of what gets a tensor at a position; None where nothing does, or where its shape is not known."""
    spot = Range(position, position)
    for each, stretch in _shapes(uri, places):
        if touches(stretch, spot):
            return Hover(MarkupContent(MarkupKind.Markdown, f"```text\n{each.name}: {each.text}\n```"), stretch)
    return None


def hints(uri: str, stretch: Range, places: Places | None) -> Iterator[InlayHint]:
    """The shapes of what gets a tensor in a stretch of a text, each behind the name."""
    for each, where in _shapes(uri, places):
        if touches(where, stretch):
            yield InlayHint(where.end, f": {each.text}", InlayHintKind.Type)


def _shapes(uri: str, places: Places | None) -> Iterator[tuple[Shape, Range]]:
    for each in () if places is None else places.looked.shapes:
        part = None if places is None else places.part(each.site)
        if places is not None and part is not None and part.uri == uri:
            yield each, places.range(each.site)
