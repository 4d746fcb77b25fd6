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

from torch_doctor.fixes import joined
from torch_doctor.server.diagnostics import SOURCE, diagnostic
from torch_doctor.server.places import touches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lsprotocol.types import Range

    from torch_doctor.edits import Change
    from torch_doctor.rule import Finding
    from torch_doctor.server.places import Places

FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.{SOURCE}"
"""Of this kind is the action that fixes all; editors that ask for `source.fixAll` mean it, too."""
LONGEST = 60
"""Most characters in the title of a fix: menus of editors cut longer ones."""


def actions(uri: str, stretch: Range, places: Places, *, versions: bool) -> Iterator[CodeAction]:
    """The actions for the findings that a stretch of one text touches; `versions`: the editor checks them of edits."""
    for finding, ignores in places.findings():
        part = places.part(finding.site)
        if part is None or part.uri != uri or not touches(places.range(finding.site), stretch):
            continue
        told = [diagnostic(finding, places, related=False)]
        if finding.fix is not None and (edits := _edits(finding.fix.changes, places)):
            yield CodeAction(
                title=fix_title(finding),
                kind=CodeActionKind.QuickFix,
                diagnostics=told,
                is_preferred=finding.fix.safe,
                edit=_workspace_edit(edits, places, versions=versions),
            )
        for ignore in ignores:
            yield CodeAction(
                title=ignore.title,
                kind=CodeActionKind.QuickFix,
                diagnostics=told,
                edit=_workspace_edit(_edits((ignore.change,), places), places, versions=versions),
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
        for finding, _ in places.findings()
        if finding.fix is not None and finding.fix.safe and set(_edits(finding.fix.changes, places)) == {uri}
    )
    together = [change for several in changes.values() for change in several]
    if taken:
        yield CodeAction(
            title="torch-doctor: Apply all safe fixes",
            kind=FIX_ALL,
            diagnostics=[diagnostic(finding, places, related=False) for finding in taken],
            edit=_workspace_edit(_edits(together, places), places, versions=versions),
        )


def _edits(changes: Iterable[Change], places: Places) -> dict[str, list[TextEdit]]:
    """The changes as an editor makes them, by the text that they are made in; none where one of these cannot be named."""
    edits: dict[str, list[TextEdit]] = {}
    for change in changes:
        location = places.location(change.site)
        if location is None:
            return {}
        edits.setdefault(location.uri, []).append(TextEdit(location.range, change.content))
    return edits


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
