"""A client that speaks with a server over stdio, as an editor does."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path  # noqa: TC003 - pytest-lsp reads the annotations of fixtures
from typing import TYPE_CHECKING, Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, make_test_lsp_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SERVER = [sys.executable, "-m", "torch_doctor", "server", "--stdio"]
PATIENCE = 60  # seconds
WATCHING = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)


def _client() -> LanguageClient:
    client = make_test_lsp_client()
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(_registered)
    return client


def _registered(_: types.RegistrationParams) -> None:
    """Files are not really watched."""


def abilities(*, pulls: bool) -> types.ClientCapabilities:
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
            diagnostic=types.DiagnosticClientCapabilities() if pulls else None,
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        workspace=types.WorkspaceClientCapabilities(
            did_change_watched_files=WATCHING,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
        ),
    )


@pytest_lsp.fixture(config=ClientServerConfig(SERVER, client_factory=_client))  # type: ignore[untyped-decorator]
async def pulling(client: LanguageClient, folder: Path) -> Any:
    """A client that asks for diagnostics, in a workspace that is the working directory."""
    result = await client.initialize_session(
        types.InitializeParams(capabilities=abilities(pulls=True), root_uri=folder.as_uri())
    )
    assert result.capabilities.inlay_hint_provider is None, "hints are off unless the editor asks for them"
    yield
    await client.shutdown_session()


@pytest_lsp.fixture(config=ClientServerConfig(SERVER, client_factory=_client))  # type: ignore[untyped-decorator]
async def hinting(client: LanguageClient, folder: Path) -> Any:
    """A client that asks for inlay hints."""
    options = {"inlayHints": True}
    result = await client.initialize_session(
        types.InitializeParams(
            capabilities=abilities(pulls=True), root_uri=folder.as_uri(), initialization_options=options
        )
    )
    assert result.capabilities.inlay_hint_provider is not None
    yield
    await client.shutdown_session()


@pytest_lsp.fixture(config=ClientServerConfig(SERVER, client_factory=_client))  # type: ignore[untyped-decorator]
async def client(client: LanguageClient, folder: Path) -> Any:
    """A client that is sent diagnostics."""
    await client.initialize_session(
        types.InitializeParams(capabilities=abilities(pulls=False), root_uri=folder.as_uri())
    )
    yield
    await client.shutdown_session()


@pytest.fixture
def opened() -> Callable[..., str]:
    """Opens a file with a text, which need not be the one on the disk; its URI."""

    def open_file(client: LanguageClient, path: Path, text: str) -> str:
        item = types.TextDocumentItem(path.as_uri(), "python", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return item.uri

    return open_file


@pytest.fixture
def typed() -> Callable[..., None]:
    """Changes the text of a file that is open."""

    def change(client: LanguageClient, uri: str, text: str, version: int = 2) -> None:
        document = types.VersionedTextDocumentIdentifier(version, uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    return change


@pytest.fixture
def pulled() -> Callable[..., Any]:
    """Asks for the diagnostics of a file or a cell."""

    async def pull(client: LanguageClient, uri: str, before: str | None = None) -> Any:
        document = types.TextDocumentIdentifier(uri)
        return await client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(document, previous_result_id=before)
        )

    return pull


@pytest.fixture
def sent() -> Callable[..., Any]:
    """Waits until the diagnostics of a text are sent."""

    async def wait(client: LanguageClient, uri: str) -> Sequence[types.Diagnostic]:
        async def told() -> Sequence[types.Diagnostic]:
            while uri not in client.diagnostics:  # noqa: ASYNC110 - a wait for the next misses one that comes with the last
                await asyncio.sleep(0.01)
            return client.diagnostics[uri]

        client.diagnostics.pop(uri, None)
        return await asyncio.wait_for(told(), PATIENCE)

    return wait
