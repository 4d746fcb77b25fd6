"""What the script's schedulers make of the learning rate over the run, where they step with every optimizer step."""

from __future__ import annotations

import ast
import warnings
from time import monotonic
from typing import TYPE_CHECKING, Any

from .batches import rows
from .telling import count, fact, line, listed, number, plot

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..loop import Loop
    from .plays import Play, Seen
    from .stage import Stage

LOOKS = 4
"""Optimizer steps in a row in which a scheduler has to step for it to count as stepping with each."""
MOST, SECONDS = 20_000, 2.0
"""Steps of a schedule that are simulated at most, and for how long."""
LOWERED, EARLY = 1000.0, 10
"""A rate that is lower by this factor within this part of the run has all but ended training."""
POINTS = 200
"""Points of the curve."""


class Schedule:
    """The learning rates of a run, by optimizer step: `rates` are the highest of all parameter groups.

    `names` are the classes of the schedulers that step with every optimizer step, `total` the steps that the run has for
    certain; None where it may end at any time. `batches` are those of an epoch, where they are known.
    `evidence` has the rates of the groups and the effective batch size, too.
    """

    def __init__(self) -> None:
        self.evidence: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.rates: list[float] = []
        self.total: int | None = None
        self.batches: int | None = None

    @property
    def lowered(self) -> int | None:
        """The step from which on the rate stays below a thousandth of the highest before it; None where it does not.

        It has to stay there for ten times as long as it took to come there, or to the end of the run.
        """
        peak, since = 0.0, None
        for step, rate in enumerate(self.rates):
            peak = max(peak, rate)
            if rate >= peak / LOWERED:
                since = None
            elif since is None:
                since = step
        seen_to = len(self.rates) - 1
        end = self.total if self.total is not None else seen_to
        return since if since is not None and seen_to >= min(end, EARLY * since) else None

    @property
    def too_low(self) -> bool:
        """Whether that happens in the first tenth of the run."""
        since = self.lowered
        return since is not None and self.total is not None and since * EARLY <= self.total

    @property
    def words(self) -> str:
        """What the schedulers do, in words; empty where none steps with every optimizer step."""
        if not self.names or len(self.rates) < 2:
            return ""
        who = f"{listed([f'`{name}`' for name in self.names])} step{'s' * (len(self.names) == 1)} with every optimizer step"
        who += f" (an epoch has {count(self.batches, 'batch', 'batches')})" if self.batches is not None else ""
        steps, since = len(self.rates) - 1, self.lowered
        if self.too_low and since is not None:
            return (
                f"the learning rate falls from {number(max(self.rates))} to {number(self.rates[since])} by step {since:,}"
                f" of at least {self.total:,}: {who}"
            )
        highest = max(self.rates)
        peak = f" → {number(highest)}" if highest > max(self.rates[0], self.rates[-1]) else ""
        return f"{who}: {number(self.rates[0])}{peak} → {number(self.rates[-1])} in {count(steps, 'step')}"

    @property
    def plots(self) -> list[dict[str, Any]]:
        """The rate by step."""
        if not self.words:
            return []
        apart = max(1, -(-len(self.rates) // POINTS))
        series = [
            line("learning rate", self.rates[::apart], [float(each) for each in range(0, len(self.rates), apart)])
        ]
        return [
            plot("Learning rate by step", "lines", self.words, x_label="step", y_label="learning rate", series=series)
        ]


def schedule(stage: Stage) -> Generator[Play, Seen, Schedule]:
    """Simulate the schedulers that the script steps with each optimizer step, and put everything back."""
    found = Schedule()
    found.evidence = _groups(stage)
    if stage.batch is not None and rows(stage.batch):
        found.evidence.append(fact("batch size", rows(stage.batch)))
        found.evidence.append(fact("effective batch size", rows(stage.batch) * stage.passes))
    stepping = yield from _stepping(stage)
    if not stepping:
        return found
    found.names = list(dict.fromkeys(type(each).__name__ for each, _ in stepping))
    found.total, found.batches = _total(stage), None if "values" in stage.voided else _batches(stage)
    _simulate(stage, stepping, found)
    found.evidence.append(fact("optimizer steps of the run, at least", found.total))
    found.evidence.append(fact("steps simulated", len(found.rates) - 1, group="schedule"))
    found.evidence.append(fact("first learning rate", found.rates[0], group="schedule"))
    found.evidence.append(fact("highest learning rate", max(found.rates), group="schedule"))
    found.evidence.append(fact("last learning rate", found.rates[-1], group="schedule"))
    lowered = "step from which the rate stays below a thousandth of the highest"
    found.evidence.append(fact(lowered, found.lowered, group="schedule"))
    return found


def _groups(stage: Stage) -> list[dict[str, Any]]:
    """The rates of the parameter groups, where there are several."""
    found = []
    for optimizer in stage.optimizers:
        for place, group in enumerate(optimizer.param_groups):
            if "lr" in group and len(optimizer.param_groups) > 1:
                name = f"parameter group {group.get('name', place + 1)} of {type(optimizer).__name__}"
                sizes = sum(each.numel() for each in group["params"])
                rate = stage.observer.rates.get((id(optimizer), place), float(group["lr"]))
                found += [fact("learning rate", rate, group=name), fact("parameters", sizes, group=name)]
    return found


def _stepping(stage: Stage) -> Generator[Play, Seen, list[tuple[Any, int]]]:
    """The schedulers that step equally often in each of some optimizer steps in a row, and how often."""
    if not stage.schedulers():
        return []
    looks: list[dict[Any, int]] = []
    stage.natural = True
    try:
        for _ in range(LOOKS):
            seen = yield from stage.play(frozen=True)
            looks.append(dict(stage.advanced) if seen.steps else {})
    finally:
        stage.natural = False
        stage.restore()
    steady = [each for each in looks[0] if all(look.get(each) == looks[0][each] for look in looks)]
    inner = {id(part) for each in steady for part in getattr(each, "_schedulers", ())}
    return [(each, looks[0][each]) for each in steady if id(each) not in inner]


def _total(stage: Stage) -> int | None:
    """The optimizer steps that the run makes at least; None where its innermost loop may be left early.

    A loop of unknown length, or one that may be left early, counts for one pass.
    """
    if stage.owner.steps and "values" not in stage.voided:
        return stage.owner.steps
    loop = stage.catcher.loop
    if loop is None or _may_be_left(stage, loop):
        return None
    passes = loop.length if loop.length is not None else _batches(stage)
    if passes is None or "values" in stage.voided:
        return None
    for outer in stage.catcher.outer:
        passes *= 1 if outer.length is None or _may_be_left(stage, outer) else max(1, outer.length)
    return int(passes) // max(1, stage.passes)


def _batches(stage: Stage) -> int | None:
    """The batches of the loader; None where nobody knows."""
    try:
        return None if stage.loader is None else len(stage.loader)
    except Exception:  # noqa: BLE001 - a length is the user's code
        return None


def _may_be_left(stage: Stage, loop: Loop) -> bool:
    """Whether something in the body of a loop ends it."""
    tree = stage.recorder.index.trees().get(loop.node.span.path)
    if tree is None:
        return True
    return any(
        isinstance(node, (ast.Break, ast.Return, ast.Raise))
        and loop.node.first <= (node.lineno, node.col_offset) < loop.node.last
        for node in ast.walk(tree)
    )


def _simulate(stage: Stage, stepping: list[tuple[Any, int]], found: Schedule) -> None:
    """Step the schedulers as often as the run does; they and the rates are put back."""
    groups = [group for each, _ in stepping for group in getattr(each.optimizer, "param_groups", ())]
    found.rates = [_highest(groups)]
    if any(isinstance(group.get("lr"), stage.torch.Tensor) for group in groups):
        return
    until = monotonic() + min(SECONDS, stage.left * 0.2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while len(found.rates) <= min(found.total or MOST, MOST) and monotonic() < until:
                for each, times in stepping:
                    for _ in range(times):
                        each.step()
                found.rates.append(_highest(groups))
    except Exception:  # noqa: BLE001 - a schedule that is over may raise, as may the script's own
        return
    finally:
        stage.restore()


def _highest(groups: list[dict[str, Any]]) -> float:
    return max((float(group["lr"]) for group in groups if "lr" in group), default=0.0)
