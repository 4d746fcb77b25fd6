"""What an editor can do about a finding: mend it, or silence it with a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from torch_doctor.edits import Proposal
from torch_doctor.fixes import joined
from torch_doctor.server.diagnostics import SOURCE, diagnostic
from torch_doctor.server.places import touches
from torch_doctor.sources.suppressing import on_file, on_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsprotocol.types import Range

    from torch_doctor.rule import Finding
    from torch_doctor.server.documents import Part
    from torch_doctor.server.places import Places
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.sources.suppressing import Insertion

FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.{SOURCE}"
"""Of this kind is the action that fixes all; editors that ask for `source.fixAll` mean it, too."""
LONGEST = 60
"""Most characters in the title of a fix: menus of editors cut longer ones."""
NOT_SUPPRESSED = frozenset(("TDR000", "TDR001"))
"""No comment makes a file readable, and one that suppresses nothing is rather taken out."""


def actions(uri: str, stretch: Range, places: Places, *, versions: bool) -> Iterator[CodeAction]:
    """The actions for the findings that a stretch of one text touches; `versions`: the editor checks them of edits."""
    file = places.looked.sources.get(places.looked.name)
    for finding in places.looked.findings:
        part = places.part(finding.site)
        if part is None or part.uri != uri or not touches(places.range(finding.site), stretch):
            continue
        told = [diagnostic(finding, places, related=False)]
        if finding.fix is not None and (edits := _mending(finding.fix, places)):
            yield CodeAction(
                title=fix_title(finding),
                kind=CodeActionKind.QuickFix,
                diagnostics=told,
                is_preferred=finding.fix.safe,
                edit=_workspace_edit(edits, places, versions=versions),
            )
        for title, edit in _silencing(finding, file, part, places) if file is not None else ():
            yield CodeAction(
                title=title,
                kind=CodeActionKind.QuickFix,
                diagnostics=told,
                edit=_workspace_edit({part.uri: [edit]}, places, versions=versions),
            )


def fix_title(finding: Finding) -> str:
    """Return what a fix does, or if that is too long for a menu, which rule it satisfies: at most `LONGEST` characters."""
    suffix = " (unsafe)" if finding.fix is not None and not finding.fix.safe else ""
    titles = [f"Fix {finding.code}: {finding.help}", f"Fix {finding.code} {finding.name}", f"Fix {finding.code}"]
    return next(title for title in titles if len(title + suffix) <= LONGEST or title is titles[-1]) + suffix


def fix_all(uri: str, places: Places, *, versions: bool) -> Iterator[CodeAction]:
    """One action that makes all safe fixes which touch one text alone, as an editor asks for it on saving."""
    taken, changes = joined(
        finding
        for finding in places.looked.findings
        if finding.fix is not None and finding.fix.safe and set(_mending(finding.fix, places)) == {uri}
    )
    together = Proposal(tuple(change for several in changes.values() for change in several), safe=True)
    if taken:
        yield CodeAction(
            title="torch-doctor: Apply all safe fixes",
            kind=FIX_ALL,
            diagnostics=[diagnostic(finding, places, related=False) for finding in taken],
            edit=_workspace_edit(_mending(together, places), places, versions=versions),
        )


def _mending(fix: Proposal, places: Places) -> dict[str, list[TextEdit]]:
    """The changes that mend a finding, by the text that they are made in; none where one of these cannot be named."""
    edits: dict[str, list[TextEdit]] = {}
    for change in fix.changes:
        location = places.location(change.site)
        if location is None:
            return {}
        edits.setdefault(location.uri, []).append(TextEdit(location.range, change.content))
    return edits


def _silencing(finding: Finding, file: SourceFile, part: Part, places: Places) -> Iterator[tuple[str, TextEdit]]:
    if finding.code in NOT_SUPPRESSED:
        return
    named = f"{finding.code} {finding.name}"
    line = on_line(finding, file)
    if line is not None:
        yield f"Ignore {named} on this line", _text_edit(line, file, part, places)
    if finding.site.cell is None:
        yield f"Ignore {named} in this file", _text_edit(on_file(finding, file), file, part, places)


def _text_edit(insertion: Insertion, file: SourceFile, part: Part, places: Places) -> TextEdit:
    """An insertion into the text of the scan as one into the text of the editor, whose rows may be indented."""
    site = file.site(insertion.row, insertion.column, insertion.row, insertion.column)
    column = site.column - 1
    return TextEdit(places.at(site.row - 1, column, column, part.lines), insertion.content)


def _workspace_edit(edits: dict[str, list[TextEdit]], places: Places, *, versions: bool) -> WorkspaceEdit:
    if not versions:
        return WorkspaceEdit(changes=dict(edits))
    numbers = {part.uri: part.version for part in places.document.parts}
    return WorkspaceEdit(
        document_changes=[
            TextDocumentEdit(OptionalVersionedTextDocumentIdentifier(uri, numbers.get(uri)), list(each))
            for uri, each in edits.items()
        ]
    )
