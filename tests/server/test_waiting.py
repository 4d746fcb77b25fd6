"""Long files: nobody waits for a scan to see what the last one found, and typing ends it."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

from tests.server.test_actions import applied
from tests.server.test_files import codes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from pytest_lsp import LanguageClient

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"
FUNCTION = """

def train_{number}(data, width):
    model = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Dropout(0.{number}), nn.Linear(width, 4))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.{number})
    for epoch in range(10):
        total = 0.0
        for x, y in DataLoader(data, batch_size=32, shuffle=True):
{clear}            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total)
    return model
"""
CLEAR = "            optimizer.zero_grad()\n"


def functions(count: int) -> str:
    """The text of so many functions that train, the first of which forgets something."""
    numbers = range(1, count + 1)
    return HEAD + "".join(FUNCTION.format(number=number, clear="" if number == 1 else CLEAR) for number in numbers)


SHORT, MEDIUM, TEXT = (functions(count) for count in (1, 60, 300))
ROW = TEXT.splitlines().index("            loss.backward()")
AT_ONCE = 0.1
"""Seconds that an answer may take."""

pytestmark = pytest.mark.asyncio


async def took(answer: Awaitable[Any]) -> float:
    begun = time.perf_counter()
    assert await answer
    return time.perf_counter() - begun


def hover(client: LanguageClient, uri: str, row: int) -> Awaitable[Any]:
    position = types.Position(row, 14)
    return client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), position))


def actions(client: LanguageClient, uri: str, row: int) -> Awaitable[Any]:
    spot, context = types.Range(types.Position(row, 14), types.Position(row, 14)), types.CodeActionContext([])
    return client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), spot, context)
    )


async def test_the_last_result_is_shown_where_it_is_now_while_a_scan_runs(
    client: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    sent: Callable[..., Any],
) -> None:
    assert len(TEXT.splitlines()) > 4500
    uri = opened(client, folder / "train.py", TEXT)
    assert codes(await sent(client, uri)) == ["TDR101"]
    client.diagnostics.pop(uri)
    waits = []
    for count in range(1, 9):
        typed(client, uri, "import os\n" * count + TEXT, count + 1)
        await asyncio.sleep(0.05 if count < 5 else 0.3)  # before a scan, and while one runs
        waits += [await took(hover(client, uri, ROW + count)), await took(actions_or_none(client, uri, ROW + count))]
    assert uri not in client.diagnostics  # no scan has come to its end
    assert statistics.median(waits) < AT_ONCE
    assert codes(await sent(client, uri)) == ["TDR101"]


async def actions_or_none(client: LanguageClient, uri: str, row: int) -> bool:
    """Ask for the actions, which need not have been worked out yet."""
    await actions(client, uri, row)
    return True


async def test_a_scan_that_typing_has_overtaken_is_abandoned(
    client: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    sent: Callable[..., Any],
) -> None:
    uri = opened(client, folder / "train.py", TEXT)
    await asyncio.sleep(1)  # its scan takes longer
    begun = time.perf_counter()
    typed(client, uri, SHORT)
    (finding,) = await sent(client, uri)
    alone = time.perf_counter() - begun
    typed(client, uri, TEXT, 3)
    begun = time.perf_counter()
    assert codes(await sent(client, uri)) == ["TDR101"]
    assert finding.range.start.line == ROW
    assert alone < (time.perf_counter() - begun) / 2


async def test_fixes_are_offered_from_the_last_result_and_fit_the_text_of_now(
    client: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
) -> None:
    uri = opened(client, folder / "train.py", SHORT)
    titles = [action.title for action in await actions(client, uri, ROW)]
    above = SHORT.replace("def ", "# one\n# two\ndef ")
    typed(client, uri, above)
    fix, line, file = await actions(client, uri, ROW + 2)
    assert [fix.title, line.title, file.title] == titles
    step = "            loss.backward()"
    assert applied(above, fix) == above.replace(step, CLEAR + step)
    assert applied(above, line) == above.replace("loss.backward()", "loss.backward()  # noqa: TDR101")
    assert applied(above, file) == f"# torch-doctor: ignore-file[missing-zero-grad]\n{above}"


async def test_another_document_does_not_wait_until_fixes_are_worked_out(
    client: LanguageClient, folder: Path, opened: Callable[..., str], sent: Callable[..., Any]
) -> None:
    uri = opened(client, folder / "train.py", MEDIUM)
    assert codes(await sent(client, uri)) == ["TDR101"]
    begun = time.perf_counter()
    assert codes(await sent(client, opened(client, folder / "other.py", SHORT))) == ["TDR101"]
    short = time.perf_counter() - begun
    assert len(await actions(client, uri, ROW)) == 3
    assert short < (time.perf_counter() - begun) / 2
