"""How a checkup goes on: in which loops it repeats the step, what of the script it leaves as it was, what is told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values
from torch_doctor.checkup.outcome import RUNGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Climb, Examine, Heard
    from tests.conftest import Outcome

NOT_SCORED = "the probe run scored no predictions made from labels"
OVERFIT = "overfit-one-batch"
TRACED = """
import hashlib, random
from torch import nn
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
random.seed(0)


class Meter:
    def __init__(self):
        self.total, self.seen = 0.0, []

    def update(self, value):
        self.total += value
        self.seen.append(value)


def digest():
    told = hashlib.sha256()
    for each in [*model.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())]:
        told.update(str(each.tolist()).encode())
    told.update(str((torch.get_rng_state().sum(), random.getstate(), schedule.state_dict())).encode())
    told.update(str(optimizer.param_groups[0]["lr"]).encode())
    return told.hexdigest()


def train(loader):
    step, losses, total = 0, [], 0.0
    for x, y in loader:
        step += 1
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        losses.append(loss.item())
        meter.update(loss.item() + random.random())
        counts["steps"] = counts.get("steps", 0) + 1
    return step, losses, total


model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=20)
meter, counts = Meter(), {}
data = TensorDataset(torch.randn(16, 4), torch.arange(16) % 2)
result = train(DataLoader(data, batch_size=8, shuffle=True))
print("RESULT", result, meter.total, len(meter.seen), counts, digest())
"""
"""Says at its end all that a checkup could have changed; it makes two updates, as a run of the probe does."""


AHEAD_OF_IT = """
def ahead(loader):
    before = None
    for batch in loader:
        if before is not None:
            yield before
        before = batch
    yield before


"""


@pytest.mark.parametrize(
    "script",
    [
        TRACED,
        broken(
            "def digest", AHEAD_OF_IT + "def digest", "for x, y in loader", "for x, y in ahead(loader)", script=TRACED
        ),
    ],
    ids=["loader", "one batch ahead"],
)
def test_the_script_goes_on_as_if_nothing_had_happened(
    examine: Examine, write: Callable[..., Path], script: str
) -> None:
    path = write("bare.py", script)
    bare = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
    examined = examine(script, *RUNGS)
    assert [rung.status for rung in examined.checkup.rungs if rung.status == "failed"] == []
    assert values(examined.checkup.rungs[-1], "weights not restored after the checkup") == [0]
    output = examined.climb.output
    assert [line for line in output.splitlines() if line.startswith("RESULT")] == bare.splitlines()


def test_what_is_a_batch_ahead_is_trained_on_in_turn(climb: Climb) -> None:
    rung = climb(
        broken("for epoch", AHEAD_OF_IT + "for epoch", HEADER, "for images, labels in ahead(train_loader):"),
        "small-subset",
    )
    assert rung.status == "passed", rung.reason


def test_rungs_are_heard_as_they_come(examine: Examine, heard: Heard) -> None:
    examine(TRAINING, "inspect", "baseline")
    assert heard.said == ["scanning train.py", "inspect …", "inspect passed", "baseline …", "baseline passed"]


HEADER = "for images, labels in train_loader:"
ROWS = "images, labels = x[rows], y[rows]"
EVERY_FOURTH = """if (step + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        step += 1"""
LOOPS = {
    "slices": [HEADER, f"for start in range(0, 192, 16):\n        rows = slice(start, start + 16)\n        {ROWS}"],
    "drawn": [HEADER, f"while True:\n        rows = torch.randint(0, 192, (16,))\n        {ROWS}"],
    "next": [HEADER, "it = iter(train_loader)\n    for _ in range(12):\n        images, labels = next(it)"],
    "one ahead": ["for epoch", AHEAD_OF_IT + "for epoch", HEADER, "for images, labels in ahead(train_loader):"],
    "accumulation": [
        *("optimizer.zero_grad()\n        loss =", "loss =", "optimizer.step()", EVERY_FOURTH),
        *("    model.train()", "    model.train()\n    step = 0"),
    ],
    "whole data": [
        *("for epoch in range(2):\n    model.train()", "for epoch in range(40):"),
        *(HEADER, "if True:\n        images, labels = x, y"),
    ],
    "scaler": [
        *("        optimizer.step()", "        scaler.step(optimizer)\n        scaler.update()"),
        *(
            "loss.backward()",
            "scaler.scale(loss).backward()",
            "for epoch",
            "scaler = torch.amp.GradScaler('cpu')\nfor epoch",
        ),
    ],
}


@pytest.mark.parametrize("changes", LOOPS.values(), ids=LOOPS)
def test_the_step_is_repeated_whatever_the_loop(climb: Climb, changes: list[str]) -> None:
    rung = climb(broken(*changes), OVERFIT)
    assert rung.status == "passed", rung.reason


def test_a_notebook_is_climbed(climb: Climb) -> None:
    cells = TRAINING.partition("for epoch")
    assert climb([cells[0], cells[1] + cells[2]], OVERFIT).status == "passed"


def test_data_that_is_not_there_is_only_shown(climb: Climb) -> None:
    script = broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')").replace("x[", "x[:256, :10][")
    rung = climb(script, "inspect")
    assert rung.status in {"shown", "skipped"}


def test_a_loop_that_is_left_leaves_no_step_to_repeat(examine: Examine) -> None:
    rungs = examine(broken("optimizer.step()", "optimizer.step()\n        break"), "inspect", OVERFIT).checkup.rungs
    assert [rung.status for rung in rungs] == ["passed", "skipped"]
    assert "left its loop after the first optimizer step" in rungs[1].reason


def test_a_script_that_raises_before_its_first_update_is_told_with_its_error(examine: Examine) -> None:
    found = examine(broken("nn.Linear(32, 3)", "nn.Linear(31, 3)"), *RUNGS).checkup
    inspect, *rungs, receipt = found.rungs
    assert inspect.status == "passed"
    assert inspect.reason.startswith("192 samples of train_loader, 64 samples of val_loader")
    assert {rung.status for rung in rungs} == {"skipped"}
    assert {rung.name: rung.reason for rung in rungs if rung.reason != "the script stops with an error"} == {
        "terms": "no loss went backward before the first optimizer step",
        "metric": NOT_SCORED,
    }
    assert found.error.startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    assert receipt.status == "shown"
    assert receipt.reason == "the script reached no optimizer step, so nothing was repeated"


def test_a_step_that_raises_when_it_is_repeated_ends_the_climb(examine: Examine) -> None:
    counted = "assert next(calls) < 9\n        optimizer.zero_grad()"
    script = broken(
        "for epoch", "import itertools\ncalls = itertools.count()\nfor epoch", "optimizer.zero_grad()", counted
    )
    rungs = examine(script, "inspect", OVERFIT).checkup.rungs
    assert [rung.status for rung in rungs] == ["passed", "skipped"]
    assert rungs[1].reason == "the script ended: AssertionError: "


def test_a_script_without_training_says_so(climb: Climb) -> None:
    rung = climb("import torch\nprint(torch.ones(2))\n", OVERFIT)
    assert rung.status == "skipped"
    assert rung.reason == "the script ended before the first optimizer step"


def test_what_uses_no_torch_is_not_run(write: Callable[..., Path]) -> None:
    command = [sys.executable, "-m", "torch_doctor", "checkup", str(write("train.py", "print(1)\n")), "--isolated"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "the script does not use torch" in " ".join(done.stdout.split()), done.stderr


def test_no_time_is_no_pass(examine: Examine) -> None:
    waits = "import threading\nfor epoch", "threading.Event().wait(2.5)\n        optimizer.zero_grad()"
    slow = broken(
        "for epoch", waits[0], "optimizer.zero_grad()", waits[1]
    )  # it waits: on a busy machine as on an idle one
    rungs = {rung.name: rung for rung in examine(slow, *RUNGS, seconds=20).checkup.rungs}
    assert rungs["throughput"].status == "skipped"
    assert "time" in rungs["throughput"].reason
    assert rungs["receipt"].status != "skipped"  # it says what is known, and repeats nothing


def test_the_command_writes_everything_as_json(write: Callable[..., Path], run: Callable[..., Outcome]) -> None:
    write("train.py", TRAINING)
    done = run("checkup", "train.py", "--isolated", "--json", "-", "--time", "60", "--python", sys.executable)
    assert done.status == 0, done.err
    assert [rung["name"] for rung in done.json["rungs"]] == list(RUNGS)
    assert {"name", "status", "reason", "evidence", "findings", "plots"} <= done.json["rungs"][0].keys()


def test_a_failed_rung_has_the_findings_that_explain_it(
    write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    write("train.py", broken("model.parameters()", "[nn.Parameter(torch.zeros(2))]"))
    done = run("checkup", "train.py", "--isolated", "--json", "-", "--time", "40", "--python", sys.executable)
    assert done.status == 1, done.err
    rung = next(rung for rung in done.json["rungs"] if rung["name"] == OVERFIT)
    assert rung["status"] == "failed"
    assert {finding["code"] for finding in rung["findings"]} & {"TDR114", "TDR119", "TDR118"}


FIVE_BUGS = broken(
    *("nn.ReLU(), nn.Linear(32, 3))", "nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3), nn.Softmax(dim=1))"),
    *("        optimizer.zero_grad()\n", "", "    model.eval()\n", ""),
    *("    with torch.no_grad():\n", "    if True:\n"),
    *("optimizer.step()", "optimizer.step()\n        losses.append(loss)", "for epoch", "losses = []\nfor epoch"),
)


def test_five_bugs_at_once_are_all_named_and_no_rung_says_otherwise(
    write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    report = write("train.py", FIVE_BUGS).with_name("report.json")
    how = ["--isolated", "--json", "report.json", "--time", "60", "--python", sys.executable]
    done = run("checkup", "train.py", *how)
    assert done.status == 1, done.err
    codes = ("TDR101", "TDR201", "TDR401", "TDR402", "TDR502")
    assert [code for code in codes if code not in done.out] == []
    rungs = {rung["name"]: rung for rung in json.loads(report.read_text(encoding="utf-8"))["rungs"]}
    for name, code in (("learning-rate", "TDR101"), ("repeatability", "TDR401"), ("small-subset", "TDR201")):
        rung = rungs[name]
        assert rung["status"] != "passed"
        explained = code in {finding["code"] for finding in rung["findings"]} or rung["status"] == "failed"
        assert explained or rung["reason"].startswith("not meaningful until overfit-one-batch passes")
        assert f"{name:<18} {rung['status'].upper()}" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["none.py"], "none.py does not exist"), (["."], ". is a folder: pass the training script")],
    ids=["missing", "folder"],
)
def test_what_is_no_script_is_an_error(run: Callable[..., Outcome], arguments: list[str], said: str) -> None:
    done = run("checkup", *arguments)
    assert (done.status, done.err) == (2, f"error: {said}\n")


BY_HAND = [
    "        optimizer.step()",
    "        with torch.no_grad():\n            for each in model.parameters():\n                each -= 0.3 * each.grad",
    "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\n",
    "",
    "optimizer.zero_grad()",
    "model.zero_grad()",
]


def test_updates_by_hand_are_climbed_with_the_rate_that_they_show(examine: Examine) -> None:
    rungs = {rung.name: rung for rung in examine(broken(*BY_HAND), *RUNGS).checkup.rungs}
    assert rungs[OVERFIT].status == "passed", rungs[OVERFIT].reason
    assert values(rungs[OVERFIT], "learning rate") == [pytest.approx(0.3, rel=0.01)]
    assert values(rungs[OVERFIT], "parameters in the optimizer") == [451]
    assert {rung.name: rung.reason for rung in rungs.values() if rung.status in {"failed", "skipped"}} == {
        "metric": NOT_SCORED
    }
    assert values(rungs["receipt"], "weights not restored after the checkup") == [0]


def test_a_rate_by_hand_that_is_too_high_fails(climb: Climb) -> None:
    rung = climb(broken("0.3 * each.grad", "300 * each.grad", script=broken(*BY_HAND)), "learning-rate")
    assert rung.status == "failed", rung.reason
    assert "the learning rate is too high" in rung.reason


PLAIN = """
import torch

torch.manual_seed(0)
features = torch.randn(200, 3)
targets = (features @ torch.tensor([2.0, -3.4, 0.7]) + 4.2) ** 2
sizes = [(3, 8), (8,), (8, 8), (8,), (8,), ()]
parameters = [torch.randn(size).div(2).requires_grad_() for size in sizes]
for start in range(0, 200, 100):
    rows = slice(start, start + 100)
    w, b, v, c, u, d = parameters
    hidden = torch.relu(torch.relu(features[rows] @ w + b) @ v + c)
    loss = ((hidden @ u + d - targets[rows]) ** 2).mean()
    loss.backward()
    for each in parameters:
        each.data.add_(each.grad, alpha=-0.001)
        each.grad = None
print("RESULT", [each.tolist() for each in parameters])
"""


def test_tensors_of_no_model_are_as_they_were_after_a_climb(examine: Examine, write: Callable[..., Path]) -> None:
    bare = subprocess.run([sys.executable, write("bare.py", PLAIN)], capture_output=True, text=True, check=True).stdout
    examined = examine(PLAIN, OVERFIT, "learning-rate", "non-finite")
    assert [rung.status for rung in examined.checkup.rungs if rung.status == "skipped"] == []
    assert values(examined.checkup.rungs[0], "learning rate") == [pytest.approx(0.001, rel=0.01)]
    assert [line for line in examined.climb.output.splitlines() if line.startswith("RESULT")] == bare.splitlines()
