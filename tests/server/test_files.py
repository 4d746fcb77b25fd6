"""Files: what is found in the buffer, where, and when."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

from torch_doctor.report.links import url_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_lsp import LanguageClient

SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, shuffle=True):
    loss = criterion(model(x), y)
    "🔥 µ"; loss.backward()
    optimizer.step()
"""
GOOD = SCRIPT.replace('    "🔥', '    optimizer.zero_grad(); "🔥')
MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(self.fc(x), dim=1)
"""
TRAINS = SCRIPT.replace("model = nn.Linear(4, 3)", "from model import Net\nmodel = Net()").replace(
    "    optimizer.step()", "    optimizer.step()\n    optimizer.zero_grad()"
)
SECONDS = 0.3

pytestmark = pytest.mark.asyncio


def codes(found: Any) -> list[str]:
    return [each.code for each in found]


def children(process: int) -> list[int]:
    """Those that any thread of a process has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for each in lists for word in each.read_text(encoding="utf-8").split()]


async def test_what_is_open_is_told_and_what_is_typed_mends_it(
    client: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    sent: Callable[..., Any],
) -> None:
    uri = opened(client, folder / "train.py", SCRIPT)
    (finding,) = await sent(client, uri)
    assert (finding.code, finding.code_description.href) == ("TDR101", url_of("TDR101"))
    assert finding.severity is types.DiagnosticSeverity.Error
    assert finding.source == "torch-doctor"
    assert "`loss.backward()`" in finding.message
    assert "\nhelp: call `optimizer.zero_grad()`" in finding.message
    typed(client, uri, GOOD)
    assert not await sent(client, uri)
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert not await sent(client, uri)


async def test_what_is_typed_in_one_go_is_looked_at_once(
    client: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    sent: Callable[..., Any],
) -> None:
    uri = opened(client, folder / "train.py", SCRIPT)
    assert len(await sent(client, uri)) == 1
    versions = []
    client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = lambda params: versions.append(
        params.version
    )
    for version in range(2, 20):
        typed(client, uri, f"{SCRIPT}# {version}\n", version)
    for _ in range(500):
        await asyncio.sleep(0.02)
        if 19 in versions:
            break
    assert versions[-1:] == [19]
    assert len(versions) < 5  # one, where nothing else keeps the machine busy


async def test_columns_count_utf_16_and_the_trail_is_related(
    client: LanguageClient, folder: Path, opened: Callable[..., str], sent: Callable[..., Any]
) -> None:
    uri = opened(client, folder / "train.py", SCRIPT)
    (finding,) = await sent(client, uri)
    row = SCRIPT.splitlines()[8]
    start = len(row[: row.index("loss")].encode("utf-16-le")) // 2
    assert start == row.index("loss") + 1
    assert finding.range == types.Range(types.Position(8, start), types.Position(8, start + len("loss.backward()")))
    steps = finding.related_information
    assert [step.message for step in steps][:1] == ["gradients are computed here"]
    assert {step.location.uri for step in steps} == {uri}


async def test_a_text_in_the_encoding_that_it_declares_is_read_in_it(
    client: LanguageClient, folder: Path, opened: Callable[..., str], sent: Callable[..., Any]
) -> None:
    text = "# coding: latin-1\n" + SCRIPT.replace("🔥", "é")
    (finding,) = await sent(client, opened(client, folder / "train.py", text))
    assert finding.range.start.character == text.splitlines()[9].index("loss")


async def test_other_files_are_read_from_the_disk_and_a_change_of_them_is_seen(
    pulling: LanguageClient,
    folder: Path,
    write: Callable[..., Path],
    opened: Callable[..., str],
    pulled: Callable[..., Any],
) -> None:
    write("pyproject.toml", "")
    write("model.py", MODEL)
    train = write("train.py", TRAINS)
    uri = opened(pulling, folder / "model.py", MODEL)
    report = await pulled(pulling, uri)
    (finding,) = report.items
    assert finding.code == "TDR201"
    places = {step.location.uri for step in finding.related_information}
    assert places == {uri, train.as_uri()}
    same = await pulled(pulling, uri, report.result_id)
    assert same.kind == "unchanged"
    train.write_text(TRAINS.replace("CrossEntropyLoss", "MSELoss"))
    assert (await pulled(pulling, uri, report.result_id)).items == ()
    pulling.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
    await pulled(pulling, uri)
    assert pulling.diagnostic_refresh_count == 1


async def test_the_configuration_of_the_project_holds_and_an_error_in_it_is_said(
    pulling: LanguageClient,
    folder: Path,
    write: Callable[..., Path],
    opened: Callable[..., str],
    pulled: Callable[..., Any],
) -> None:
    settings = write("pyproject.toml", "[tool.torch-doctor]\nignore = ['TDR101']\nextend-exclude = ['old']\n")
    uri = opened(pulling, folder / "train.py", SCRIPT)
    assert (await pulled(pulling, uri)).items == ()
    settings.write_text("[tool.torch-doctor]\nignored = []\n")
    assert (await pulled(pulling, uri)).items == ()
    (said,) = pulling.messages
    assert "unknown key `ignored`" in said.message
    settings.write_text("[tool.torch-doctor]\nextend-exclude = ['old']\n")
    assert codes((await pulled(pulling, uri)).items) == ["TDR101"]
    assert (await pulled(pulling, opened(pulling, folder / "old/train.py", SCRIPT))).items == ()


async def test_an_ordinary_script_is_told_of_in_a_fraction_of_a_second_after_the_first(
    pulling: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    pulled: Callable[..., Any],
) -> None:
    text = (Path(__file__).parents[2] / "fixtures/whole/six_bugs.py").read_text(encoding="utf-8")
    uri = opened(pulling, folder / "train.py", text)
    first = (await pulled(pulling, uri)).items
    took = []
    for version in range(2, 6):
        typed(pulling, uri, f"{text}\n# {version}\n", version)
        start = time.perf_counter()
        assert codes((await pulled(pulling, uri)).items) == codes(first)
        took.append(time.perf_counter() - start)
    assert len(first) > 3
    assert min(took) < SECONDS


async def test_text_that_is_no_python_and_a_file_of_another_language_do_no_harm(
    pulling: LanguageClient,
    folder: Path,
    opened: Callable[..., str],
    typed: Callable[..., None],
    pulled: Callable[..., Any],
) -> None:
    uri = opened(pulling, folder / "train.py", "import torch\nfor x in\n")
    assert codes((await pulled(pulling, uri)).items) == ["TDR000"]
    typed(pulling, uri, "import torch\n\0\ud800")
    await pulled(pulling, uri)
    typed(pulling, uri, SCRIPT)
    assert codes((await pulled(pulling, uri)).items) == ["TDR101"]
    other = types.TextDocumentItem((folder / "notes.md").as_uri(), "markdown", 1, SCRIPT)
    pulling.text_document_did_open(types.DidOpenTextDocumentParams(other))
    assert (await pulled(pulling, other.uri)).items == ()
    fresh = types.TextDocumentItem("untitled:Untitled-1", "python", 1, SCRIPT)
    pulling.text_document_did_open(types.DidOpenTextDocumentParams(fresh))
    assert codes((await pulled(pulling, fresh.uri)).items) == ["TDR101"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process are not listed")
async def test_the_server_goes_on_when_the_process_that_looks_at_files_ends(
    pulling: LanguageClient, folder: Path, opened: Callable[..., str], pulled: Callable[..., Any]
) -> None:
    uri = opened(pulling, folder / "train.py", SCRIPT)
    assert codes((await pulled(pulling, uri)).items) == ["TDR101"]
    server: Any = pulling._server  # noqa: SLF001 - whose process it is
    before = children(server.pid)
    for child in before:
        os.kill(child, signal.SIGKILL)
    assert codes((await pulled(pulling, uri)).items) == ["TDR101"]
    assert before
    assert set(children(server.pid)) != set(before)
