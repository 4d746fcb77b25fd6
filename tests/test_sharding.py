"""A scan is split into shards, and what they tell is joined to what the whole scan tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Shard
from torch_doctor.scan.sharding import Sharing
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static import FileOrder, Imports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

BUG = """
import torch
from torch import nn
{imports}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)).softmax(1), torch.randint(2, (8,)))
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def files(write: Callable[..., Path], notebook: Callable[[list[str]], str]) -> list[Path]:
    write(".git/HEAD", "")
    write("between.py", "import helper\n")
    return [
        write("helper.py", "import torch\ndef unused(model, x):\n    return torch.load(x, weights_only=False)\n"),
        write("a.py", BUG.format(imports="import between")),
        write("b.py", BUG.format(imports="import helper")),
        write("c.py", BUG.format(imports="import random")),
        write("dé.py", BUG.format(imports="") * 3),
        write("e.ipynb", notebook([BUG.format(imports=""), BUG.format(imports="")])),
        write("broken.py", "import torch\n("),
    ]


def shares(folder: Path, files: list[Path], count: int) -> list[list[str]]:
    project = Project(folder, Ignores(frozenset({folder})))
    order = FileOrder(files, project, Imports(project))
    return [[path.name for path in Sharing(Shard(each + 1, count)).own(project, order)] for each in range(count)]


def test_each_file_is_in_one_shard_beside_those_that_it_depends_on(folder: Path, files: list[Path]) -> None:
    for count in range(1, 10):
        found = shares(folder, files, count)
        assert sorted(name for each in found for name in each) == sorted(path.name for path in files)
        assert found == shares(folder, files[::-1], count)
        assert any({"helper.py", "a.py", "b.py"} <= set(each) for each in found)


def test_shards_cost_about_the_same(folder: Path, write: Callable[..., Path]) -> None:
    files = [write(f"{number}.py", "x = 1\n" * number * 100) for number in range(40)]
    costs = [sum((folder / name).stat().st_size for name in each) for each in shares(folder, files, 4)]
    assert max(costs) < 1.1 * min(costs)


@pytest.mark.parametrize("kind", ["json", "sarif", "json-lines"])
@pytest.mark.usefixtures("files")
def test_what_the_shards_tell_is_joined_to_what_the_whole_tells(kind: str, run: Run, folder: Path) -> None:
    whole = run("scan", "--isolated", "--no-cache", "--select", "ALL", "--output-format", kind)
    assert whole.out.count("TDR101") > 4
    for number in range(1, 4):
        form = f"{kind}:{number}.out"
        run("scan", "--isolated", "--no-cache", "--select", "ALL", "--shard", f"{number}/3", "--output-format", form)
    joined = run("merge", "3.out", "1.out", "2.out")
    assert (joined.status, joined.out) == (0, whole.out)
    run("merge", "1.out", "2.out", "3.out", "--output-file", "all.out")
    assert (folder / "all.out").read_text(encoding="utf-8") == whole.out


def test_an_error_of_one_shard_is_one_of_all(run: Run, write: Callable[..., Path]) -> None:
    for name, errors in (("1.sarif", []), ("2.sarif", [{"level": "error", "message": {"text": "oh"}}])):
        invocation = {"executionSuccessful": not errors, "toolExecutionNotifications": errors}
        write(name, json.dumps({"version": "2.1.0", "runs": [{"invocations": [invocation], "results": []}]}))
    (found,) = run("merge", "1.sarif", "2.sarif").json["runs"]
    assert found["invocations"] == [
        {"executionSuccessful": False, "toolExecutionNotifications": [{"level": "error", "message": {"text": "oh"}}]}
    ]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", ""])
def test_a_shard_that_means_nothing_is_refused(run: Run, text: str) -> None:
    outcome = run("scan", "--shard", text)
    assert outcome.status == 2
    assert "such as `1/4`" in outcome.err


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["{}"], "0.json is not what"),
        (["nonsense"], "0.json is not what"),
        (["[1]"], "0.json is not what"),
        (["[]", '{"runs": [{"invocations": [], "results": []}]}'], "0.json is JSON and 1.json is SARIF"),
        ([b"\xff"], "0.json is not UTF-8"),
    ],
)
def test_what_cannot_be_joined_is_said(
    run: Run, write: Callable[..., Path], texts: list[str | bytes], said: str
) -> None:
    for number, text in enumerate(texts):
        write(f"{number}.json", text)
    outcome = run("merge", *(f"{number}.json" for number in range(len(texts))))
    assert outcome.status == 2
    assert said in outcome.err
    assert run("merge", "missing.json").err.count("missing.json cannot be read") == 1
