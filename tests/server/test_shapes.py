"""The shapes of variables in an editor: under the pointer, and as inlay hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_lsp import LanguageClient

pytestmark = pytest.mark.asyncio

SCRIPT = """\
import torch

images = torch.zeros(8, 3, 32, 32)
rows = images.flatten(1)
# a comment about rows
"""
WHOLE = types.Range(types.Position(0, 0), types.Position(9, 0))


async def shown(client: LanguageClient, uri: str, row: int, column: int) -> Any:
    place = types.Position(row, column)
    return await client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), place))


async def test_the_shape_of_a_variable_is_shown_where_it_gets_its_value(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str]
) -> None:
    uri = opened(pulling, folder / "train.py", SCRIPT)
    found = await shown(pulling, uri, 3, 1)
    assert "rows: [8, 3072] float32" in found.contents.value
    assert found.range == types.Range(types.Position(3, 0), types.Position(3, 4))
    assert await shown(pulling, uri, 4, 3) is None


async def test_the_shape_follows_what_is_typed(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str], typed: Callable[..., None]
) -> None:
    uri = opened(pulling, folder / "train.py", SCRIPT)
    assert "3072" in (await shown(pulling, uri, 3, 1)).contents.value
    typed(pulling, uri, SCRIPT.replace("flatten(1)", "flatten(2)"))
    assert "[8, 3, 1024]" in (await shown(pulling, uri, 3, 1)).contents.value


async def test_hints_show_the_shapes_of_a_stretch(
    hinting: LanguageClient, folder: Path, opened: Callable[..., str], pulled: Callable[..., Any]
) -> None:
    uri = opened(hinting, folder / "train.py", SCRIPT)
    document = types.TextDocumentIdentifier(uri)
    await pulled(hinting, uri)
    found = await hinting.text_document_inlay_hint_async(types.InlayHintParams(document, WHOLE)) or []
    assert [(each.position.line, each.position.character, each.label) for each in found] == [
        (2, 6, ": [8, 3, 32, 32] float32"),
        (3, 4, ": [8, 3072] float32"),
    ]
    first = types.Range(types.Position(0, 0), types.Position(2, 80))
    few = await hinting.text_document_inlay_hint_async(types.InlayHintParams(document, first)) or []
    assert len(few) == 1
