"""Actions and pages: what an editor can do about a finding, and what it shows of its rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

from tests.server.test_files import SCRIPT, codes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_lsp import LanguageClient

ALL = types.Range(types.Position(0, 0), types.Position(99, 0))

pytestmark = pytest.mark.asyncio


async def actions_for(client: LanguageClient, uri: str, *only: str) -> Any:
    context = types.CodeActionContext([], only=list(only) or None)
    return await client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), ALL, context)
    )


def applied(text: str, action: types.CodeAction) -> str:
    """The text with the edits of an action, in columns of UTF-16."""
    assert action.edit
    assert action.edit.document_changes
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    lines = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)]
    for edit in sorted(change.edits, key=lambda edit: at(edit).start, reverse=True):
        assert isinstance(edit, types.TextEdit)
        start, end = edit.range.start, edit.range.end
        before, after = lines[start.line][: 2 * start.character], lines[end.line][2 * end.character :]
        lines[start.line : end.line + 1] = [before + edit.new_text.encode("utf-16-le") + after]
    return b"".join(lines).decode("utf-16-le")


def at(edit: Any) -> types.Range:
    assert isinstance(edit.range, types.Range)
    return edit.range


async def test_each_action_ends_the_finding(
    pulling: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    pulled: Callable[..., Any],
) -> None:
    uri = opened(pulling, folder / "train.py", SCRIPT)
    found = await actions_for(pulling, uri)
    assert [action.title for action in found] == [
        "Fix TDR101 missing-zero-grad (unsafe)",
        "Ignore TDR101 missing-zero-grad on this line",
        "Ignore TDR101 missing-zero-grad in this file",
    ]
    assert {action.kind for action in found} == {types.CodeActionKind.QuickFix}
    assert [codes(action.diagnostics) for action in found] == [["TDR101"]] * 3
    assert applied(SCRIPT, found[0]).count("optimizer.zero_grad()") == 1
    for version, action in enumerate(found, start=2):
        typed(pulling, uri, applied(SCRIPT, action), version)
        assert not (await pulled(pulling, uri)).items
        typed(pulling, uri, SCRIPT, version)
    assert await actions_for(pulling, uri, types.CodeActionKind.Refactor) == ()


async def test_all_safe_fixes_are_one_action_that_is_given_when_it_is_asked_for(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str]
) -> None:
    text = SCRIPT.replace("optimizer.step()", "optimizer.step") + "x = 1  # noqa: TDR201\n"
    uri = opened(pulling, folder / "train.py", text)
    for kind in ("source.fixAll", "source.fixAll.torch-doctor", "source"):
        [action] = await actions_for(pulling, uri, kind)
        assert (action.kind, codes(action.diagnostics)) == ("source.fixAll.torch-doctor", ["TDR111", "TDR001"])
        assert applied(text, action) == f"{SCRIPT}x = 1\n"
    assert "source.fixAll.torch-doctor" not in {action.kind for action in await actions_for(pulling, uri)}
    assert not await actions_for(pulling, uri, "source.fixAll.ruff")


async def test_nothing_that_is_unsafe_is_fixed_on_saving(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str]
) -> None:
    uri = opened(pulling, folder / "train.py", SCRIPT)
    assert not await actions_for(pulling, uri, "source.fixAll")


async def test_the_page_of_a_rule_is_shown_over_a_finding_and_over_a_comment_that_names_it(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str]
) -> None:
    text = SCRIPT + "x = 1  # torch-doctor: ignore[softmax-before-cross-entropy]\n"
    uri = opened(pulling, folder / "train.py", text)
    document = types.TextDocumentIdentifier(uri)
    found = await pulling.text_document_hover_async(types.HoverParams(document, types.Position(8, 14)))
    assert found
    assert isinstance(found.contents, types.MarkupContent)
    assert found.contents.kind is types.MarkupKind.Markdown
    assert "are never cleared" in found.contents.value
    assert "## Why is this bad?" in found.contents.value
    row = text.splitlines()[-1]
    named = await pulling.text_document_hover_async(
        types.HoverParams(document, types.Position(10, row.index("softmax") + 3))
    )
    assert named
    assert isinstance(named.contents, types.MarkupContent)
    assert named.contents.value.startswith("# softmax-before-cross-entropy (TDR201)")
    nothing = await pulling.text_document_hover_async(types.HoverParams(document, types.Position(0, 0)))
    assert nothing is None
