"""What the server answers to, one function for each kind of message."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lsprotocol import types

from torch_doctor.server.actions import FIX_ALL, actions, fix_all
from torch_doctor.server.diagnostics import SOURCE, diagnostics
from torch_doctor.server.hinting import hints, is_name, shape
from torch_doctor.server.hovering import hover

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.server.editor import Editor

WATCHED = ("**/*.py", "**/*.ipynb", "**/pyproject.toml", "**/torch-doctor.toml", "**/.torch-doctor.toml")
"""Files whose change may change what is found in others."""


def listen(editor: Editor) -> None:
    """Let the editor's messages come to the functions below."""
    for method, function in FEATURES.items():
        editor.feature(method, OPTIONS.get(method))(function)


def _initialized(ls: Editor, _: types.InitializedParams) -> None:
    """Ask to be told of files that change outside of the editor."""
    workspace = ls.client_capabilities.workspace
    ability = None if workspace is None else workspace.did_change_watched_files
    if ability is None or not ability.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(glob) for glob in WATCHED]
    registration = types.Registration(
        f"{SOURCE}-files",
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        types.DidChangeWatchedFilesRegistrationOptions(watchers),
    )
    ls.client_register_capability(types.RegistrationParams([registration]))


def _shutdown(ls: Editor, _: None) -> None:
    ls.left = True


# --- what is open ---


def _opened(ls: Editor, params: types.DidOpenTextDocumentParams) -> None:
    ls.changed(params.text_document.uri, 0)


def _typed(ls: Editor, params: types.DidChangeTextDocumentParams) -> None:
    ls.changed(params.text_document.uri)


def _saved(ls: Editor, _: types.DidSaveTextDocumentParams | types.DidSaveNotebookDocumentParams) -> None:
    ls.others_changed()


def _closed(ls: Editor, params: types.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.closed(uri, [uri])


def _notebook_opened(ls: Editor, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.changed(params.notebook_document.uri, 0)


def _notebook_changed(ls: Editor, params: types.DidChangeNotebookDocumentParams) -> None:
    cells = params.change.cells
    structure = None if cells is None else cells.structure
    for cell in (structure and structure.did_close) or ():
        ls.closed(cell.uri, [cell.uri])
    ls.changed(params.notebook_document.uri)


def _notebook_closed(ls: Editor, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.closed(params.notebook_document.uri, [cell.uri for cell in params.cell_text_documents])


def _files_changed(ls: Editor, _: types.DidChangeWatchedFilesParams) -> None:
    ls.others_changed()


def _settings_changed(ls: Editor, _: types.DidChangeConfigurationParams) -> None:
    """The settings are those of the project, and not of the editor."""


# --- what is asked ---


async def _diagnostic(ls: Editor, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    uri = params.text_document.uri
    places = await ls.places(uri, anew=True)
    found = [] if places is None else diagnostics(places, related=ls.related).get(uri, [])
    result = hashlib.sha256(repr(found).encode("utf-8", "replace")).hexdigest()
    if result == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=result)


async def _code_action(ls: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    wanted = params.context.only
    one = wanted is None or _is_wanted(types.CodeActionKind.QuickFix.value, wanted)
    every = wanted is not None and _is_wanted(FIX_ALL, wanted)
    if not one and not every:
        return []
    uri = params.text_document.uri
    places = (None if every else ls.latest(uri, settled=True)) or await ls.places(uri, settled=True)
    if places is None:
        return []
    found = list(actions(uri, params.range, places, versions=ls.versions)) if one else []
    return found + list(fix_all(uri, places, versions=ls.versions)) if every else found


def _is_wanted(kind: str, wanted: Sequence[types.CodeActionKind | str]) -> bool:
    """Whether a kind is one of those that an editor asks for, or of a kind that it asks for."""
    asked = [each.value if isinstance(each, types.CodeActionKind) else each for each in wanted]
    return any(kind == each or kind.startswith(f"{each}.") or not each for each in asked)


async def _hover(ls: Editor, params: types.HoverParams) -> types.Hover | None:
    uri = params.text_document.uri
    places = ls.latest(uri) or await ls.places(uri)
    part = None if places is None else next((part for part in places.document.parts if part.uri == uri), None)
    if places is None or part is None:
        return None
    found = hover(part, params.position, places, ls.rules)
    if found is None and is_name(part, params.position):
        found = shape(uri, params.position, await ls.shapes(uri))
    return found


async def _inlay_hint(ls: Editor, params: types.InlayHintParams) -> list[types.InlayHint]:
    uri = params.text_document.uri
    return list(hints(uri, params.range, await ls.shapes(uri)))


FEATURES: dict[str, Callable[..., object]] = {
    types.INITIALIZED: _initialized,
    types.SHUTDOWN: _shutdown,
    types.TEXT_DOCUMENT_DID_OPEN: _opened,
    types.TEXT_DOCUMENT_DID_CHANGE: _typed,
    types.TEXT_DOCUMENT_DID_SAVE: _saved,
    types.TEXT_DOCUMENT_DID_CLOSE: _closed,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: _notebook_opened,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: _notebook_changed,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: _saved,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: _notebook_closed,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _files_changed,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _settings_changed,
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_INLAY_HINT: _inlay_hint,
}
OPTIONS = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL]),
}
