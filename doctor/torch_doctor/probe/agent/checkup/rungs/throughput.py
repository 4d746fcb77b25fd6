"""How fast are the loader and the step, what waits for what, where does the step's time go, and what takes the memory?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..batches import rows
from ..loading import Loading
from ..memory import StepMemory
from ..peaks import Peaks
from ..plays import PARTS
from ..stage import Short
from ..telling import Result, fact, line, number, plot

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

STEPS = 12
SLOW, WAITS = 0.05, 2.0
"""Seconds that a batch takes before it matters, and how often longer than a step."""
DATA, OUTSIDE, MOSTLY = "data", "other", 0.6
"""What goes before a step, what a step does besides its parts, and how much of it is much."""
OPERATIONS = 6
AGAIN = 2.0
"""How many times as long as a step one takes in which everything is looked at."""


class Pace:
    """How fast the step is: its seconds, those of each part, and what it means for a sample and for an epoch.

    `rows` are the samples of an update, `update` its seconds with the data for it, `epoch` those of a pass over the data, None
    where nobody can tell. With workers that keep up, loading costs nothing; without them each batch is waited for.
    """

    def __init__(self, stage: Stage, usual: Seen, loading: Loading) -> None:
        self.step = usual.seconds
        self.spent = dict(usual.spent)
        self.spent[OUTSIDE] = max(0.0, self.step - sum(self.spent.values()))
        self.rows = rows(stage.batch) * stage.passes if stage.batch is not None else 0
        batches = _length(stage.loader)
        waits = loading.own or 0.0
        waits *= stage.passes  # a step may take several batches
        self.update = max(self.step, waits) if loading.asked else self.step + waits
        self.updates = batches / stage.passes
        known = batches and loading.own is not None and not stage.voided & {"values", "shapes"}
        self.epoch = self.updates * self.update if known else None

    def facts(self) -> list[dict[str, Any]]:
        """All of that as evidence."""
        found = [fact("step", self.step, "s"), fact("steps per second", 1 / self.step)]
        if self.rows:
            found += [
                fact("samples per step", self.rows),
                fact("samples per second, data included", self.rows / self.update),
            ]
        if self.epoch is not None:
            found += [
                fact("steps per epoch", self.updates),
                fact("time for an epoch, without validation", self.epoch, "s"),
            ]
        return [*found, *_times(self.spent, "parts of the step")]

    def words(self) -> str:
        """What it means, in words; "" where nobody can tell."""
        more = [f"{self.rows / self.update:,.0f} samples per second"] if self.rows else []
        if self.epoch is not None:
            more.append(f"about {time_of(self.epoch)} per epoch")
        return ", ".join(more)

    def profile(self, loading: Loading) -> dict[str, Any]:
        """The bars of a step: the data first, where its time is known."""
        seconds = {} if loading.own is None else {DATA: loading.own}
        seconds.update(self.spent)
        said = ", ".join(f"{part} {number(value * 1000)} ms" for part, value in seconds.items())
        bars = [line("ms", [value * 1000 for value in seconds.values()])]
        return plot("Time of a step by part", "bars", said, y_label="ms", names=list(seconds), series=bars)


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Measures the loader alone, then the step alone, then one step with torch's profiler."""
    loading = Loading(stage)
    loading.measure(stage.left * 0.4)
    made: list[Seen] = []
    steps, limit = 0, stage.left * 0.4
    while steps < STEPS and stage.left > limit:
        seen = yield from stage.play()
        if steps or stage.left < limit:  # the first one warms up
            made.append(seen)
        steps += 1
    if not made:
        raise Short("no step fit into the time limit")
    usual = sorted(made, key=lambda seen: seen.seconds)[len(made) // 2]  # the parts add up in one step alone
    pace, memory = Pace(stage, usual, loading), StepMemory(stage)
    operations: list[tuple[str, float]] = []
    highest: list[dict[str, Any]] = []
    if stage.left > AGAIN * pace.step:
        yield from memory.measure()
    if stage.left > AGAIN * pace.step:
        operations, highest = yield from _profiled(stage)
    made_up = bool(stage.voided & {"values", "shapes"})
    advice = memory.advice()
    evidence = [
        *pace.facts(),
        *loading.facts(made_up=made_up),
        *stage.catcher.births.facts(),
        *memory.facts(),
        *highest,
        *_times(dict(operations), "slowest operations of a step"),
        *memory.batch(),
        *(memory.layers.facts() if memory.parts else []),
        *([fact("to use less memory, in this order", advice, group="memory")] if advice else []),
    ]
    beside = [each for each in (loading.crowd(), stage.catcher.births.words()) if each]
    return _judged(pace, loading, beside, Result(evidence, [pace.profile(loading)]), made_up=made_up)


def _judged(pace: Pace, loading: Loading, beside: list[str], said: Result, *, made_up: bool) -> dict[str, Any]:
    own, step = loading.own, pace.step
    told = f"a step takes {number(step * 1000)} ms"
    if own is not None and made_up:
        told += f", loading a batch of synthetic data {number(own * 1000)} ms (the script's own data was not found)"
    elif own is not None:
        told += f", loading a batch {number(own * 1000)} ms"
        told += ": the step waits for data" if own > step else ": the data is ready in time"
        if loading.asked:
            told += f" ({_workers(loading.asked)}, estimated)"
        told += f"; {pace.words()}" * bool(pace.words())
        dominant = loading.dominant if own > step or own > SLOW else ""
        told += f"; {dominant}" * bool(dominant)
        if not loading.asked and own > WAITS * step and own > SLOW:
            look = (
                f"look at {dominant.partition(' takes ')[0]}" if dominant else "check what the dataset does per sample"
            )
            then = f"{look}, and set `num_workers` on the loader"
            return said("failed", f"{told} (no workers)", then=then, about=("loader",))
    told = "; ".join([told, *beside])
    if pace.spent[OUTSIDE] > MOSTLY * step and pace.spent[OUTSIDE] > SLOW:
        told += (
            f"; {pace.spent[OUTSIDE] / step:.0%} of the step is spent outside model, loss, backward pass and optimizer"
        )
        then = "check what else the loop does: reading values from tensors, writing files, looping over samples"
        return said("failed", told, then=then, about=("loop",))
    return said("passed", told)


def time_of(seconds: float) -> str:
    """A time as people say it: in milliseconds, seconds, minutes or hours."""
    for most, size, unit in ((1.0, 0.001, "ms"), (120.0, 1.0, "s"), (7200.0, 60.0, "min")):
        if seconds < most:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 3600:.0f} h"


def _workers(many: int) -> str:
    return f"{many} worker{'s' * (many != 1)}"


def _length(loader: Any) -> int:
    """The batches of a pass over a loader; 0 where nobody can tell."""
    try:
        return len(loader) if loader is not None else 0
    except Exception:  # noqa: BLE001 - a length is the user's code
        return 0


def _times(seconds: dict[str, float], group: str) -> list[dict[str, Any]]:
    return [fact(name, value, "s", group=group) for name, value in seconds.items()]


def _profiled(stage: Stage) -> Generator[Play, Seen, tuple[list[tuple[str, float]], list[dict[str, Any]]]]:
    """The slowest operations of a step, and the peak of the memory by part."""
    peaks = Peaks(stage.torch)
    try:
        from torch.profiler import ProfilerActivity, profile

        made: Any = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
        made.start()
    except Exception:  # noqa: BLE001 - a torch without it
        return [], []
    try:
        yield from stage.play(peaks=peaks)
    finally:
        made.stop()
    stage.recorder.safely(peaks.read, made)
    found = [
        (each.key, each.self_cpu_time_total / 1e6)
        for each in made.key_averages()
        if not each.key.startswith(("ProfilerStep", "Optimizer.", "[", "torch_doctor"))
    ]
    group = "peak memory of the step, beyond what was allocated before"
    told = [fact(part, peaks.found[part], "bytes", group=group) for part in PARTS if part in peaks.found]
    return sorted(found, key=lambda pair: -pair[1])[:OPERATIONS], told
