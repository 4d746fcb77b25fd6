"""A call that takes too many steps, or that calls itself, is ended, and the run goes on behind it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan
from torch_doctor.static import entry_points, executing, task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.static.run import Run

HEAD = """
import torch
from torch import nn
from rows import loader

"""
LONG = "\n".join(
    f"def make{n}():\n    return [make{n + 1}(), make{n + 1}(), make{n + 1}(), make{n + 1}()]\n" for n in range(6)
)
LONG += "def make6():\n    return nn.Linear(4, 2)\n"
TRAIN = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        {}nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
CLEAR = "optimizer.zero_grad()\n        "


@pytest.fixture
def scanned(folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Report]:
    """A scan of one script for which there are few steps."""
    monkeypatch.setattr(entry_points, "STEPS_TRAINING", (600, 0))

    def run(text: str) -> Report:
        write("train.py", HEAD + text)
        return scan(Options(paths=(folder,), rules=tuple(all_rules())))

    return run


def found(report: Report, *codes: str) -> set[str]:
    return {finding.code for finding in report.findings if finding.code in codes}


BUILDS = {
    "called first": f"{LONG}\ndef main():\n    others = make0()\n    model = nn.Linear(4, 2)\n{TRAIN}\nmain()\n",
    "gives the model": f"{LONG}\ndef main():\n    model = make0()[0]\n{TRAIN}\nmain()\n",
    "a class": (
        f"{LONG}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.parts = make0()\n\n"
        f"    def forward(self, x):\n        return self.parts[0](x)\n\n\ndef main():\n    model = Net()\n{TRAIN}\nmain()\n"
    ),
    "one of a dict": (
        f"{LONG}\ndef main(name):\n    model = {{'a': make0(), 'b': nn.Linear(4, 2), 'c': make0()}}[name]\n{TRAIN}\nmain('b')\n"
    ),
    "at the top level": f"{LONG}\nothers = make0()\nmodel = nn.Linear(4, 2)\n{textwrap.dedent(TRAIN)}",
    "in a method": (
        f"{LONG}\nclass Trainer:\n    def __init__(self):\n        self.others = make0()\n        self.model = nn.Linear(4, 2)\n\n"
        f"    def fit(self):\n        model = self.model\n{textwrap.indent(TRAIN, '    ')}\n\nTrainer().fit()\n"
    ),
}


@pytest.mark.parametrize("text", BUILDS.values(), ids=list(BUILDS))
def test_the_loop_behind_a_call_that_takes_too_long_is_followed(text: str, scanned: Callable[[str], Report]) -> None:
    report = scanned(text.replace("{}", ""))
    assert any("exceeds its share of the step limit" in note for note in report.notes)
    assert found(report, "TDR101") == {"TDR101"}
    assert [(each.path, each.loop) for each in report.incomplete] == [("train.py", False)]


@pytest.mark.parametrize("text", BUILDS.values(), ids=list(BUILDS))
def test_nothing_is_found_there_in_a_loop_that_is_right(text: str, scanned: Callable[[str], Report]) -> None:
    assert not found(scanned(text.replace("{}", CLEAR)), "TDR101", "TDR102", "TDR103", "TDR104")


CHANGED = """
class Settings:
    def __init__(self):
        self.clears = False


def prepare(settings, optimizer):
    others = {}
    {}


clears = False
settings = Settings()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
prepare(settings, optimizer)
for x, y in loader:
    if {}:
        optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
ASSIGNED = {
    "an attribute": ("settings.clears = bool(others)", "settings.clears"),
    "a global variable": ("global clears; clears = bool(others)", "clears"),
    "nothing": ("pass", "clears"),
}


@pytest.mark.parametrize(("inside", "test"), ASSIGNED.values(), ids=list(ASSIGNED))
def test_what_such_a_call_assigns_may_be_otherwise_behind_it(
    inside: str, test: str, scanned: Callable[[str], Report]
) -> None:
    told = found(scanned(LONG + CHANGED.format("make0()", inside, test)), "TDR101")
    assert told == ({"TDR101"} if inside == "pass" else set())


ITSELF = """
def count(items):
    if isinstance(items, list):
        return sum(count(each) for each in items)
    return 1


model = nn.Linear(4, 2)
print(count([[1], [2, [3]]]), ready)
"""


def test_a_function_that_calls_itself_ends_that_call_alone(scanned: Callable[[str], Report]) -> None:
    report = scanned(ITSELF + textwrap.dedent(TRAIN).replace("{}", ""))
    assert found(report, "TDR101") == {"TDR101"}
    assert not report.notes


@pytest.mark.parametrize(
    "touched",
    [
        "def deep(module, n):\n    if n:\n        deep(module, n - 1)\n    else:\n        optimizer.zero_grad()\n",
        "def deep(module, n):\n    for each in module.children():\n        deep(each, n)\n    module.zero_grad()\n",
    ],
    ids=["a global", "an argument"],
)
def test_what_it_can_come_to_may_be_otherwise(touched: str, scanned: Callable[[str], Report]) -> None:
    loop = textwrap.dedent(TRAIN).replace("{}", "deep(model, steps)\n        ".replace("        ", "    "))
    report = scanned(f"from rows import steps\n\nmodel = nn.Linear(4, 2)\n\n{touched}\n{loop}")
    assert not report.errors
    assert found(report, "TDR101") == set()


MANY = "\n".join(f"def first{n}(x):\n    return make0()\n" for n in range(9))


def test_what_leads_to_training_comes_before_other_functions(
    scanned: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "STEPS_FILE", 1_500)
    monkeypatch.setattr(entry_points, "STEPS_TRAINING", (4_000, 0))
    body = TRAIN.replace("{}", "")
    report = scanned(f"{LONG}\n{MANY}\ndef learn(model: nn.Module):\n{body}")
    assert found(report, "TDR101") == {"TDR101"}
    assert [each.path for each in report.incomplete] == ["train.py"]


def test_all_runs_of_a_file_together_have_a_limit(
    scanned: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[float] = []
    spend = executing.Executing._guarded  # noqa: SLF001 - every run goes through it

    def guarded(self: executing.Executing, run: Run, work: Callable[[], object]) -> bool:
        ended = spend(self, run, work)
        taken.append(self._task.steps)
        return ended

    monkeypatch.setattr(executing.Executing, "_guarded", guarded)
    monkeypatch.setattr(task, "STEPS_FILE", 2_000)
    scanned(f"{LONG}\n{MANY}")
    assert min(taken) == 0
