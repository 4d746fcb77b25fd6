"""Can the script's own step memorise one batch? If not, which part of the wiring is the first that is wrong?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..roles import constant, roles, scale_of
from ..stage import Skip
from ..telling import count, fact, line, number, plot, result
from ..wiring import Wiring, wiring

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..roles import Roles
    from ..stage import Stage

STEPS = 300
FEWEST = 60  # updates without which a loss that does not fall says nothing
MEMORISED, LEARNS, STAYS = 0.1, 0.5, 0.9
"""Parts of the loss at first: below the first a batch is memorised, below the second something is learned, above the third
nothing is."""
LOWER, HIGHER = (0.1, 0.01), (10.0, 100.0, 1000.0)
"""What the learning rate is multiplied with where the script's own does not do: where the loss rises, and where it stays."""
DEAD = 0.9  # of the weights: what is left cannot be blamed for a loss that stays
CONSTANT = 0.98
"""A loss that is no lower than so much of the best constant answer's says that nothing is learned from the input."""
SHORT = 80  # updates with another learning rate
WINDOW = 5


class Run:
    """One attempt: its losses, and what was seen at its first and last update."""

    def __init__(self, rate: float, base: float | None = None) -> None:
        self.rate = rate
        self._base = base
        self.losses: list[float] = []
        self.first: Seen | None = None
        self.last: Seen | None = None
        self.without = 0

    @property
    def ratio(self) -> float:
        """What is left of the loss, over a few updates each; infinite where it is not finite any more."""
        own = self.losses
        if not own or not math.isfinite(own[-1]):
            return math.inf
        end = own[-WINDOW:]
        return (sum(end) / len(end)) / self.base if self.base > 0 else math.nan

    @property
    def short(self) -> bool:
        """Whether too few updates fitted into the time: a loss that is not finite, or low, ends a run as well."""
        return len(self.losses) < FEWEST and math.isfinite(self.losses[-1]) and self.ratio > MEMORISED

    @property
    def base(self) -> float:
        """The loss at first, of the script's own attempt."""
        start = self.losses[: min(WINDOW, max(1, len(self.losses) // 4))]
        return sum(start) / len(start) if self._base is None else self._base


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Repeats the step on the batch that was caught."""
    known = yield from roles(stage)
    stage.begin_anew()
    own = yield from _run(stage, 1.0, STEPS, stage.left * 0.6, details=True)
    if own.first is None or not own.losses:
        raise Skip("`backward()` was never called on a loss")
    if own.without >= len(own.losses):
        raise Skip(
            "the step could not be repeated: the script made no optimizer step when its loop received the batch again"
        )
    evidence = _evidence(stage, own)
    checks = wiring(stage, known, own.first, own.last)
    evidence += checks.evidence
    runs = [own]
    if own.ratio > LEARNS and len(stage.optimizers) == 1:
        for rate in LOWER if own.ratio > 1.05 else HIGHER:  # noise aside
            if stage.left < 1 or min(run.ratio for run in runs) <= LEARNS:
                break
            stage.restore()
            stage.begin_anew()
            runs.append((yield from _run(stage, rate, SHORT, stage.left * 0.5, base=own.base)))
    if not own.short and not _alike(known, own):
        stage.notes["overfit"] = own.ratio
    plots = [_curve(stage, runs)]
    if not math.isfinite(own.losses[0]):
        told = f"the loss is {number(own.losses[0])} from the first optimizer step on"
        then = "see non-finite for where the first such value appears"
        made_up = "values" in stage.voided
        return result("shown" if made_up else "failed", told, evidence, plots, then=then, about=("not finite",))
    return _judged(stage, known, runs, evidence, plots, checks)


def _run(
    stage: Stage, rate: float, steps: int, seconds: float, *, details: bool = False, base: float | None = None
) -> Generator[Play, Seen, Run]:
    run = Run(rate, base)
    until = stage.left - seconds
    while len(run.losses) < steps and stage.left > until:
        look = details and (run.first is None or len(run.losses) == steps // 2)
        seen = yield from stage.play(rate=rate, details=look)
        if look:
            run.first, run.last = run.first or seen, seen
        if seen.loss is None:
            break
        run.without += not seen.steps
        run.losses.append(seen.loss)
        if not math.isfinite(seen.loss) or run.ratio < MEMORISED / 2:
            break
    return run


def _evidence(stage: Stage, run: Run) -> list[dict[str, Any]]:
    low = min((each for each in run.losses if math.isfinite(each)), default=math.nan)
    return [
        fact("optimizer steps", len(run.losses)),
        fact("first loss", run.losses[0]),
        fact("last loss", run.losses[-1]),
        fact("lowest loss", low),
        fact("learning rate", stage.rate),
        fact("optimizer", ", ".join(type(each).__name__ for each in stage.optimizers)),
        fact("loop iterations per optimizer step", stage.passes),
    ]


def _curve(stage: Stage, runs: list[Run]) -> dict[str, Any]:
    own = runs[0]
    told = f"the loss goes from {number(own.losses[0])} to {number(own.losses[-1])} in {count(len(own.losses), 'step')}"
    names = ["the script's learning rate", *(f"{run.rate:g} × it" for run in runs[1:])]
    positive = all(each > 0 for run in runs for each in run.losses if math.isfinite(each))
    return plot(
        "Loss on one repeated batch",
        "lines",
        told,
        x_label="step",
        y_label="loss",
        y_log=positive and own.ratio < MEMORISED,
        series=[line(name, list(run.losses)) for name, run in zip(names, runs)],
    )


def _judged(
    stage: Stage,
    known: Roles,
    runs: list[Run],
    evidence: list[dict[str, Any]],
    plots: list[dict[str, Any]],
    checks: Wiring,
) -> dict[str, Any]:
    own = runs[0]
    wrong = checks.first if checks.dead >= DEAD else ""
    steps, ratio = len(own.losses), own.ratio
    told = (
        f"the loss went from {number(own.losses[0])} to {number(own.losses[-1])} in {count(steps, 'step')} on one batch"
    )
    made_up = " (of synthetic data)" if "values" in stage.voided else ""
    told += made_up
    if min(own.losses) < 0:
        return result("shown", f"{told}, which is not conclusive for a loss that becomes negative", evidence, plots)
    if own.losses[0] == 0:
        return result("shown", f"{told}: a loss of 0 cannot decrease", evidence, plots)
    if checks.certain:
        return result(
            "failed", f"{told}: {checks.certain}", evidence, plots, then=checks.first, about=("probabilities",)
        )
    if ratio <= LEARNS and _alike(known, own):
        told += "; all targets of the batch are nearly the same, so a constant prediction does as well"
        return result("shown", told, evidence, plots)
    if ratio <= LEARNS:
        said = (
            "the batch is memorized" if ratio <= MEMORISED else "the model learns, but has not memorized the batch yet"
        )
        return result("passed", f"{told}: {said}", evidence, plots)
    better = [run for run in runs[1:] if run.ratio <= LEARNS]
    if len(stage.optimizers) > 1:
        return result("shown", f"{told}; several optimizers are used, possibly against each other", evidence, plots)
    best = min(min(run.losses) for run in runs)
    guess = constant(known) if known.plain and scale_of(stage, known) == 1 else None
    if guess and best >= guess * CONSTANT and known.task and steps >= FEWEST and ratio <= STAYS:
        told += f"; the best constant prediction reaches {number(guess)}: nothing is learned from the input"
        return result("failed" if wrong else "shown", told, evidence, plots, then=wrong, about=("does not fall",))
    if better:
        rate = better[0].rate
        told += f", and to {number(better[0].losses[-1])} with {rate:g} times the learning rate {number(stage.rate)}"
        if rate < 1 and ratio > 1 and not own.short:
            then = f"divide the learning rate by {1 / rate:g}, or see learning-rate"
            said = f"{told}: the learning rate is too high"
            return result("failed", said, evidence, plots, then=then, about=("steps too large",))
        said = (
            f"{told}: the model can learn, but the learning rate is {'high' if rate < 1 else 'low'} for a single batch"
        )
        kind = "steps too large" if rate < 1 else "steps too small"
        return result("shown", said, evidence, plots, about=(kind,))
    if own.short or not known.task:
        why = (
            "too few optimizer steps fit into the time limit"
            if own.short
            else "this kind of loss need not decrease on one batch"
        )
        return result("shown", f"{told}; {why}", evidence, plots)
    if min(run.ratio for run in runs) <= STAYS:
        return result("shown", f"{told}: it decreases slowly", evidence, plots)
    floor = _floor(known)
    if floor is not None and own.losses[0] <= floor * 1.1:
        return result("shown", f"{told}; with these targets it cannot go much below {number(floor)}", evidence, plots)
    tried = ", not even with other learning rates" if len(runs) > 1 else ""
    if not wrong:
        told += f": it does not decrease, although {1 - checks.dead:.0%} of the weights get gradients and change"
        said = f"{told}; the model may be too small, or the targets may be noise"
        return result("shown", said, evidence, plots, then=checks.first)
    return result(
        "failed", f"{told}: it does not decrease{tried}", evidence, plots, then=wrong, about=("does not fall",)
    )


def _alike(known: Roles, run: Run) -> bool:
    """Whether the best constant answer would do as well as memorising."""
    best = constant(known)
    return best is not None and best <= MEMORISED * run.base


def _floor(known: Roles) -> float | None:
    """What the loss cannot fall below, because the targets are no certain answers."""
    target = known.target
    if known.score is None or target is None:
        return None
    if known.task == "classes":
        smoothing = float(known.score.keywords.get("label_smoothing") or 0.0)
        if target.is_floating_point():
            shares = target.detach().double().clamp_min(1e-12)
            return float(-(shares * shares.log()).sum(1).mean()) if shares.dim() > 1 else None
        if smoothing and known.classes > 1:
            rest = smoothing / known.classes
            top = 1 - smoothing + rest
            return -(top * math.log(top) + (known.classes - 1) * rest * math.log(rest))
    if known.task == "binary":
        shares = target.detach().double().clamp(1e-12, 1 - 1e-12)
        return float(-(shares * shares.log() + (1 - shares) * (1 - shares).log()).mean())
    return None
