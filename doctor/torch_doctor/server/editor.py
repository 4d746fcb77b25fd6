"""The server as an editor speaks with it: on stdin and stdout, until it is told to exit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from torch_doctor import __version__
from torch_doctor.server.diagnostics import SOURCE, diagnostics
from torch_doctor.server.documents import LANGUAGE, document_of, folder_of
from torch_doctor.server.places import Places
from torch_doctor.server.scans import Scans

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from torch_doctor.rule import Rule
    from torch_doctor.server.looking import Settings
    from torch_doctor.server.scans import Known

DELAY = 0.2
"""Seconds without a change after which what is typed is looked at."""
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithNotebook(
            types.NotebookDocumentFilterNotebookType("jupyter-notebook"), [types.NotebookCellLanguage(LANGUAGE)]
        )
    ],
    save=True,
)


def wants_hints(options: object) -> bool:
    """Whether the editor's options for the server ask for inlay hints: `{"inlayHints": true}`."""
    found = options.get("inlayHints") if isinstance(options, dict) else getattr(options, "inlayHints", None)
    return found is True


class Protocol(LanguageServerProtocol):
    """Files are sent whole with every change, cells of notebooks in stretches.

    pygls counts the lines of a stretch as `str.splitlines` does, which knows more ends of lines than editors do.
    """

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """What the server can do."""
        result = yield from super().lsp_initialize(params)
        sync = result.capabilities.text_document_sync
        if isinstance(sync, types.TextDocumentSyncOptions):
            sync.change = types.TextDocumentSyncKind.Full
        if not wants_hints(params.initialization_options):
            result.capabilities.inlay_hint_provider = None
        return result


class Editor(LanguageServer):
    """What is known of the documents that are open. `rules` are all that are installed."""

    def __init__(self, settings: Settings, rules: Sequence[Rule]) -> None:
        super().__init__(
            SOURCE,
            __version__,
            types.TextDocumentSyncKind.Incremental,
            NOTEBOOKS,
            protocol_cls=Protocol,
        )
        self.rules = rules
        self.left = False  # whether the editor has said that it needs no more
        self._scans = Scans(settings, self._say)
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._publishing: set[asyncio.Task[None]] = set()
        self._said: dict[str, tuple[str, ...]] = {}

    # --- what the editor can do ---

    @property
    def pulls(self) -> bool:
        """Whether the editor asks for diagnostics; else they are sent to it."""
        text = self.client_capabilities.text_document
        return text is not None and text.diagnostic is not None

    @property
    def related(self) -> bool:
        """Whether the editor shows places that belong to a diagnostic."""
        text = self.client_capabilities.text_document
        publish = None if text is None else text.publish_diagnostics
        return publish is not None and bool(publish.related_information)

    @property
    def versions(self) -> bool:
        """Whether edits name the version of the text that they are for."""
        workspace = self.client_capabilities.workspace
        edit = None if workspace is None else workspace.workspace_edit
        return edit is not None and bool(edit.document_changes)

    # --- looking ---

    async def places(self, uri: str, *, anew: bool = False, settled: bool = False) -> Places | None:
        """What there is to say of the document that holds a text; None where it is no open Python.

        `anew`: other files may have changed since it was looked at the last time. `settled`: the findings say what would
        mend or silence them.
        """
        asked = next(self._scans.ticks)
        while True:
            document = document_of(uri, self.workspace)
            if document is None:
                return None
            known = self._scans.known.get(document.uri)
            fresh = known is not None and known.document == document and not (anew and known.begun < asked)
            if known is not None and fresh and (known.looked.settled or not settled):
                return Places(document, known.looked, self.workspace.position_codec)
            scan = self._scans.of(document.uri)
            late = anew and scan is not None and scan.begun is not None and scan.begun < asked
            if scan is None or scan.document != document or (late and scan.first.done()):
                scan = self._scans.begin(document, folder_of(document.path, self.workspace))
                late = False
            await asyncio.shield(scan.last if settled and not late else scan.first)

    def latest(self, uri: str, *, settled: bool = False) -> Places | None:
        """What was found in the document the last time, where that is now; None if there is nothing to go by yet.

        `settled`: the findings say what would mend or silence them, if that has been worked out for any text.
        """
        document = document_of(uri, self.workspace)
        known = None if document is None else self._scans.known.get(document.uri)
        if document is None or known is None:
            return None
        if settled and not known.looked.settled:
            before = self._scans.settled.get(document.uri)
            if before is None and known.document == document:
                return None
            known = before or known
        return Places(known.document, known.looked, self.workspace.position_codec, document)

    async def shapes(self, uri: str) -> Places | None:
        """The shapes of the variables of the document that holds a text; None where it is no open Python."""
        while (document := document_of(uri, self.workspace)) is not None:
            looked = await self._scans.shapes(document, folder_of(document.path, self.workspace))
            if looked is not None:
                return Places(document, looked, self.workspace.position_codec)
        return None

    def _say(self, known: Known) -> None:
        """Tell what is no finding, once for as long as it holds."""
        uri, looked = known.document.uri, known.looked
        said = (looked.settings, *looked.errors, *looked.warnings)
        if self._said.get(uri) == said:
            return
        self._said[uri] = said
        if looked.settings:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"{SOURCE}: {looked.settings}"))
        for kind, lines in ((types.MessageType.Error, looked.errors), (types.MessageType.Warning, looked.warnings)):
            for line in lines:
                self.window_log_message(types.LogMessageParams(kind, line))

    # --- sending ---

    def changed(self, uri: str, delay: float = DELAY) -> None:
        """A document has changed, and what there is to say of it is sent when nothing changes for a while."""
        document, scan = document_of(uri, self.workspace), self._scans.of(uri)
        if scan is not None and scan.document != document:
            self._scans.abandon(uri)
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        if not self.pulls:
            self._waiting[uri] = asyncio.get_running_loop().call_later(delay, self._publish_soon, uri)

    def others_changed(self) -> None:
        """Files have changed that open documents may depend on."""
        workspace = self.client_capabilities.workspace
        ability = None if workspace is None else workspace.diagnostics
        if self.pulls and ability is not None and ability.refresh_support:
            self.workspace_diagnostic_refresh(None)
        for uri in list(self._scans.known):
            self.changed(uri)

    def closed(self, uri: str, parts: Sequence[str]) -> None:
        """A document is closed: nothing is said of it any more."""
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._scans.forget(uri)
        self._said.pop(uri, None)
        if not self.pulls:
            for part in parts:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part, []))

    def _publish_soon(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        task = asyncio.get_running_loop().create_task(self._publish(uri))
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)

    async def _publish(self, uri: str) -> None:
        try:
            places = await self.places(uri, anew=True)
            found = {} if places is None else diagnostics(places, related=self.related)
        except Exception as error:  # noqa: BLE001 - the next change is looked at nevertheless
            line = f"internal error: {type(error).__name__}: {error}; please report it"
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, line))
            return
        versions = {} if places is None else {part.uri: part.version for part in places.document.parts}
        for part, each in found.items():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part, each, versions[part]))

    # --- the end ---

    def end(self) -> None:
        """End what was started."""
        self._scans.end()
