"""Notebooks: what is found in which cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

from tests.server.test_files import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_lsp import LanguageClient

ROWS = SCRIPT.splitlines(keepends=True)
CELLS = ["%matplotlib inline\n" + "".join(ROWS[:6]), "".join(ROWS[6:]).rstrip()]
QUICK_FIX = types.CodeActionContext([])

pytestmark = pytest.mark.asyncio


def cell(number: int, folder: Path) -> str:
    return f"vscode-notebook-cell:{folder / 'train.ipynb'}#{number}"


def open_notebook(client: LanguageClient, folder: Path, texts: Sequence[str]) -> str:
    """Open a notebook of these code cells below a cell of prose, whose text editors need not send."""
    uri = (folder / "train.ipynb").as_uri()
    items = [types.TextDocumentItem(cell(at, folder), "python", 1, text) for at, text in enumerate(texts, start=2)]
    cells = [
        types.NotebookCell(types.NotebookCellKind.Markup, cell(1, folder)),
        *(types.NotebookCell(types.NotebookCellKind.Code, item.uri) for item in items),
    ]
    document = types.NotebookDocument(uri, "jupyter-notebook", 1, cells)
    client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
    return uri


def change(client: LanguageClient, uri: str, cell_uri: str, place: types.Position, text: str) -> None:
    edit = types.TextDocumentContentChangePartial(types.Range(place, place), text)
    texts = types.NotebookDocumentCellContentChanges(types.VersionedTextDocumentIdentifier(2, cell_uri), [edit])
    client.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(2, uri),
            types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[texts])),
        )
    )


async def test_a_finding_is_told_of_its_cell_until_the_cell_is_mended(
    client: LanguageClient, folder: Path, sent: Callable[..., Any]
) -> None:
    uri = open_notebook(client, folder, CELLS)
    (finding,) = await sent(client, cell(3, folder))
    assert (finding.code, finding.range.start.line) == ("TDR101", 2)
    assert not client.diagnostics[cell(2, folder)]
    assert {step.location.uri for step in finding.related_information} == {cell(3, folder)}
    change(client, uri, cell(3, folder), types.Position(1, 0), "    optimizer.zero_grad()\n")
    assert not await sent(client, cell(3, folder))


async def test_a_cell_can_be_asked_about_and_gets_actions_and_pages(
    pulling: LanguageClient, folder: Path, pulled: Callable[..., Any]
) -> None:
    uri = open_notebook(pulling, folder, CELLS)
    assert not (await pulled(pulling, cell(2, folder))).items
    (finding,) = (await pulled(pulling, cell(3, folder))).items
    document = types.TextDocumentIdentifier(cell(3, folder))
    page: Any = await pulling.text_document_hover_async(types.HoverParams(document, finding.range.start))
    assert "# missing-zero-grad (TDR101)" in page.contents.value
    found: Any = await pulling.text_document_code_action_async(
        types.CodeActionParams(document, finding.range, QUICK_FIX)
    )
    mends, silences = found
    for edit in mends.edit.document_changes[0].edits:
        change(pulling, uri, cell(3, folder), edit.range.start, edit.new_text)
    (changed,) = silences.edit.document_changes
    assert changed.text_document.uri == document.uri
    assert changed.edits[0].range.start == finding.range.end
    assert changed.edits[0].new_text == "  # noqa: TDR101"
    assert not (await pulled(pulling, cell(3, folder))).items


async def test_a_cell_that_is_no_python_is_told_and_the_others_are_looked_at(
    pulling: LanguageClient, folder: Path, pulled: Callable[..., Any]
) -> None:
    open_notebook(pulling, folder, [*CELLS, "import torch\nfor\n", "%%bash\nrm -r runs"])
    assert [each.code for each in (await pulled(pulling, cell(3, folder))).items] == ["TDR101"]
    (broken,) = (await pulled(pulling, cell(4, folder))).items
    assert (broken.code, broken.range.start.line) == ("TDR000", 1)
    assert not (await pulled(pulling, cell(5, folder))).items
