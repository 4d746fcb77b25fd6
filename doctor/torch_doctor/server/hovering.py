"""What an editor shows under the pointer: the finding there, and the page of its rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position, Range

from torch_doctor.pattern import pattern
from torch_doctor.report.rule_pages import page
from torch_doctor.server.places import touches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.server.documents import Part
    from torch_doctor.server.places import Places

WORD = pattern(r"[\w-]+")
COMMENT = pattern(r"#.*?(?:noqa|torch-doctor\s*:).*", 2)  # 2: in any case


def hover(part: Part, position: Position, places: Places, rules: Sequence[Rule]) -> Hover | None:
    """The findings at a position with the pages of their rules, or the page of a rule that a comment names there."""
    named = _named(part, position, places, rules)
    if named is not None:
        return _shown([page(named[0])], named[1])
    spot = Range(position, position)
    found = [finding for finding, _ in places.findings() if places.part(finding.site) is part]
    found = [finding for finding in found if touches(places.range(finding.site), spot)]
    if not found:
        return None
    codes = {finding.code for finding in found}
    pages = {rule.code: page(rule) for rule in rules if rule.code in codes}
    return _shown([_told(finding, pages) for finding in found], places.range(found[0].site))


def _told(finding: Finding, pages: dict[str, str]) -> str:
    lines = [f"**{finding.headline}**", *([f"help: {finding.help}"] if finding.help else [])]
    return "\n\n".join((*lines, "---", pages.get(finding.code, "")))


def _named(part: Part, position: Position, places: Places, rules: Iterable[Rule]) -> tuple[Rule, Range] | None:
    """The rule that a suppression names at a position, and where its code or name stands."""
    line = part.lines[position.line] if position.line < len(part.lines) else ""
    comment = COMMENT.search(line)
    if comment is None:
        return None
    spot = Range(position, position)
    for word in WORD.finditer(line, comment.start()):
        stretch = places.at(position.line, word.start(), word.end(), part.lines)
        if touches(stretch, spot):
            known = (rule for rule in rules if word[0].upper() == rule.code or word[0] == rule.name)
            return next(((rule, stretch) for rule in known), None)
    return None


def _shown(texts: Iterable[str], stretch: Range) -> Hover:
    return Hover(MarkupContent(MarkupKind.Markdown, "\n\n---\n\n".join(texts)), stretch)
