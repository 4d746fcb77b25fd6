"""What is behind a broken part is seen as if that did what it was meant to."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan
from torch_doctor.selection import Layer, hiding, select
from torch_doctor.static.again import ROUNDS, as_meant
from torch_doctor.trace import Broken, Meant, Site, Trace

SCRIPT = Path("/nowhere/train.py")
LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD({model}.parameters(), lr=0.1)

for images, labels in DataLoader(train_set, shuffle=True):
    loss = criterion(model(images), labels)
    loss.backward()
    {step}
"""


def told(source: str) -> dict[str, list[Broken]]:
    """The codes that a scan reports, each with what it hides behind."""
    overlay = {SCRIPT: textwrap.dedent(source).encode()}
    report = scan(Options(paths=(SCRIPT,), rules=all_rules(), overlay=overlay, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return {finding.code: list(finding.behind) for finding in report.findings if finding.level.value == "E"}


def test_a_step_that_is_not_called_hides_nothing() -> None:
    found = told(LOOP.format(model="model", step="optimizer.step"))
    assert found.keys() == {"TDR101", "TDR111"}
    assert [(broken.code, broken.meant) for broken in found["TDR101"]] == [("TDR111", Meant.CALLED)]
    assert found["TDR111"] == []


def test_what_is_behind_two_broken_parts_is_told_with_both() -> None:
    found = told(LOOP.format(model="nn.Linear(4, 2)", step="optimizer.step"))
    assert found.keys() == {"TDR101", "TDR111", "TDR114"}
    assert {broken.code for broken in found["TDR101"]} == {"TDR111", "TDR114"}


def test_a_finding_that_is_silenced_mends_nothing() -> None:
    assert told(LOOP.format(model="model", step="optimizer.step  # noqa: TDR111")).keys() == set()


def test_the_top_level_is_executed_again_for_a_function_that_nobody_calls() -> None:
    found = told("""
        import torch
        from torch import nn

        model, other = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD(other.parameters(), lr=0.1)

        def train(loader):
            for images, labels in loader:
                loss = nn.functional.cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
        """)
    assert found.keys() == {"TDR101", "TDR114"}
    assert [broken.code for broken in found["TDR101"]] == ["TDR114"]


def test_a_backward_that_is_not_there_is_no_place_to_report_at() -> None:
    found = told(LOOP.format(model="model", step="optimizer.step()").replace("    loss.backward()\n", ""))
    assert found.keys() == {"TDR105"}


def test_nothing_is_executed_more_than_so_often() -> None:
    traces: list[Trace] = []
    for trace in as_meant(lambda _: iter([Trace("train.py")])):
        trace.broken.add(Broken(Site("train.py", len(traces), 1, 1, 1), Meant.CALLED, "TDR111", "method-not-called"))
        traces.append(trace)
    assert [len(trace.meant) for trace in traces] == list(range(ROUNDS))


def test_what_is_right_is_executed_once() -> None:
    assert len(list(as_meant(lambda _: iter([Trace("train.py")])))) == 1


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (Layer(select=("TDR1",)), ["TDR101", "TDR111"]),
        (Layer(select=("TDR101",)), ["TDR101"]),
        (Layer(select=("TDR101",), ignore=("TDR111",)), []),
    ],
)
def test_what_hides_a_selected_finding_is_looked_for_and_not_reported(asked: Layer, found: list[str]) -> None:
    source = LOOP.format(model="model", step="optimizer.step()").replace("loss.backward()", "loss.backward")
    overlay = {SCRIPT: textwrap.dedent(source).encode()}
    chosen = select(all_rules(), [asked])
    report = scan(Options(paths=(SCRIPT,), rules=chosen, hiding=hiding(all_rules(), chosen, [asked]), overlay=overlay))
    assert [finding.code for finding in report.findings] == found
