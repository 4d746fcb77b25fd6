"""Some passes over a few batches: does the loss fall beyond one batch, how do validation and training compare, and what grows?"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from ..analysis import Rows
from ..curves import FALLS, Curves
from ..labelling import labelled
from ..magnitude import middle
from ..regularizing import Regularization, facts
from ..roles import roles
from ..sampling import samples, validation
from ..stage import Short, Skip
from ..telling import Faults, count, fact, line, listed, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

PASSES, STEPS = 2, 192
"""Passes over the batches: at least these, and as many as these optimizer steps take."""
POINTS = 5  # times that both sets are evaluated
UNTRAINED = 8  # batches of which the loss before training is taken
DIVERGED = 3.0  # times the loss before training, as the mean of a pass
ALIVE = 3  # graphs that live on after a step, at most: those of the step itself
KEPT = 0.9  # of the graphs: what lets go of them now and then holds fewer
FEWEST = 16  # steps without which growth is not judged
SLOWER = 2.0  # times as long, for the last steps as for the first
NOTICED = 0.02  # seconds that a step has to be longer by
RETAINED = 4096  # bytes that a step has to leave behind, in each quarter: what takes time must be somewhere


class Subset:
    """What was measured: losses before, in and after training, seconds and memory by step, graphs that live on."""

    def __init__(self) -> None:
        self.untrained: list[float] = []
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.worked: list[float] = []
        self.memory: list[int] = []
        self.means: list[float] = []
        self.alive = 0

    @property
    def before(self) -> float:
        """The mean loss before training; 0 where it is not known."""
        return sum(self.untrained) / len(self.untrained) if self.untrained else 0.0


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Train on the batches of the subset with the script's own step, and evaluate between the passes.

    Fails if graphs are kept, steps take longer and longer, or the loss becomes non-finite or far larger. Passes if the loss on
    the subset falls. How the curves are read (`Curves.reading`) is no failure: any model may overfit, or need more
    steps. Where they show overfitting or no learning, the result is shown, with what to try.
    """
    found = samples(stage, stage.left * 0.2)
    if not found or found[0].loader is not stage.loader or stage.loader is None:
        raise Skip("the step does not use a batch of a data loader that can be read again")
    known = yield from roles(stage)
    training, other = found[0], validation(stage, found)
    subset, curves = Subset(), Curves(known, training, other, several=len(stage.optimizers) > 1)
    yield from _untrained(stage, training.batches[:UNTRAINED], subset)
    yield from curves.measure(stage, 0, stage.left * 0.1)
    stage.natural = True
    stage.observer.watches_graphs(start=True)
    try:
        yield from _train(stage, subset, curves)
        stage.start.plain.let_go()
        subset.alive = stage.observer.graphs_alive()
    finally:
        stage.natural = False
        stage.observer.watches_graphs(start=False)
    if not subset.losses:
        raise Short("no step fit into the time limit")
    rows = Rows(stage, known)
    for sample in (training, other):
        if sample is not None:
            yield from rows.look(sample, stage.left * 0.4)
    stage.notes["rows"] = rows
    held = None
    if curves.reading == "overfitting":
        held = Regularization(stage)
        yield from held.look()
    return _judged(stage, subset, curves, held, rows)


def _train(stage: Stage, subset: Subset, curves: Curves) -> Generator[Play, Seen, None]:
    """The passes: two, and more where the time allows, with both sets evaluated at `POINTS` of them."""
    batches, limit = curves.training.batches, stage.left * 0.3
    passes = max(PASSES, STEPS // len(batches))
    told = {round(passes * (place + 1) / POINTS) for place in range(POINTS)} | {1, 2, passes}
    for turn in range(1, passes + 1):
        own: list[float] = []
        for batch in batches:
            if stage.left < limit:
                break
            seen = yield from stage.play(batch)
            if seen.loss is None:
                raise Skip("`backward()` was never called on a loss")
            own.append(seen.loss)
            subset.losses.append(seen.loss)
            subset.seconds.append(seen.seconds)
            subset.worked.append(seen.worked)
            subset.memory.append(_resident())
        if len(own) == len(batches) or (own and not subset.means):
            subset.means.append(sum(own) / len(own))
        late = len(own) < len(batches)
        if own and (turn in told or late):
            yield from curves.measure(stage, len(subset.losses), max(0.5, stage.left - limit) * 0.3)
        if late:
            return


def _untrained(stage: Stage, batches: list[Any], subset: Subset) -> Generator[Play, Seen, None]:
    """The losses with the weights that the script begins with; training goes on from there."""
    stage.begin_anew()
    until = stage.left * 0.9
    for batch in batches:
        if stage.left < until:
            break
        seen = yield from stage.play(batch, frozen=True)
        if seen.loss is not None:
            subset.untrained.append(seen.loss)
    stage.restore()
    stage.begin_anew()


def _judged(stage: Stage, subset: Subset, curves: Curves, held: Regularization | None, rows: Rows) -> dict[str, Any]:
    steps = len(subset.losses)
    quarter = max(1, steps // 4)
    early, late = _ends(subset.seconds, quarter)
    grown = (subset.memory[-1] - subset.memory[steps // 2]) / max(1, steps - steps // 2)
    evidence = [
        fact("rows", curves.training.rows()),
        fact("optimizer steps", steps),
        fact("training loss before the first optimizer step", subset.before if subset.untrained else None),
        *_by_epoch("training loss", subset.means),
        *_by_epoch("validation loss", curves.losses(curves.name)[1:], len(subset.means)),
        *curves.facts(),
        fact("time of the first steps", early, "s"),
        fact("time of the last steps", late, "s"),
        fact("memory added per step, in the second half", int(grown), "bytes"),
        fact("graphs of earlier steps still alive", subset.alive, expected="1 or 2"),
    ]
    ends = [subset.means[0], subset.means[-1]][: len(subset.means)]
    told = f"training loss {' → '.join(map(number, ends))}"
    plots = [
        plot("Training on a small subset", "lines", told, x_label="step", y_label="loss",
             series=[line("training", subset.losses)]),
        *curves.plots(),
        plot("Time of each step", "lines", f"from {number(early)} to {number(late)} s", x_label="step", y_label="seconds",
             series=[line("seconds", subset.seconds)]),
    ]  # fmt: skip
    wrong = _grows(stage, subset, bool(curves.known.task))
    if wrong:
        then = "look for values retained between steps: lists, sums of losses, hidden states that are not detached"
        if not all(map(math.isfinite, subset.losses)):
            then = "see non-finite for where the first such value appears"
        elif wrong.about == ("steps too large",):
            then = "check the learning rate and the scale of the model's inputs"
        return result("failed", f"{told}; {wrong}", evidence, plots, then=then, about=wrong.about)
    if "values" in stage.voided:
        return result("shown", f"{told}; the data is made up", evidence, plots)
    told = curves.told() or told
    if held is not None:
        evidence += facts(held, held.advice(curves))
    return _read(stage, subset, curves, held, rows, told, evidence, plots)


def _by_epoch(label: str, values: list[float], last: int = 0) -> list[dict[str, Any]]:
    """The first and the last value, of the first and of the `last` pass."""
    ends = [(1, values[0])] if values else []
    ends += [(last or len(values), values[-1])] if len(values) > 1 else []
    return [fact(label, value, group=f"epoch {place}") for place, value in ends]


def _grows(stage: Stage, subset: Subset, known: bool) -> Faults:  # noqa: FBT001 - whether the kind of loss is known
    """What is wrong with the steps themselves."""
    wrong, steps = Faults(), len(subset.losses)
    if subset.alive > max(ALIVE, KEPT * steps):
        kept = f"the graphs of {subset.alive} of {count(steps, 'step')} are still alive: losses or outputs are retained"
        wrong.add(kept, "kept graphs")
    quarter = max(1, steps // 4)
    if steps >= FEWEST and _slower(stage, subset, quarter):
        early, late = _ends(subset.seconds, quarter)
        wrong.add(f"a step takes {number(late)} s at the end and {number(early)} s at the start", "slower")
    if not all(map(math.isfinite, subset.losses)):
        wrong.add("the loss becomes non-finite after some steps", "not finite")
    elif known and _diverges(stage, subset):
        stage.notes["diverges"] = True
        rises = f"the loss rises from {number(subset.before)} before training to {number(max(subset.losses))}"
        wrong.add(f"{rises}: the steps are too large", "steps too large")
    return wrong


def _read(
    stage: Stage,
    subset: Subset,
    curves: Curves,
    held: Regularization | None,
    rows: Rows,
    told: str,
    evidence: list[dict[str, Any]],
    plots: list[dict[str, Any]],
) -> dict[str, Any]:
    """What the curves say of a script whose steps are right."""
    falls = len(subset.means) > 1 and subset.means[-1] < subset.means[0]
    falls &= not subset.untrained or subset.means[-1] < subset.before
    reading, then = curves.reading, ""
    if reading == "overfitting":
        told += f"; {curves.overfits}"
        told += ", as is normal for so few samples" * (not curves.training.whole)
        then = f"where it overfits on all data too, try in this order: {listed(held.advice(curves))}" if held else ""
    elif reading == "underfitting":
        told += f"; underfitting: the training loss falls by less than {FALLS:.0%}"
        then = "train longer, raise the learning rate, or use a larger model"
    elif reading in {"fitting", "learning"}:
        told += f"; {'both losses fall' if reading == 'fitting' else 'the training loss falls'}"
    unrelated, unlearned = curves.unrelated, curves.unlearned if reading == "underfitting" else ""
    if unlearned:
        told += f"; {unlearned}: it may need more steps, or labels and inputs may not belong together"
        then += "; check that each sample has its own label"
    if unrelated:
        told += (
            f"; {unrelated}: the subset is too small to generalize from, or labels and inputs may not belong together"
        )
    if unrelated or reading == "underfitting":
        plots += labelled(stage, curves.known, rows)
    good = falls and reading not in {"overfitting", "underfitting"} and not unrelated
    return result("passed" if good else "shown", told, evidence, plots, then=then)


def _diverges(stage: Stage, subset: Subset) -> bool:
    """Whether training makes the loss far larger than it is without, with the rate that the script's first updates have."""
    usual = (
        stage.observer.rates.get((id(optimizer), place), group["lr"]) == group["lr"]
        for optimizer in stage.optimizers
        for place, group in enumerate(optimizer.param_groups)
        if "lr" in group
    )
    trained = bool(subset.means) and subset.means[0] > DIVERGED * subset.before
    return trained and subset.before > 0 and "values" not in stage.voided and all(usual)


def _slower(stage: Stage, subset: Subset, quarter: int) -> bool:
    """Whether steps take longer and longer, and leave more and more behind.

    On a CPU they have to work longer. That alone proves nothing: what others do on the machine slows down the work itself, too.
    """
    marks = subset.memory[:: max(1, quarter)]
    left = (marks[place + 1] - mark for place, mark in enumerate(marks[:-1]))
    if subset.alive <= ALIVE and any(each < RETAINED * quarter for each in left):
        return False
    clocks = [subset.seconds] if stage.torch.cuda.is_initialized() else [subset.seconds, subset.worked]
    ends = [_ends(clock, quarter) for clock in clocks]
    return all(late > SLOWER * early and late - early > NOTICED for early, late in ends)


def _ends(clock: list[float], quarter: int) -> tuple[float, float]:
    """The usual time of the first steps, and of the last ones."""
    return middle(clock[1 : quarter + 1] or clock), middle(clock[-quarter:])


def _resident() -> int:
    """The memory of this process, in bytes; 0 where nobody can tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
