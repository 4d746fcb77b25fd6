"""Two passes over a few batches: does the loss fall beyond one batch, and what grows?"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from ..analysis import Rows
from ..roles import roles
from ..sampling import samples, validation
from ..stage import Short, Skip
from ..telling import Faults, count, fact, line, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

PASSES, EVALUATED = 2, 8
UNTRAINED = 8  # batches of which the loss before training is taken
DIVERGED = 3.0  # times the loss before training, as the mean of a pass
RISES = 1.05  # times the validation loss after the first pass
KEPT = 0.9  # of the graphs: what lets go of them now and then holds fewer
FEWEST = 16  # steps without which growth is not judged
SLOWER = 2.0  # times as long, for the last steps as for the first
NOTICED = 0.02  # seconds that a step has to be longer by


class Subset:
    """What was measured: losses before, in and after training, seconds and memory by step, graphs that live on."""

    def __init__(self) -> None:
        self.untrained: list[float] = []
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.worked: list[float] = []
        self.memory: list[int] = []
        self.means: list[float] = []
        self.evaluated: list[float] = []
        self.alive = 0

    @property
    def before(self) -> float:
        """The mean loss before training; 0 where it is not known."""
        return sum(self.untrained) / len(self.untrained) if self.untrained else 0.0


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Trains on the batches of the subset with the script's own step, and evaluates between the passes."""
    found = samples(stage, stage.left * 0.2)
    if not found or found[0].loader is not stage.loader or stage.loader is None:
        raise Skip("the step does not use a batch of a data loader that can be read again")
    known = yield from roles(stage)
    training, other = found[0], validation(stage, found)
    subset = Subset()
    limit = stage.left * 0.3
    yield from _untrained(stage, training.batches[:UNTRAINED], subset)
    stage.natural = True
    stage.observer.watches_graphs(start=True)
    try:
        for _ in range(PASSES):
            before = len(subset.losses)
            for batch in training.batches:
                if stage.left < limit:
                    break
                seen = yield from stage.play(batch)
                if seen.loss is None:
                    raise Skip("`backward()` was never called on a loss")
                subset.losses.append(seen.loss)
                subset.seconds.append(seen.seconds)
                subset.worked.append(seen.worked)
                subset.memory.append(_resident())
            own = subset.losses[before:]
            if len(own) == len(training.batches) or (own and not subset.means):
                subset.means.append(sum(own) / len(own))
            if other is not None:
                yield from _evaluated(stage, other.batches[:EVALUATED], subset)
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
            yield from rows.look(sample, stage.left * 0.5)
    stage.notes["rows"] = rows
    return _judged(stage, subset, found[0].rows(), known=bool(known.task))


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


def _evaluated(stage: Stage, batches: list[Any], subset: Subset) -> Generator[Play, Seen, None]:
    losses: list[float] = []
    until = stage.left * 0.7
    for batch in batches:
        if stage.left < until:
            break
        seen = yield from stage.play(batch, evaluate=True)
        if seen.loss is not None:
            losses.append(seen.loss)
    if losses:
        subset.evaluated.append(sum(losses) / len(losses))


def _judged(stage: Stage, subset: Subset, rows: int, *, known: bool) -> dict[str, Any]:
    steps = len(subset.losses)
    quarter = max(1, steps // 4)
    early, late = _ends(subset.seconds, quarter)
    grown = (subset.memory[-1] - subset.memory[steps // 2]) / max(1, steps - steps // 2)
    evidence = [
        fact("rows", rows),
        fact("optimizer steps", steps),
        fact("training loss before the first optimizer step", subset.before if subset.untrained else None),
        *[fact("training loss", mean, group=f"epoch {place + 1}") for place, mean in enumerate(subset.means)],
        *[fact("validation loss", mean, group=f"epoch {place + 1}") for place, mean in enumerate(subset.evaluated)],
        fact("time of the first steps", early, "s"),
        fact("time of the last steps", late, "s"),
        fact("memory added per step, in the second half", int(grown), "bytes"),
        fact("graphs of earlier steps still alive", subset.alive, expected="1 or 2"),
    ]
    told = f"training loss {' → '.join(map(number, subset.means))}"
    if subset.evaluated:
        told += f", validation loss {' → '.join(map(number, subset.evaluated))}"
    places = [float((place + 1) * steps / max(1, len(subset.evaluated))) for place in range(len(subset.evaluated))]
    series = [line("training", subset.losses)]
    series += [line("validation", subset.evaluated, places)] if subset.evaluated else []
    plots = [
        plot("Two epochs on a small subset", "lines", told, x_label="step", y_label="loss", series=series),
        plot("Time of each step", "lines", f"from {number(early)} to {number(late)} s", x_label="step", y_label="seconds",
             series=[line("seconds", subset.seconds)]),
    ]  # fmt: skip
    wrong = Faults()
    if subset.alive > max(3, KEPT * steps):
        kept = f"the graphs of {subset.alive} of {count(steps, 'step')} are still alive: losses or outputs are retained"
        wrong.add(kept, "kept graphs")
    if steps >= FEWEST and _slower(stage, subset, quarter):
        wrong.add(f"a step takes {number(late)} s at the end and {number(early)} s at the start", "slower")
    if not all(map(math.isfinite, subset.losses)):
        wrong.add("the loss becomes non-finite after some steps", "not finite")
    elif known and _diverges(stage, subset):
        stage.notes["diverges"] = True
        rises = f"the loss rises from {number(subset.before)} before training to {number(max(subset.losses))}"
        wrong.add(f"{rises}: the steps are too large", "steps too large")
    if wrong:
        then = "look for values retained between steps: lists, sums of losses, hidden states that are not detached"
        if not all(map(math.isfinite, subset.losses)):
            then = "see non-finite for where the first such value appears"
        elif wrong.about == ("steps too large",):
            then = "check the learning rate and the scale of the model's inputs"
        return result("failed", f"{told}; {wrong}", evidence, plots, then=then, about=wrong.about)
    if "values" in stage.voided:
        return result("shown", f"{told}; the data is made up", evidence, plots)
    falls = len(subset.means) > 1 and subset.means[-1] < subset.means[0]
    falls &= not subset.untrained or subset.means[-1] < subset.before
    if len(subset.evaluated) > 1 and subset.evaluated[-1] > RISES * subset.evaluated[0] > 0:
        return result("shown", f"{told}, which rises", evidence, plots)
    return result("passed" if falls else "shown", told, evidence, plots)


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
    """Whether steps take longer and longer; on a CPU, work longer: a busy machine lets all of them wait."""
    clocks = [subset.seconds] if stage.torch.cuda.is_initialized() else [subset.seconds, subset.worked]
    ends = [_ends(clock, quarter) for clock in clocks]
    return all(late > SLOWER * early and late - early > NOTICED for early, late in ends)


def _ends(clock: list[float], quarter: int) -> tuple[float, float]:
    """The usual time of the first steps, and of the last ones."""
    return _median(clock[1 : quarter + 1] or clock), _median(clock[-quarter:])


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def _resident() -> int:
    """The memory of this process, in bytes; 0 where nobody can tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
