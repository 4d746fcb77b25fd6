"""`--probe-flags`: one more run, with the arguments that most findings with other settings need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probing import Probing, Runnable
from torch_doctor.rule import Finding, Level, Verdict
from torch_doctor.scan import Options, traces
from torch_doctor.scan.flags import Flags, flags_for
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static.choosing import ANOTHER, Option
from torch_doctor.static.values import Const

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

Run = Any  # arguments to outcome

HEAD = """
import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--soft", action="store_true")
parser.add_argument("--hold", action="store_true")
parser.add_argument("--kind", default="plain", choices=["plain", "squashed"])
parser.add_argument("--rate", type=float, default=0.1)
args = parser.parse_args()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=args.rate)
for _ in range(4):
    scores = model(torch.randn(16, 4))
"""
TAIL = """
    loss = F.cross_entropy(scores, torch.randint(0, 3, (16,)))
    {clear}
    loss.backward()
    optimizer.step()
"""
CLEARED = TAIL.format(clear="optimizer.zero_grad()")


def test_a_finding_that_needs_a_flag_is_confirmed_in_a_run_with_it(run: Run, write: Write) -> None:
    write("train.py", f"{HEAD}    if args.soft:\n        scores = F.softmax(scores, dim=1)\n{CLEARED}")
    once = run("scan", "train.py", "--isolated", "--probe", "--output-format", "concise")
    assert "(with `--soft`) [not-reached]" in once.out
    again = run("scan", "train.py", "--isolated", "--probe", "--probe-flags", "--output-format", "concise")
    assert "(with `--soft`) [confirmed]" in again.out
    assert "running `train.py --soft` as well, for a finding that needs another setting" in again.err
    assert again.status == 0


COMMAND = """\
import click
import torch
from torch import nn

@click.command()
@click.option("--loss", type=click.Choice(["nll", "ce"]), default="nll")
def main(loss):
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss() if loss == "ce" else nn.NLLLoss()
    for _ in range(4):
        optimizer.zero_grad()
        criterion(model(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
        optimizer.step()

main()
"""


def test_a_loss_that_an_option_of_click_chooses_is_run_with_it(run: Run, write: Write) -> None:
    write("train.py", COMMAND)
    found = run("scan", "train.py", "--isolated", "--probe", "--probe-flags", "--output-format", "concise")
    assert "(with `--loss ce`) [confirmed]" in found.out
    assert "running `train.py --loss ce` as well" in found.err


def test_a_bug_of_the_defaults_keeps_the_verdict_of_the_run_with_the_defaults(run: Run, write: Write) -> None:
    kept = TAIL.format(clear="if args.hold: optimizer.zero_grad()")
    write("train.py", f"{HEAD}    if args.hold:\n        scores = F.softmax(scores, dim=1)\n{kept}")
    found = run("scan", "train.py", "--isolated", "--probe", "--probe-flags", "--output-format", "concise").out
    lines = {line.split()[1]: line for line in found.splitlines() if " TDR" in line}
    assert lines["TDR101"].endswith("[confirmed]")
    assert "(with `--hold`) [confirmed]" in lines["TDR201"]


def test_it_needs_the_probe(run: Run, write: Write) -> None:
    write("train.py", HEAD)
    outcome = run("scan", "train.py", "--probe-flags")
    assert outcome.status == 2
    assert "--probe-flags requires --probe" in outcome.err


@pytest.fixture
def needed(write: Write) -> Callable[[str, dict[int, str]], Flags | None]:
    """The arguments for a script with findings at some rows, each with its condition."""

    def flags(source: str, findings: dict[int, str], verdict: Verdict = Verdict.NOT_REACHED) -> Flags | None:
        path = write("train.py", source)
        found, _ = traces(Options(paths=(path,), rules=()))
        project = Project(path.parent, Ignores(frozenset({path.parent})))
        sites = {event.site.row: event.site for trace in found for event in trace.events}
        told = [
            Finding("TDR201", "softmax", Level.ERROR, "", sites[row], condition=condition, verdict=verdict)
            for row, condition in findings.items()
        ]
        for trace in found:
            trace.path = project.shown(path)
        return flags_for(told, [Runnable(project, [path], found)]).get(path)

    return flags


TWICE = f"""{HEAD}
    if args.soft:
        scores = F.softmax(scores, dim=1)
    if args.kind == "squashed":
        scores = F.softmax(scores, dim=1)
        scores = F.softmax(scores, dim=1)
{CLEARED}"""
SOFT, FIRST, SECOND = (
    TWICE[: TWICE.index(text)].count("\n") + 2 for text in ("if args.soft", "if args.kind", "if args.kind")
)
SECOND += 1


def test_the_setting_of_most_findings_is_taken(needed: Callable[..., Flags | None]) -> None:
    flags = needed(TWICE, {SOFT: "with `--soft`", FIRST: "with `--kind squashed`", SECOND: "with `--kind squashed`"})
    assert flags == Flags(("--kind", "squashed"), "with `--kind squashed`", 2)


def test_what_is_confirmed_already_needs_no_run(needed: Callable[..., Flags | None]) -> None:
    assert needed(TWICE, {SOFT: "with `--soft`"}, Verdict.CONFIRMED) is None


def test_an_option_whose_value_nobody_knows_is_not_guessed(needed: Callable[..., Flags | None]) -> None:
    source = f"{HEAD}    if args.rate > 0.5:\n        scores = F.softmax(scores, dim=1)\n{CLEARED}"
    row = source[: source.index("if args.rate")].count("\n") + 2
    assert needed(source, {row: "with `--rate` other than `0.1`"}) is None


@pytest.mark.parametrize(
    ("option", "value", "arguments"),
    [
        (Option("--soft", Const(value=False), bool, switch=True), Const(value=True), ("--soft",)),
        (Option("--kind", Const("plain"), str), Const("squashed"), ("--kind", "squashed")),
        (Option("--shift", Const(0), int), Const(-1), ("--shift=-1",)),
        (Option("kind", Const("plain"), str), Const("squashed"), None),
        (Option("--kind", Const("plain"), str), ANOTHER, None),
    ],
)
def test_a_value_is_given_as_the_parser_reads_it(
    option: Option, value: Const, arguments: tuple[str, ...] | None
) -> None:
    assert option.arguments(value) == arguments


def test_the_arguments_come_behind_those_of_the_user(tmp_path: Path) -> None:
    how = Flags(("--soft",), "with `--soft`", 1).added_to(Probing(args=("--rate", "1")), tmp_path / "train.py")
    assert how.args_for(tmp_path / "train.py") == ("--rate", "1", "--soft")
