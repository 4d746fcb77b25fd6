"""Evaluation mode and `no_grad` are put where evaluation begins, and training mode where training goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Mended = Callable[..., str]
    Offered = Callable[[str], dict[str, bool]]

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
EPOCH = """\
for epoch in range(3):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
"""
VALIDATION = """\
    for x, y in val_loader:
        print(nn.functional.mse_loss(net(x), y).item())
"""


@pytest.fixture
def mended(folder: Path, run: Callable[..., Outcome]) -> Mended:
    """What a script holds after its evaluation is mended."""

    def made(text: str, codes: str = "TDR401,TDR402,TDR403") -> str:
        script = folder / "train.py"
        script.write_text(text)
        options = ["--isolated", "--no-cache", "-j", "1", "--select", codes, "--fix-only", "--unsafe-fixes"]
        run("scan", *options, str(folder))
        return script.read_text()

    return made


@pytest.fixture
def offered(folder: Path, run: Callable[..., Outcome]) -> Offered:
    """Whether a fix is offered for what is found in a script, by code."""

    def asked(text: str) -> dict[str, bool]:
        script = folder / "train.py"
        script.write_text(text)
        result = run(
            "scan", "--isolated", "--no-cache", "-j", "1", "--select", "TDR4", "--output-format", "json", str(script)
        )
        return {finding["code"]: finding["fix"] is not None for finding in json.loads(result.out)}

    return asked


def test_modes_are_switched_around_a_pass_in_the_loop_over_epochs(mended: Mended) -> None:
    assert mended(HEAD + EPOCH + VALIDATION) == (
        HEAD
        + EPOCH.replace("    for x", "    net.train()\n    for x", 1)
        + "    net.eval()\n    with torch.no_grad():\n"
        + "".join(f"    {line}\n" for line in VALIDATION.splitlines())
    )


def test_a_pass_every_few_batches_is_followed_by_training_mode(mended: Mended) -> None:
    inner = "\n".join("        " + line for line in VALIDATION.splitlines())
    before = f"{HEAD}{EPOCH}        if torch.rand(1) < 0.1:\n            with torch.no_grad():\n    {inner}\n            print()\n"
    before = before.replace("\n    " + inner, "\n" + "\n".join("    " + line for line in inner.splitlines()))
    after = before.replace("            with", "            net.eval()\n            with")
    assert mended(before) == after.replace("            print()", "            net.train()\n            print()")


def test_tabs_strings_and_comments_stay_as_they_are(mended: Mended) -> None:
    loop = '\tfor x, y in val_loader:\n\t\ttext = """a\nb"""\n\n\t\tprint(net(\n\t\t\tx  # rows\n\t\t).sum().item(), text); y\n'
    epoch = EPOCH.replace("    ", "\t")
    moved = "\twith torch.no_grad():\n" + loop.replace("\t\t", "\t\t\t").replace("\tfor", "\t\tfor")
    assert mended(HEAD + epoch + loop, "TDR402") == HEAD + epoch + moved


@pytest.mark.parametrize(
    ("source", "decorated"),
    [
        ("def score():\n    return [net(x).sum().item() for x, y in val_loader]\n", True),
        ("def score(): return [net(x).sum().item() for x, y in val_loader]\n", True),
        ("def score():\n    for x, y in val_loader:\n        yield net(x).sum().item()\n", True),
        ("async def score():\n    return [net(x).sum().item() for x, y in val_loader]\n", False),
    ],
    ids=["a function", "a function on one row", "a generator", "a coroutine"],
)
def test_a_function_that_only_evaluates_is_decorated(source: str, decorated: bool, mended: Mended) -> None:
    used = "import asyncio\nprint(asyncio.run(score()))\n" if "async" in source else "print(list(score()))\n"
    text = f"{HEAD}{source}{EPOCH}{used}"
    assert mended(text, "TDR402") == text.replace(
        "def score", "@torch.no_grad()\ndef score" if decorated else "def score"
    )


def test_a_function_that_hands_the_model_to_others_is_not_decorated(mended: Mended) -> None:
    source = f"def main():\n    import lightning_lab\n    lightning_lab.fit(net)\n    net.eval()\n{VALIDATION}"
    text = f"{HEAD}{EPOCH}{source}main()\n"
    moved = "    with torch.no_grad():\n" + "".join(f"    {line}\n" for line in VALIDATION.splitlines())
    assert mended(text, "TDR402") in (text, text.replace(VALIDATION, moved))


def test_a_decorator_comes_below_the_import_of_its_name(offered: Offered) -> None:
    score = "def score():\n    return [net(x).sum().item() for x, y in val_loader]\n\n\n"
    below = f"{score}{HEAD}{EPOCH}    net.eval()\n    print(score())\n"
    assert offered(below) == {"TDR402": False, "TDR403": True}
    above = f"{HEAD}{score}{EPOCH}    net.eval()\n    print(score())\n"
    assert offered(above) == {"TDR402": True, "TDR403": True}


def test_one_statement_that_trains_and_evaluates_stays(mended: Mended) -> None:
    helper = """\
def run_epoch(loader, update):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x), y)
        if update:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total
"""
    text = f"{HEAD}{helper}for epoch in range(3):\n    print(run_epoch(train_loader, True), run_epoch(val_loader, False))\n"
    assert mended(text) == text


def test_a_name_that_the_pass_itself_binds_is_not_used_before_it(offered: Offered) -> None:
    text = f"{HEAD}{EPOCH}for x, y in val_loader:\n    for each in [net]:\n        print(each(x).sum().item())\n"
    assert offered(text) == {"TDR401": False, "TDR402": True}


def test_a_lambda_is_called_without_gradients(mended: Mended) -> None:
    text = f"{HEAD}score = lambda net: [net(x).sum().item() for x, y in val_loader]\n{EPOCH}print(score(net))\n"
    assert mended(text) == text.replace("print(score(net))", "with torch.no_grad():\n    print(score(net))")


def test_a_batch_that_is_evaluated_in_the_loop_over_epochs_is_a_pass(mended: Mended) -> None:
    taken = "    x, y = next(iter(val_loader))\n    guess = net(x)\n    print((guess - y).abs().mean().item())\n"
    assert mended(HEAD + EPOCH + "    net.eval()\n" + taken, "TDR402") == (
        f"{HEAD}{EPOCH}    net.eval()\n"
        + taken.replace("    guess = net(x)", "    with torch.no_grad():\n        guess = net(x)")
    )


def test_a_function_that_evaluates_in_the_loop_over_epochs_is_decorated(mended: Mended) -> None:
    score = "def score(net):\n    net.eval()\n    x, y = next(iter(val_loader))\n    print((net(x) - y).abs().mean().item())\n\n\n"
    assert (
        mended(f"{HEAD}{score}{EPOCH}    score(net)\n", "TDR402")
        == f"{HEAD}@torch.no_grad()\n{score}{EPOCH}    score(net)\n"
    )


def test_a_function_that_chooses_its_mode_itself_stays(offered: Offered) -> None:
    score = f"def score(net, mode):\n    net.train(mode)\n{VALIDATION}\n\n"
    text = f"{HEAD}{score}{EPOCH}    score(net, False)\nwith torch.no_grad():\n    score(net, True)\n"
    assert offered(text)["TDR401"] is False


def test_a_model_is_called_what_its_caller_calls_it(folder: Path, mended: Mended) -> None:
    steps = folder / "steps.py"
    steps.write_text(
        "import torch.nn.functional as F\n\n\n"
        "def fit(network, loader, optimizer):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        F.mse_loss(network(x), y).backward()\n        optimizer.step()\n\n\n"
        "def score(network, loader):\n    return sum(F.mse_loss(network(x), y).item() for x, y in loader)\n"
    )
    text = HEAD.replace("import torch\n", "import steps\nimport torch\n", 1) + (
        "for epoch in range(3):\n    steps.fit(optimizer=optimizer, network=net, loader=train_loader)\n"
        "    print(steps.score(net, val_loader))\n"
    )
    assert mended(text) == text.replace("    steps.fit", "    net.train()\n    steps.fit")
    assert "import torch\nimport torch.nn" in steps.read_text()
    assert "@torch.no_grad()\ndef score(network, loader):\n    network.eval()\n" in steps.read_text()


def test_parts_with_modes_of_their_own_stay(offered: Offered) -> None:
    text = f"{HEAD}{EPOCH}    net.eval()\n{VALIDATION}    net[0].train()\n    net.train()\n"
    before = text.replace("    net.eval()\n", "")
    assert offered(before) == {"TDR401": False, "TDR402": True}
    assert offered(before.replace("    net[0].train()\n    net.train()\n", "")) == {"TDR401": True, "TDR402": True}


@pytest.mark.usefixtures("farm", "records")
def test_a_run_proves_the_fixes_of_every_round(folder: Path, run: Callable[..., Outcome]) -> None:
    script = folder / "train.py"
    script.write_text(HEAD + EPOCH + VALIDATION)
    options = ["--isolated", "--no-cache", "-j", "1", "--select", "TDR401,TDR402", "--fix", "--unsafe-fixes", "--probe"]
    told = run("scan", *options, str(script)).err
    assert "TDR401 verified: 0 of " in told
    assert "TDR402 verified: 0 of " in told


def test_what_begins_a_cell_stays_in_its_cell(folder: Path, run: Callable[..., Outcome]) -> None:
    validation = VALIDATION.replace("\n    ", "\n").strip()
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in (HEAD + EPOCH.rstrip(), validation)
    ]
    book = folder / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2}))
    run(
        "scan", "--isolated", "--no-cache", "-j", "1", "--select", "TDR401,TDR402", "--fix", "--unsafe-fixes", str(book)
    )
    moved = "".join(f"    {row}\n" for row in validation.splitlines()).rstrip()
    sources = [cell["source"] for cell in json.loads(book.read_text())["cells"]]
    assert sources == [HEAD + EPOCH.rstrip(), f"net.eval()\nwith torch.no_grad():\n{moved}"]


HANDED_ON = """\
import torch
from elsewhere import saliency
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
for x, y in torch.utils.data.DataLoader(rows, batch_size=8, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
correct = 0
held_out = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
for x, y in torch.utils.data.DataLoader(held_out, batch_size=8):
    correct += (model(x).argmax(1) == y).sum().item()
    {then}
print(correct)
"""


def test_a_pass_whose_model_goes_to_unresolved_code_keeps_its_gradients(mended: Callable[[str, str], str]) -> None:
    handed_on, alone = HANDED_ON.format(then="saliency(model, x)"), HANDED_ON.format(then="print(correct)")
    assert mended(handed_on, "TDR402") == handed_on
    assert "torch.no_grad()" in mended(alone, "TDR402")


def test_a_file_that_is_not_loaded_into_a_model_keeps_its_limits(mended: Callable[[str, str], str]) -> None:
    load = "import sys\n\nimport torch\n\n{} = torch.load(sys.argv[1], weights_only=False)\n"
    rows, state = load.format("rows, name"), load.format("state") + "torch.nn.Linear(4, 2).load_state_dict(state)\n"
    assert mended(rows, "TDR603") == rows
    assert "weights_only=True" in mended(state, "TDR603")
