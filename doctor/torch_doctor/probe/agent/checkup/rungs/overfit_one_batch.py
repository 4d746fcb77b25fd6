"""Can the script's own step memorise one batch? If not, which part of the wiring is the first that is wrong?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..advice import advice
from ..attempts import FEWEST, Attempt, curve
from ..fit import MEMORISED, bounds, fit, knowing_nothing, lowest
from ..narrowing import narrowed
from ..roles import Roles, constant, roles, scale_of
from ..stage import Short, Skip
from ..telling import Result, count, fact, number, plot, result
from ..wiring import Wiring, wiring

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..fit import Fit
    from ..plays import Play, Seen
    from ..stage import Stage

STEPS = 300
LEARNS, STAYS = 0.5, 0.9
"""Parts of the loss at first: below the first something is learned, above the second nothing is."""
LOWER, HIGHER = (0.1, 0.01, 0.001, 0.0001), (10.0, 100.0, 1000.0)
"""What the learning rate is multiplied with where the script's own does not do: where the loss rises, and where it stays."""
SAME = "the outputs are the same for every sample: they do not depend on the input"
USUAL = 1e-3
"""The size of an update against that of the weights at which most networks train well (A. Karpathy, CS231n, "Update ratio")."""
DEAD = 0.9  # of the weights: what is left cannot be blamed for a loss that stays
CONSTANT = 0.98
"""A loss that is no lower than so much of the best constant answer's says that nothing is learned from the input."""
MORE = 40  # updates after which the answers are looked at again
SHORT = 80  # updates with another learning rate


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Repeats the step on the batch that was caught, or on as many of its samples as are wanted."""
    known = yield from roles(stage)
    told = yield from advice(stage, known)
    whole, stage.batch = stage.batch, narrowed(stage, stage.examples) if stage.examples else stage.batch
    try:
        if stage.examples:
            known = Roles(stage, (yield from stage.play(keep=True, frozen=True)))
        return (yield from _climb(stage, known, told))
    finally:
        stage.batch = whole


def _climb(stage: Stage, known: Roles, told: list[dict[str, Any]]) -> Generator[Play, Seen, dict[str, Any]]:
    """Trains on the batch until it is memorized or the steps are over."""
    stage.begin_anew()
    own = yield from _run(stage, 1.0, STEPS, stage.left * 0.6, details=True, bounds=bounds(stage, known))
    if not own.losses and known.seen.losses:
        raise Short("no step fit into the time limit")
    if own.first is None or not own.losses:
        raise Skip("`backward()` was never called on a loss")
    if own.without >= len(own.losses):
        raise Skip(
            "the step could not be repeated: the script made no optimizer step when its loop received the batch again"
        )
    fitted = yield from fit(stage, known, own.end, own.base)
    for _ in range((STEPS - len(own.losses)) // MORE):
        if not fitted.almost or stage.left < 1:
            break
        yield from _more(stage, own)
        fitted = yield from fit(stage, known, own.end, own.base)
    checks = wiring(stage, known, own.first, own.last)
    evidence = [*_evidence(stage, own), *told, *checks.evidence, *_fitted(fitted)]
    runs = [own]
    if own.ratio > LEARNS and len(stage.optimizers) == 1:
        for rate in LOWER if own.ratio > 1.05 else _higher(checks):  # noise aside
            if stage.left < 1 or min(run.ratio for run in runs) <= LEARNS:
                break
            stage.restore()
            stage.begin_anew()
            runs.append((yield from _run(stage, rate, SHORT, stage.left * 0.5, base=own.base)))
    if not own.short and not _alike(known, own):
        stage.notes["overfit"] = own.ratio
    plots = [curve(runs)]
    if fitted.wrong and not fitted.memorised:
        plots.append(plot("Samples that do not fit", "texts", fitted.left, texts=fitted.wrong))
    if not math.isfinite(own.losses[0]):
        reason = f"the loss is {number(own.losses[0])} from the first optimizer step on"
        then = "see non-finite for where the first such value appears"
        made_up = "values" in stage.voided
        return result("shown" if made_up else "failed", reason, evidence, plots, then=then, about=("not finite",))
    return _judged(stage, known, runs, evidence, plots, checks, fitted)


def _run(
    stage: Stage,
    rate: float,
    steps: int,
    seconds: float,
    *,
    details: bool = False,
    base: float | None = None,
    bounds: tuple[float, float] = (0.0, math.inf),
) -> Generator[Play, Seen, Attempt]:
    run, (floor, reference) = Attempt(rate, base), bounds
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
        if not math.isfinite(seen.loss) or run.end - floor < MEMORISED / 2 * (min(run.base, reference) - floor):
            break
    return run


def _more(stage: Stage, run: Attempt) -> Generator[Play, Seen, None]:
    """Go on where the loss is low, but some labels are still wrong."""
    for _ in range(MORE):
        seen = yield from stage.play()
        if seen.loss is None:
            return
        run.losses.append(seen.loss)


def _higher(checks: Wiring) -> tuple[float, ...]:
    """Multiples of the learning rate: the usual ones, or where updates are minute those that bring them to a usual size."""
    usual = 10.0 ** round(math.log10(USUAL / checks.step)) if checks.step else 0.0
    return (usual, 10 * usual, 100 * usual) if usual > HIGHER[-1] else HIGHER


def _fitted(fitted: Fit) -> list[dict[str, Any]]:
    found = [fact("last loss in evaluation mode", fitted.evaluated)] if math.isfinite(fitted.evaluated) else []
    if fitted.right is not None:
        found.append(fact("classified correctly", fitted.right, f"of {fitted.samples}"))
    if fitted.contradicted:
        found += [
            fact("inputs of the batch with several targets", fitted.contradicted),
            fact("lowest possible loss", fitted.floor),
        ]
    return found


def _evidence(stage: Stage, run: Attempt) -> list[dict[str, Any]]:
    low = min((each for each in run.losses if math.isfinite(each)), default=math.nan)
    return [
        *([fact("samples", stage.examples)] if stage.examples else []),
        fact("optimizer steps", len(run.losses)),
        fact("first loss", run.losses[0]),
        fact("last loss", run.losses[-1]),
        fact("lowest loss", low),
        fact("learning rate", stage.rate),
        fact("optimizer", ", ".join(type(each).__name__ for each in stage.optimizers)),
        fact("loop iterations per optimizer step", stage.passes),
    ]


def _judged(
    stage: Stage,
    known: Roles,
    runs: list[Attempt],
    evidence: list[dict[str, Any]],
    plots: list[dict[str, Any]],
    checks: Wiring,
    fitted: Fit,
) -> dict[str, Any]:
    own, said = runs[0], Result(evidence, plots)
    told = (
        f"the loss went from {number(own.losses[0])} to {number(own.losses[-1])} "
        f"in {count(len(own.losses), 'step')} on {f'{stage.examples} samples of ' if stage.examples else ''}one batch"
    )
    made_up = "values" in stage.voided
    told += " (of synthetic data)" * made_up
    if min(own.losses) < 0:
        return said("shown", f"{told}, which is not conclusive for a loss that becomes negative")
    if own.losses[0] == 0:
        return said("shown", f"{told}: a loss of 0 cannot decrease")
    if checks.certain:
        return said("failed", f"{told}: {checks.certain}", then=checks.first, about=("probabilities",))
    if own.ratio <= LEARNS and _alike(known, own):
        best = number(constant(known) or 0.0)
        return said("shown", f"{told}; a constant prediction reaches {best}, so this shows no use of the input")
    if own.ratio <= LEARNS and fitted.hopeless and not own.short and not made_up:
        return _hopeless(fitted, told, said, checks)
    if own.ratio <= LEARNS or fitted.memorised:
        return _learned(stage, known, told, said, fitted, short=own.short)
    if len(stage.optimizers) > 1:
        return said("shown", f"{told}; several optimizers are used, possibly against each other")
    return _not_learned(stage, known, runs, told, said, checks, fitted)


def _learned(stage: Stage, known: Roles, told: str, said: Result, fitted: Fit, *, short: bool) -> dict[str, Any]:
    """What it means that the loss has fallen by half: memorised, or what is left."""
    more = f"; {fitted.labels}" if fitted.labels else ""
    if fitted.memorised:
        mode = f", and is {number(fitted.evaluated)} in evaluation mode" if fitted.without_dropout else ""
        right = f"; {fitted.accuracy}" if fitted.accuracy else ""
        return said("passed", f"{told}{mode}{right}{more}: the batch is memorized")
    guess = constant(known) if known.plain and scale_of(stage, known) == 1 else None
    if guess and fitted.end >= guess * CONSTANT and fitted.evaluated >= guess * CONSTANT:
        told += f", but the best constant prediction reaches {number(guess)}: nothing is learned from the input yet"
        return said("shown", told, then="check the scale of the inputs, and the learning rate")
    left = f": {fitted.left}" if fitted.left else ""
    told = f"{told}{more}: the model learns, but has not memorized it{left}"
    return said("shown", f"{told}; too few optimizer steps fit into the time limit" if short else told)


def _not_learned(
    stage: Stage, known: Roles, runs: list[Attempt], told: str, said: Result, checks: Wiring, fitted: Fit
) -> dict[str, Any]:
    """What it means that the loss has not fallen by half."""
    own, wrong, steps = runs[0], _wrong(checks), len(runs[0].losses)
    best = min(min(run.losses) for run in runs)
    guess = constant(known) if known.plain and scale_of(stage, known) == 1 else None
    if guess and best >= guess * CONSTANT and known.task and steps >= FEWEST and own.ratio <= STAYS:
        told += f"; the best constant prediction reaches {number(guess)}: nothing is learned from the input"
        return said("failed" if wrong else "shown", told, then=wrong, about=("does not fall",))
    if fitted.same and known.task and steps >= FEWEST and not _alike(known, own):
        then = checks.first or "check what `forward` does with its input"
        return said("failed", f"{told}: {SAME}", then=then, about=("does not fall",))
    if checks.faint and not fitted.hopeless and own.ratio > STAYS and not own.short:
        return _too_faint(stage, runs, told, said, checks)
    better = [run for run in runs[1:] if run.ratio <= LEARNS and not (fitted.known and run.end > fitted.reference)]
    if better:
        return _with_another_rate(stage, own, better[0], told, said)
    if fitted.hopeless and not own.short and "values" not in stage.voided:
        return _hopeless(fitted, told, said, checks)
    if own.short or not known.task:
        why = "this kind of loss need not decrease on one batch"
        return said("shown", f"{told}; {'too few optimizer steps fit into the time limit' if own.short else why}")
    if min(run.ratio for run in runs) <= STAYS:
        return said("shown", f"{told}: it decreases slowly")
    floor = lowest(known)
    if floor is not None and own.losses[0] <= floor * 1.1:
        return said("shown", f"{told}; with these targets it cannot go much below {number(floor)}")
    if wrong:
        tried = ", not even with other learning rates" if len(runs) > 1 else ""
        return said("failed", f"{told}: it does not decrease{tried}", then=wrong, about=("does not fall",))
    alive = 1 - checks.dead
    told += f": it does not decrease, {'although' if alive >= DEAD else 'and only'} {alive:.0%}"
    told += " of the weights get gradients and change"
    return said(
        "shown", f"{told}; the model may be too small, or labels and inputs may not belong together", then=checks.first
    )


def _too_faint(stage: Stage, runs: list[Attempt], told: str, said: Result, checks: Wiring) -> dict[str, Any]:
    """No weight changes by what a number of single precision resolves."""
    size = f"an update changes the weights by about {number(checks.step or 0.0)} of their size"
    told += f": it does not decrease, as {size}: the learning rate {number(stage.rate)} is too low"
    better = [run for run in runs[1:] if run.ratio <= LEARNS]
    if better:
        told += f"; with {better[0].rate:g} times as much the loss reaches {number(better[0].losses[-1])}"
    return said("failed", told, then="raise the learning rate, or see learning-rate", about=("steps too small",))


def _hopeless(fitted: Fit, told: str, said: Result, checks: Wiring) -> dict[str, Any]:
    """A model that knows nothing would have a far lower loss."""
    then = _wrong(checks) or "check the scale of the inputs and targets, and the learning rate"
    told += f": a constant prediction reaches {number(fitted.reference)}"
    return said("failed", told, then=then, about=("does not fall",))


def _with_another_rate(stage: Stage, own: Attempt, better: Attempt, told: str, said: Result) -> dict[str, Any]:
    """The loss falls with a multiple of the script's learning rate."""
    rate, high = better.rate, better.rate < 1
    told += f", and to {number(better.losses[-1])} with {rate:g} times the learning rate {number(stage.rate)}"
    kind = "steps too large" if high else "steps too small"
    if high and own.ratio > 1 and not own.short:
        then = f"divide the learning rate by {1 / rate:g}, or see learning-rate"
        return said("failed", f"{told}: the learning rate is too high", then=then, about=(kind,))
    which = "high" if high else "low"
    return said(
        "shown", f"{told}: the model can learn, but the learning rate is {which} for a single batch", about=(kind,)
    )


def _wrong(checks: Wiring) -> str:
    """The first wrong check of the wiring, where it concerns nearly all weights."""
    return checks.first if checks.dead >= DEAD else ""


def _alike(known: Roles, run: Attempt) -> bool:
    """Whether the best constant answer would do as well as memorising."""
    best = constant(known)
    nothing = run.base if known.task == "numbers" else min(run.base, knowing_nothing(known) or run.base)
    return best is not None and best <= MEMORISED * nothing and run.end >= best * CONSTANT
