"""`--fix` keeps every byte that it need not touch, and writes what the program's own names say."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.folders import entries
from torch_doctor.cli import fixing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from torch_doctor.scan import Options, Report

    Fix = Callable[..., Outcome]
    Mended = Callable[..., bytes]

TRAINING = """\
import torch
from torch import nn

model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(8, 2), torch.rand(8, 2))):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
CLEARED = TRAINING.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")


@pytest.fixture
def fix(run: Callable[..., Outcome]) -> Fix:
    """Scans with options of fixing."""
    return lambda *arguments: run("scan", "--isolated", "--no-cache", "-j", "1", *map(str, arguments))


@pytest.fixture
def mended(fix: Fix) -> Mended:
    """What a file holds after all of its fixes are made."""

    def made(file: Path, *options: str) -> bytes:
        fix("--fix", "--unsafe-fixes", *options, file)
        return file.read_bytes()

    return made


def test_safe_fixes_alone_are_made_unless_more_is_allowed(folder: Path, fix: Fix, mended: Mended) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING.replace("optimizer.step()", "optimizer.step"))
    fix("--fix", script)
    assert script.read_text() == TRAINING
    assert mended(script).decode() == CLEARED


def test_a_second_run_changes_nothing(folder: Path, mended: Mended) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING)
    assert mended(script) == mended(script) == CLEARED.encode()


def test_a_diff_writes_nothing_and_says_what_would_be_written(folder: Path, fix: Fix) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING)
    result = fix("--diff", "--unsafe-fixes", script)
    assert result.status == 1
    assert "+    optimizer.zero_grad()\n" in result.out
    assert "Would fix 1 finding in 1 file." in result.err
    assert script.read_text() == TRAINING


def test_the_source_on_stdin_is_written_to_stdout_with_its_fixes(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, right = CLEARED.replace("step()", "step"), CLEARED
    for source, status in [(broken, 0), (right, 0)]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.encode())))
        outcome = run("scan", "-", "--fix", "--stdin-filename", "train.py", "--isolated", "--select", "TDR111")
        assert (outcome.status, outcome.out) == (status, right)
    assert "No findings" in outcome.err


def test_with_stdin_no_other_file_is_fixed(
    run: Callable[..., Outcome], write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("other.py", "import torch\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"import torch\n")))
    assert run("scan", "-", "other.py", "--fix").err == "error: --fix cannot be used with stdin and another path\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "comment"), [("utf-8-sig", "# é\n"), ("latin-1", "# -*- coding: latin-1 -*- é\n")]
)
def test_line_ends_and_the_encoding_stay(
    folder: Path, newline: str, encoding: str, comment: str, mended: Mended
) -> None:
    script = folder / "train.py"
    script.write_bytes((comment + TRAINING).replace("\n", newline).encode(encoding))
    assert mended(script) == (comment + CLEARED).replace("\n", newline).encode(encoding)


def test_the_mode_and_a_link_stay(folder: Path, mended: Mended) -> None:
    script, link = folder / "train.py", folder / "link.py"
    script.write_text(TRAINING)
    script.chmod(0o750)
    link.symlink_to(script)
    mended(link)
    assert link.is_symlink()
    assert script.read_text() == CLEARED
    assert script.stat().st_mode & 0o777 == 0o750


def test_a_file_that_cannot_be_written_is_told_and_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fix: Callable[..., Outcome]
) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("tempfile.mkstemp", full)
    result = fix("--fix", "--unsafe-fixes", script)
    assert result.status == 2
    assert "error: train.py cannot be written: No space left on device" in result.err
    assert script.read_text() == TRAINING
    assert entries(folder) == ["train.py"]


def test_only_the_touched_cell_of_a_notebook_changes(folder: Path, mended: Mended) -> None:
    head, _, tail = TRAINING.partition("for x, y")
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Training"},
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": head},
        {
            "cell_type": "code",
            "execution_count": 3,
            "metadata": {"é": 1},
            "outputs": [],
            "source": ["%time\n", *(f"for x, y{tail}".rstrip("\n")).splitlines(keepends=True)],
        },
    ]
    book = folder / "train.ipynb"
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2}, indent=1) + "\n"
    book.write_text(text)
    assert mended(book).decode() == text.replace(
        '    "    loss.backward()\\n",\n', '    "    optimizer.zero_grad()\\n",\n    "    loss.backward()\\n",\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    loss.backward(); optimizer.step()\n", "    optimizer.zero_grad(); loss.backward(); optimizer.step()\n"),
        (
            "    if True: loss.backward()\n    optimizer.step()\n",
            "    if True: optimizer.zero_grad(); loss.backward()\n    optimizer.step()\n",
        ),
        (
            "    loss.backward(  # here\n    )\n    optimizer.step()",
            "    optimizer.zero_grad()\n    loss.backward(  # here\n    )\n    optimizer.step()",
        ),
    ],
    ids=["several on a row", "the block of an if", "over several rows, without an end"],
)
def test_statements_go_where_there_is_room(folder: Path, before: str, after: str, mended: Mended) -> None:
    script = folder / "train.py"
    head = TRAINING.partition("    loss.backward()")[0]
    script.write_text(head + before)
    assert mended(script).decode() == head + after


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import torch\nfrom torch import nn\n", "nn.ModuleList"),
        ("import torch\nimport torch.nn as nn\n", "nn.ModuleList"),
        ("import torch\n", "torch.nn.ModuleList"),
        ("import torch as t\n", "t.nn.ModuleList"),
        ("import torch\nfrom torch.nn import Linear, Module, ModuleList\n", "ModuleList"),
    ],
)
def test_a_fix_uses_the_names_of_the_file(folder: Path, imports: str, name: str, mended: Mended) -> None:
    root = "t" if " as t" in imports else "torch"
    source = f"""{imports}

class Net({root}.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [{root}.nn.Linear(2, 2) for _ in range(3)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    script = folder / "train.py"
    script.write_text(source)
    listed = f"[{root}.nn.Linear(2, 2) for _ in range(3)]"
    assert mended(script, "--select", "TDR301").decode() == source.replace(listed, f"{name}({listed})")


def test_a_missing_import_is_added_where_imports_stand(folder: Path, mended: Mended) -> None:
    source = (
        '"""Keeps a copy."""\n\nimport json\n'
        + CLEARED.replace("for x, y", "start = model.state_dict()\nfor x, y")
        + "model.load_state_dict(start)\nprint(json.dumps({}))\n"
    )
    script = folder / "train.py"
    script.write_text(source)
    after = mended(script, "--select", "TDR602").decode()
    assert after == source.replace("import json\n", "import copy\nimport json\n", 1).replace(
        "start = model.state_dict()", "start = copy.deepcopy(model.state_dict())"
    )


def test_json_carries_the_edits(folder: Path, fix: Fix) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING)
    (finding,) = json.loads(fix("--output-format", "json", "--select", "TDR101", script).out)
    (edit,) = finding["fix"].pop("edits")
    assert finding["fix"] == {"applicability": "unsafe", "message": finding["help"]}
    assert edit["content"] == "    optimizer.zero_grad()\n"
    assert edit["location"] == edit["end_location"] == {"row": 8, "column": 1}


def test_show_fixes_lists_them_and_a_status_tells_of_them(folder: Path, fix: Fix) -> None:
    script = folder / "train.py"
    script.write_text(TRAINING.replace("optimizer.step()", "optimizer.step"))
    result = fix("--fix", "--select", "TDR111", "--show-fixes", "--exit-non-zero-on-fix", script)
    assert result.status == 1
    assert "train.py:9:5: TDR111 method-not-called\n" in result.err
    assert fix("--fix", "--select", "TDR111", "--exit-non-zero-on-fix", script).status == 0


@pytest.mark.parametrize("flag", ["--show-fixes", "--exit-non-zero-on-fix"])
def test_what_goes_with_fixing_alone_says_so(flag: str, fix: Fix) -> None:
    result = fix(flag)
    assert result.status == 2
    assert f"{flag} requires --fix, --fix-only or --diff" in result.err


@pytest.mark.usefixtures("farm", "records")
def test_a_run_proves_a_fix(folder: Path, write: Callable[..., Path], fix: Fix) -> None:
    write("train.py", TRAINING)
    result = fix("--fix", "--unsafe-fixes", "--probe", folder / "train.py")
    assert "train.py:8:5: TDR101 verified: " in result.err
    assert "backward passes found no old gradient" in result.err
    assert (folder / "train.py").read_text() == CLEARED


@pytest.mark.usefixtures("farm", "records")
def test_a_fix_that_the_run_refutes_is_withdrawn(
    folder: Path, write: Callable[..., Path], fix: Callable[..., Outcome]
) -> None:
    source = TRAINING.replace("for x, y", "vars(optimizer)['zero_grad'] = lambda: None\nfor x, y")
    write("train.py", source)
    result = fix("--fix", "--unsafe-fixes", "--select", "TDR101", "--probe", folder / "train.py")
    assert "fix for TDR101 reverted: the probe still confirms the bug: " in result.err
    assert result.status == 1
    assert (folder / "train.py").read_text() == source


@pytest.mark.parametrize(
    "built",
    [
        "self.layers = []\n        self.layers = self.layers + [nn.Linear(2, 2)]",
        "self.layers = []\n        self.layers.append([nn.Linear(2, 2), nn.ReLU()])",
        "self.layers = [(nn.Linear(2, 2), nn.ReLU())]",
        "self.layers = [nn.Linear(2, 2)]\n        self.layers.reverse()",
        "self.layers = {1: nn.Linear(2, 2)}",
        "self.layers = {'a.b': nn.Linear(2, 2)}",
    ],
)
def test_a_container_that_torch_would_not_take_stays(folder: Path, fix: Fix, built: str) -> None:
    source = f"""import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {built}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


Net()
"""
    script = folder / "train.py"
    script.write_text(source)
    assert "TDR301" in fix("--fix", "--select", "TDR301", script).out
    assert script.read_text() == source


def test_a_model_that_the_script_reads_whole_is_saved_whole(folder: Path, fix: Fix) -> None:
    source = f"{CLEARED}torch.save(model, 'model.pt')\nmodel = torch.load('model.pt', weights_only=False)\nmodel(x)\n"
    script = folder / "train.py"
    script.write_text(source)
    assert "TDR601" in fix("--fix", "--unsafe-fixes", "--select", "TDR601", script).out
    assert script.read_text() == source


SAVED = """\
import os
import sys
import sys

import torch
from torch import nn

path = sys.argv[1]
model = nn.Linear(2, 2)
{before}
torch.save(model, {file})
{after}
"""


@pytest.mark.parametrize(
    ("file", "before", "after", "stays"),
    [
        ('"model.pt"', "", 'other = torch.load("model.pt")', True),
        ('"model.pt"', "", "other = torch.load(path)", True),
        ("path", "", "other = torch.load(path)", True),
        ('os.path.join(path, "model.pt")', "", "other = torch.load(f'{path}/model.pt')", True),
        ('"model.pt"', "", 'with open("model.pt", "rb") as file:\n    other = torch.load(file)', True),
        ('"model.pt"', "", 'other = torch.load("features.pt")', False),
        ('"model.pt"', 'model.load_state_dict(torch.load("model.pt"))', "", False),
        ('"model.pt"', "state = torch.load(path)\nmodel.load_state_dict(state['model'])", "", False),
        ('"model.pt"', "def load(net):\n    net.load_state_dict(torch.load(path))\nload(model)", "", False),
    ],
)
def test_a_model_is_saved_whole_where_what_is_read_may_be_that_file_and_is_no_state(
    folder: Path, mended: Mended, file: str, before: str, after: str, *, stays: bool
) -> None:
    script = folder / "train.py"
    script.write_text(SAVED.format(file=file, before=before, after=after))
    assert (f"torch.save(model, {file})" in mended(script, "--select", "TDR601").decode()) is stays


@pytest.mark.parametrize(
    ("reader", "stays"),
    [
        ("model = torch.load(args.model)\nprint(model(x))", True),
        ("model = torch.load(args.model).to('cpu')", True),
        ("def load():\n    return torch.load('runs/model.pt')", True),
        ("net = torch.load('model.pt', weights_only=False)\nnet.eval()", True),
        ("net = torch.load('other.pt', weights_only=False)\nnet.eval()", False),
        ("state = torch.load(args.model)\nnet.load_state_dict(state)", False),
    ],
)
def test_a_model_that_another_script_reads_whole_is_saved_whole(
    folder: Path, mended: Mended, reader: str, *, stays: bool
) -> None:
    script = folder / "train.py"
    script.write_text(SAVED.format(file='"runs/model.pt"', before="", after=""))
    (folder / "predict.py").write_text(f"import torch\n\n{reader}\n")
    assert ("torch.save(model, " in mended(script, "--select", "TDR601").decode()) is stays


KEPT_UNDER_A_KEY = """\
import torch
from torch import nn

model = nn.Linear(2, 2)
others = [nn.Linear(2, 2)]
{}
"""


@pytest.mark.parametrize(
    ("save", "after"),
    [
        (
            'torch.save({"net": model, "epoch": 1}, "a.pt")',
            'torch.save({"net": model.state_dict(), "epoch": 1}, "a.pt")',
        ),
        (
            'state = {"net": model}\ntorch.save(state, "a.pt")',
            'state = {"net": model.state_dict()}\ntorch.save(state, "a.pt")',
        ),
        ('state = {"net": model}\ntorch.save(state, "a.pt")\nstate["net"](x)', ""),
        ('torch.save({"nets": others}, "a.pt")', ""),
        ('torch.save({"nets": [model]}, "a.pt")', ""),
        ('torch.save(others, "a.pt")', ""),
        ('torch.save([model, model], "a.pt")', ""),
        ('torch.save(dict(net=model), "a.pt")', ""),
    ],
)
def test_a_model_under_a_key_is_saved_by_its_state_where_the_dict_is_written_out(
    folder: Path, mended: Mended, save: str, after: str
) -> None:
    script = folder / "train.py"
    script.write_text(KEPT_UNDER_A_KEY.format(save))
    assert mended(script, "--select", "TDR601").decode() == KEPT_UNDER_A_KEY.format(after or save)


@pytest.mark.parametrize(
    ("reader", "stays"),
    [
        ("net = torch.load('a.pt')['net']\nnet.eval()", True),
        ("saved = torch.load('a.pt')\nsaved['net'].eval()", True),
        ("saved = torch.load('a.pt')\nnet = saved['net'].to('cpu')", True),
        ("saved = torch.load('a.pt')\nnet = saved.get('net')\nnet(x)", True),
        ("saved = torch.load('a.pt')\nevaluate(saved['net'])", True),
        ("saved = torch.load('a.pt')\nnet.load_state_dict(saved['net'])", False),
        ("saved = torch.load('b.pt')\nsaved['net'].eval()", False),
    ],
)
def test_a_model_under_a_key_is_saved_whole_where_another_script_reads_it_so(
    folder: Path, mended: Mended, reader: str, *, stays: bool
) -> None:
    script = folder / "train.py"
    script.write_text(KEPT_UNDER_A_KEY.format('torch.save({"net": model}, "a.pt")'))
    (folder / "predict.py").write_text(f"import torch\n\n{reader}\n")
    assert ('{"net": model}' in mended(script, "--select", "TDR601").decode()) is stays


def test_a_broken_cell_does_not_keep_the_others_from_being_mended(mended: Mended, write: Callable[..., Path]) -> None:
    book = write("train.ipynb", ["print 'no'", TRAINING])
    assert b"optimizer.zero_grad()" in mended(book)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(self): self.a = nn.Linear(2, 2)", "(self): super().__init__(); self.a = nn.Linear(2, 2)"),
        (
            '(self):\n        """Builds it."""\n        self.a = nn.Linear(2, 2)',
            '(self):\n        """Builds it."""\n        super().__init__()\n        self.a = nn.Linear(2, 2)',
        ),
        (
            "(self):\n\t\t# the only layer\n\t\tself.a = nn.Linear(2, 2)",
            "(self):\n\t\t# the only layer\n\t\tsuper().__init__()\n\t\tself.a = nn.Linear(2, 2)",
        ),
    ],
    ids=["on one row", "below a docstring", "with tabs"],
)
def test_the_first_statement_of_a_block_is_below_its_docstring(
    folder: Path, mended: Mended, before: str, after: str
) -> None:
    source = "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__{}\n\n\nNet()\n"
    script = folder / "train.py"
    if "\t" in before:
        source = source.replace("    ", "\t")
    script.write_text(source.replace("{}", before))
    assert mended(script).decode() == source.replace("{}", after)


def test_a_file_that_is_gone_meanwhile_costs_its_own_fixes_alone(
    folder: Path, fix: Fix, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py"):
        (folder / name).write_text(TRAINING)
    proposed = fixing.with_proposals

    def removed(report: Report, options: Options) -> Report:
        (folder / "a.py").unlink(missing_ok=True)
        return proposed(report, options)

    monkeypatch.setattr("torch_doctor.cli.scan.with_proposals", removed)
    result = fix("--fix", "--unsafe-fixes", "a.py", "b.py")
    assert result.status == 2
    assert "error: a.py cannot be changed: No such file or directory" in result.err
    assert (folder / "b.py").read_text() == CLEARED


LOGARITHMS = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(2, 2)
value = {before}
value.sum().backward()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.log(torch.softmax(net(torch.rand(4, 2)), dim=1))", "torch.log_softmax(net(torch.rand(4, 2)), dim=1)"),
        ("net(torch.rand(4, 2)).softmax(1).log()", "net(torch.rand(4, 2)).log_softmax(1)"),
        ("F.softmax(net(torch.rand(4, 2)), 1).log()", "F.log_softmax(net(torch.rand(4, 2)), 1)"),
        ("torch.log(torch.sigmoid(net(torch.rand(4, 2))))", "F.logsigmoid(net(torch.rand(4, 2)))"),
        ("net(torch.rand(4, 2)).sigmoid().log()", "F.logsigmoid(net(torch.rand(4, 2)))"),
        (
            "torch.log(torch.sigmoid(net(torch.rand(4, 2))) * 1)",
            "torch.log((torch.sigmoid(net(torch.rand(4, 2))) * 1).clamp(min=1e-6))",
        ),
    ],
)
def test_a_logarithm_and_what_it_is_applied_to_become_one_function(
    folder: Path, mended: Mended, before: str, after: str | None
) -> None:
    script = folder / "train.py"
    script.write_text(LOGARITHMS.format(before=before))
    assert mended(script, "--select", "TDR210").decode() == LOGARITHMS.format(before=after or before)


def test_a_layer_is_changed_where_it_is_built(folder: Path, mended: Mended) -> None:
    source = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.act = {layer}

    def forward(self, x):
        return self.act(self.fc(x))
"""
    script = folder / "model.py"
    script.write_text(source.format(layer="nn.LogSoftmax()"))
    assert mended(script, "--select", "TDR212").decode() == source.format(layer="nn.LogSoftmax(dim=-1)")
    twice = source.format(layer="nn.LogSoftmax()\n        if self.training:\n            self.act = nn.Softmax()")
    script.write_text(twice)
    assert mended(script, "--select", "TDR212").decode() == twice


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("nn.Parameter(torch.ones(4)).cuda()", "nn.Parameter(torch.ones(4).cuda())"),
        ("nn.Parameter(torch.ones(4) * 2, True).to(device)", "nn.Parameter((torch.ones(4) * 2).to(device), True)"),
        ("nn.Parameter(data=torch.ones(4)).to(device=device)", "nn.Parameter(data=torch.ones(4).to(device=device))"),
        ("made(torch.ones(4)).to(device)", "made(torch.ones(4)).to(device)"),
    ],
)
def test_a_tensor_is_moved_before_it_becomes_a_parameter(folder: Path, mended: Mended, before: str, after: str) -> None:
    source = """\
import torch
from torch import nn

device = torch.device("cuda")


def made(data):
    return nn.Parameter(data)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = {built}

    def forward(self, x):
        return x * self.weight


print(Scale()(torch.rand(2, 4, device=device)))
"""
    script = folder / "train.py"
    script.write_text(source.format(built=before))
    assert mended(script, "--select", "TDR307").decode() == source.format(built=after)
