"""With which learning rates does the loss fall, from which on does it diverge, and where is the script's own?"""

from __future__ import annotations

import math
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..roles import roles
from ..sampling import samples
from ..schedules import schedule
from ..stage import Short, Skip
from ..telling import count, fact, line, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

STEPS, FEWEST, MOST = 100, 20, 8
LOWEST, HIGHEST = 1e-7, 10.0
BEYOND = 3.0  # times the script's own rate, where that is higher still
KEEPS = 0.8  # of the mean so far, with every further loss
DIVERGED = 3.0  # times the loss at first, or the lowest
FALLS = 0.95  # of the loss at first
RISES = 0.05  # of the loss at first, from the lowest so far: there the descent ends
CLOSE = 100.0  # times lower than where the loss falls most: a test of few steps needs larger steps than training does
FAR = 1000.0  # times lower than where the loss falls most
TINY = 0.01  # of the mean loss at first: a batch with less has nothing to lose


class Curve:
    """The losses by learning rate: `smooth` are their running means, `diverged` the rate at which it ended.

    `measured` are the losses as they are, and `losses` what they would be of a batch with the mean loss at first.
    """

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.measured: list[float] = []
        self.losses: list[float] = []
        self.smooth: list[float] = []
        self.diverged: float | None = None

    def take(self, rate: float, measured: float, loss: float) -> None:
        """A step was made."""
        self.rates.append(rate)
        self.measured.append(measured)
        self.losses.append(loss)
        before = self.smooth[-1] if self.smooth else loss
        self.smooth.append(KEEPS * before + (1 - KEEPS) * loss if math.isfinite(loss) else math.inf)
        first = self.smooth[: min(5, len(self.smooth))]
        limit = max(sum(first) / len(first), min(self.smooth)) * DIVERGED
        if len(self.smooth) > 5 and (not math.isfinite(loss) or (self.smooth[-1] > limit > 0)):
            self.diverged = rate

    @property
    def widest(self) -> float:
        """By how much a rate is larger than the one before it, at most."""
        return max((after / before for before, after in zip(self.rates, self.rates[1:])), default=math.inf)

    @property
    def best(self) -> int:
        """Where the loss is lowest."""
        return min(range(len(self.smooth)), key=self.smooth.__getitem__)

    @property
    def falls(self) -> bool:
        """Whether the loss falls by more than it varies at first, when the rates are too low to change anything."""
        early = self.losses[: max(5, len(self.losses) // 5)]
        mean = sum(early) / len(early)
        deviation = (sum((each - mean) ** 2 for each in early) / len(early)) ** 0.5
        lowest = self.smooth[self.best]
        return lowest < FALLS * mean and mean - lowest > deviation

    @property
    def descent(self) -> tuple[int, int, int]:
        """Where the loss begins to fall, where it falls most, and where it is lowest before it rises for the first time.

        What is beyond the first rise says nothing: with normalization, losses fall again with rates at which no training works.
        """
        begin = next((place for place in range(self.best + 1) if self.smooth[place] < FALLS * self.base), self.best)
        end = begin
        for place in range(begin, self.best + 1):
            if self.smooth[place] < self.smooth[end]:
                end = place
            elif self.smooth[place] - self.smooth[end] > RISES * abs(self.base):
                break
        steepest = max(range(begin, end + 1), key=lambda place: self.smooth[max(0, place - 3)] - self.smooth[place])
        return begin, steepest, end

    @property
    def base(self) -> float:
        """The loss at first."""
        first = self.losses[: max(5, len(self.losses) // 5)]
        return sum(first) / len(first)


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Looks at the schedule, then has the range test find out with which rates the loss falls."""
    planned = yield from schedule(stage)
    try:
        found = yield from _tested(stage)
    except Skip as skip:
        if not planned.words:
            raise
        found = result("skipped", str(skip))
    found["evidence"] = [*found["evidence"], *planned.evidence]
    found["plots"] = [*found["plots"], *planned.plots]
    found["reason"] = "; ".join(filter(None, [found["reason"], planned.words]))
    if planned.too_low:
        if found["status"] != "failed":
            found["reason"] = planned.words
        found["next"] = found["next"] or "step the scheduler once per epoch, or count its steps in batches"
        found.update(status="failed", about=(*found["about"], "steps too small"))
    return found


def _tested(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Raises the learning rate from step to step, over the batches of the small subset in turn."""
    own = stage.rate
    if not own:
        raise Skip("the optimizer has no learning rate, or one of zero")
    if len(stage.optimizers) > 1:
        raise Skip("several optimizers step together, so their learning rates cannot be tested separately")
    found = samples(stage, stage.left * 0.2)
    batches: list[Any] = (
        (found[0].batches[:-1] or found[0].batches)[:MOST] if found and found[0].loader is stage.loader else [None]
    )
    curve = Curve()
    stage.begin_anew()
    limit, early = stage.left * 0.15, stage.left * 0.8
    at_first: list[float] = []
    for batch in batches:
        if at_first and stage.left < early:
            break
        seen = yield from stage.play(batch, frozen=True)
        if seen.loss is None:
            raise Skip("`backward()` was never called on a loss")
        at_first.append(seen.loss)
    if not all(map(math.isfinite, at_first)):
        raise Skip("the loss is not finite from the start: see non-finite for where it appears")
    mean = sum(at_first) / len(at_first)
    if not any(at_first):
        raise Skip("the loss is 0 from the start and cannot decrease")
    positive = min(at_first) >= 0  # then losses are compared as multiples, which keep their sign
    chosen = [place for place, loss in enumerate(at_first) if not positive or loss > TINY * mean]
    batches, at_first = [batches[place] for place in chosen], [at_first[place] for place in chosen]
    stage.restore()
    stage.begin_anew()
    rate, start, step, top = LOWEST, monotonic(), 0, max(HIGHEST, own * BEYOND)
    while rate <= top and stage.left > limit and curve.diverged is None:
        place = step % len(batches)
        seen = yield from stage.play(batches[place], rate=rate / own)
        if seen.loss is not None:  # batches are not equally hard
            own_first = at_first[place]
            curve.take(rate, seen.loss, mean * seen.loss / own_first if positive else seen.loss - own_first + mean)
        if rate == top:
            break
        step += 1
        fitting = (stage.left - limit) / ((monotonic() - start) / step)
        remaining = max(1, min(STEPS - step, int(fitting)))
        rate = min(top, rate * (top / rate) ** (1 / remaining))
    stage.restore()
    if curve.widest > (top / LOWEST) ** (1 / (FEWEST - 1)):
        raise Short(f"only {count(len(curve.losses), 'step')} fit into the time limit")
    differing = sum(stage.start.differences().values())
    known = yield from roles(stage)
    return _judged(stage, curve, own, differing, told=bool(known.task))


def _judged(stage: Stage, curve: Curve, own: float, differing: int, *, told: bool) -> dict[str, Any]:
    best = curve.best
    falls = curve.falls
    start, steepest, end = (curve.rates[place] for place in curve.descent)
    most = max(start, min(steepest, end / 10))
    near = falls and most / CLOSE <= own <= curve.rates[best]
    suggested = most if falls and not near else None
    evidence = [
        fact("the script's learning rate", own),
        fact("learning rate with the lowest loss", curve.rates[best]),
        fact("lowest running mean of the loss", curve.smooth[best]),
        fact("initial loss", curve.base),
        fact("lowest learning rate at which the loss decreases", start if falls else None),
        fact("learning rate at which the loss decreases most", steepest if falls else None),
        fact("learning rate at which the loss first rises again", end if falls and end < curve.rates[best] else None),
        fact("learning rate at which training diverges", curve.diverged),
        fact("suggested learning rate", suggested),
        fact("steps", len(curve.losses)),
        fact("tensors and random generators not restored", differing, expected="0"),
    ]
    marks = [{"label": "the script's", "x": own}]
    marks += [{"label": "suggested", "x": suggested}] if suggested is not None else []
    words = f"the loss is lowest at {number(curve.rates[best])}"
    words += f" and diverges at {number(curve.diverged)}" if curve.diverged is not None else " and does not diverge"
    relative = "running mean, relative to the batch's initial loss"
    plots = [
        plot(
            "Loss with an increasing learning rate",
            "lines",
            words,
            x_label="learning rate",
            y_label="loss",
            x_log=True,
            series=[line("loss", curve.measured, curve.rates), line(relative, curve.smooth, curve.rates)],
            marks=marks,
        )
    ]
    learned = stage.notes.get("overfit")
    diverges = curve.diverged is not None and own >= curve.diverged and told and "values" not in stage.voided
    if diverges and (stage.notes.get("diverges") or learned is None or learned > 0.5):
        begin = "about " + number(suggested) if suggested is not None else "far less than " + number(own)
        why = f"the learning rate is too high: the script's {number(own)}; {words}"
        then = f"start with a learning rate of {begin}"
        return result("failed", why, evidence, plots, then=then, about=("steps too large",))
    if not falls:
        return result("shown", f"no learning rate up to {number(curve.rates[-1])} reduces the loss", evidence, plots)
    if "values" in stage.voided:
        words += "; the data is synthetic"
    words = f"the loss decreases from {number(start)} on, {words.removeprefix('the loss ')}"
    said = f"the script's {number(own)}{f', {number(most)} suggested' if not near else ''}; {words}"
    if not told:
        return result("shown", f"{said}; the loss function is unknown, so this may not be conclusive", evidence, plots)
    if "values" in stage.voided:
        return result("shown", said, evidence, plots)
    if suggested is not None and own * FAR < most and (learned is None or learned > 0.9):
        then = f"start with a learning rate of about {number(suggested)}"
        why = f"the learning rate is too low: {said}"
        return result("failed", why, evidence, plots, then=then, about=("steps too small",))
    return result("passed" if near else "shown", said, evidence, plots)
