"""Comments that suppress nothing, through the real command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from torch_doctor.cli.scan import command

if TYPE_CHECKING:
    from collections.abc import Callable

CLEARED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KEPT = CLEARED.replace("    optimizer.zero_grad()\n", "")
NOTED = CLEARED.replace("backward()", "backward()  # noqa: TDR101")


@pytest.fixture(autouse=True)
def _within(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def told(*arguments: str) -> list[str]:
    """What a scan says of comments: the place and the message of each."""
    asked = ["--isolated", "--output-format", "json", *arguments]
    result = CliRunner().invoke(command, asked)
    assert result.exit_code in (0, 1), result.output
    found = [each for each in json.loads(result.stdout) if each["code"] == "TDR001"]
    return [f"{each['filename']}:{each['location']['row']} {each['message']}" for each in found]


def unused(name: str, path: str = "train.py", row: int = 10) -> str:
    return f"{path}:{row} unused suppression: `{name}` reports nothing here"


def test_a_comment_that_is_no_longer_needed_is_reported_again_from_the_cache(write: Callable[..., Path]) -> None:
    write("train.py", NOTED)
    assert told() == told() == [unused("TDR101")]


def test_the_comment_is_needed_again_when_the_bug_comes_back(write: Callable[..., Path]) -> None:
    write("train.py", NOTED)
    assert told() == [unused("TDR101")]
    write("train.py", NOTED.replace("    optimizer.zero_grad()\n", ""))
    assert told() == []


def test_a_finding_that_another_one_hides_uses_its_comment_too(write: Callable[..., Path]) -> None:
    write("train.py", KEPT.replace("backward()", "backward()  # noqa: TDR101"))
    assert told() == []


@pytest.mark.parametrize(
    "arguments",
    [["--ignore", "TDR101"], ["--ignore-noqa"], ["--per-file-ignores", "train.py:TDR101"], ["--ignore", "TDR001"]],
    ids=" ".join,
)
def test_what_was_not_asked_for_cannot_be_missed(write: Callable[..., Path], arguments: list[str]) -> None:
    write("train.py", NOTED)
    assert told("--no-cache", *arguments) == []


def test_several_processes_tell_the_same(write: Callable[..., Path]) -> None:
    write("a.py", NOTED)
    write("b.py", CLEARED)
    write("c.py", NOTED)
    assert told("--no-cache", "-j", "2") == [unused("TDR101", "a.py"), unused("TDR101", "c.py")]


def test_a_finding_in_a_helper_that_shows_only_in_another_file_uses_the_comment(write: Callable[..., Path]) -> None:
    step = "def step(loss, optimizer):\n    loss.backward()  # noqa: TDR101\n    optimizer.step()\n"
    write("helper.py", f"import torch\n\n\n{step}")
    call = "    step(loss, optimizer)\n"
    loop = KEPT.replace("    loss.backward()\n    optimizer.step()\n", call)
    write("train.py", f"from helper import step\n{loop}")
    assert told("--no-cache", ".") == []
    assert told("--no-cache", "helper.py") == []
    write("train.py", f"from helper import step\n{loop.replace(call, f'    optimizer.zero_grad(){chr(10)}{call}')}")
    assert told("--no-cache", ".") == [unused("TDR101", "helper.py", 5)]


def test_a_notebooks_comment_is_reported_at_its_cell(
    write: Callable[..., Path], notebook: Callable[[list[str]], str]
) -> None:
    setup, loop = CLEARED.split("for _", 1)
    write(
        "train.ipynb",
        notebook(["import math", setup, f"for _{loop.replace('backward()', 'backward()  # noqa: TDR101')}"]),
    )
    result = CliRunner().invoke(command, ["--isolated", "--no-cache", "--output-format", "json"])
    [finding] = json.loads(result.stdout)
    assert (finding["code"], finding["cell"], finding["location"]["row"]) == ("TDR001", 3, 4)
    assert CliRunner().invoke(command, ["--isolated", "--no-cache", "--fix"]).exit_code == 0
    assert "noqa" not in Path("train.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# noqa: TDR101", ""),
        ("# noqa: TDR101 the caller clears them", ""),
        ("# noqa: TDR101  # pragma: no cover", "# pragma: no cover"),
        ("# type: ignore  # noqa: TDR101", "# type: ignore"),
        ("# noqa: E501,TDR101", "# noqa: E501"),
        ("# noqa: tdr101 E501", "# noqa: E501"),
        ("# noqa: E501, TDR101 too long", "# noqa: E501 too long"),
        ("# torch-doctor: ignore[TDR101, missing-step] both", ""),
        ("# noqa: TDR999", ""),
        ("# noqa: TDR101\t", ""),
    ],
)
def test_the_fix_takes_out_what_is_unused_and_nothing_else(write: Callable[..., Path], comment: str, left: str) -> None:
    path = write("train.py", CLEARED.replace("backward()", f"backward()  {comment}"))
    assert CliRunner().invoke(command, ["--isolated", "--no-cache", "--fix"]).exit_code == 0
    kept = f"backward()  {left}" if left else "backward()"
    assert path.read_text(encoding="utf-8") == CLEARED.replace("backward()", kept)


def test_the_fix_takes_out_the_row_of_a_comment_that_stands_alone(write: Callable[..., Path]) -> None:
    alone = "    # torch-doctor: ignore[missing-zero-grad] the caller clears them\n    loss.backward"
    path = write("train.py", CLEARED.replace("    loss.backward", alone).replace("\n", "\r\n"))
    assert CliRunner().invoke(command, ["--isolated", "--no-cache", "--fix"]).exit_code == 0
    assert path.read_bytes().decode() == CLEARED.replace("\n", "\r\n")


def test_a_comment_on_another_line_than_the_finding_is_reported_beside_it(write: Callable[..., Path]) -> None:
    write("train.py", KEPT.replace("step()", "step()  # noqa: TDR101"))
    assert told("--no-cache") == [unused("TDR101")]


def test_a_comment_can_be_kept_by_a_comment(write: Callable[..., Path]) -> None:
    write("train.py", CLEARED.replace("backward()", "backward()  # noqa: TDR001, TDR101"))
    assert told("--no-cache") == []


def test_add_noqa_does_not_suppress_a_suppression(write: Callable[..., Path]) -> None:
    path = write("train.py", NOTED)
    CliRunner().invoke(command, ["--isolated", "--no-cache", "--add-noqa", "later"])
    assert path.read_text(encoding="utf-8") == NOTED


def test_only_what_the_change_brought_is_reported_since_a_revision(write: Callable[..., Path]) -> None:
    write("old.py", NOTED)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "1"]):
        subprocess.run(["git", *words], check=True)
    write("new.py", NOTED)
    assert told("--no-cache", "--since", "HEAD") == [unused("TDR101", "new.py")]


def test_what_a_baseline_holds_is_not_reported(write: Callable[..., Path]) -> None:
    write("train.py", NOTED)
    CliRunner().invoke(command, ["--isolated", "--no-cache", "--baseline", "known.json", "--write-baseline"])
    assert re.search("TDR001", Path("known.json").read_text(encoding="utf-8"))
    assert told("--no-cache", "--baseline", "known.json") == []


@pytest.mark.usefixtures("farm")
def test_what_only_a_run_finds_uses_its_comment_when_the_script_is_run(write: Callable[..., Path]) -> None:
    write("train.py", NOTED.replace("TDR101", "TDR118"))
    assert told("--no-cache", "--probe", "train.py") == told("--no-cache") == []


@pytest.mark.usefixtures("farm")
def test_with_the_probe_comments_are_judged_after_the_run(write: Callable[..., Path]) -> None:
    write("train.py", NOTED)
    assert told("--no-cache", "--probe", "train.py") == [unused("TDR101")]


def test_a_comment_on_what_only_a_run_may_show_stays_where_something_goes_out_of_sight(
    write: Callable[..., Path],
) -> None:
    script = NOTED.replace("import torch\n", "import torch\nimport elsewhere\n", 1)
    script = script.replace("    optimizer.step()", "    elsewhere.step(model, optimizer)")
    write("train.py", script + "torch.backends.cudnn.benchmark = True  # noqa: TDR902\n")
    assert told("--no-cache") == [unused("TDR902", row=13)]
    assert told() == told() == [unused("TDR902", row=13)]
