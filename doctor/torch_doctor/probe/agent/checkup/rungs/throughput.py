"""How fast are the loader and the step, what waits for what, where does the step's time go, and what takes the memory?"""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..batches import rows
from ..keeping import Chance
from ..peaks import Peaks
from ..plays import PARTS
from ..stage import Skip
from ..telling import count, fact, line, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

STEPS, BATCHES = 12, 16
WORKERS = (0, 1, 2, 4)
SLOW, WAITS = 0.05, 2.0
"""Seconds that a batch takes before it matters, and how often longer than a step."""
OUTSIDE, MOSTLY = "other", 0.6
"""What a step does besides its parts, and how much of it is much."""
OPERATIONS = 6
AGAIN = 2.0
"""How many times as long as a step one takes in which everything is looked at."""
LOADER = "loading a batch"


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Measures the loader alone, then the step alone, then one step with torch's profiler."""
    loading = _loading(stage, stage.left * 0.4)
    made: list[Seen] = []
    steps, limit = 0, stage.left * 0.4
    while steps < STEPS and stage.left > limit:
        seen = yield from stage.play()
        if steps or stage.left < limit:  # the first one warms up
            made.append(seen)
        steps += 1
    if not made:
        raise Skip("no step fit into the time limit")
    usual = sorted(made, key=lambda seen: seen.seconds)[len(made) // 2]  # the parts add up in one step alone
    step, spent = usual.seconds, dict(usual.spent)
    spent[OUTSIDE] = max(0.0, step - sum(spent.values()))
    memory: list[dict[str, Any]] = []
    operations: list[tuple[str, float]] = []
    highest: list[dict[str, Any]] = []
    packed = 0
    if stage.left > AGAIN * step:
        memory, packed = yield from _memory(stage)
    if stage.left > AGAIN * step:
        operations, highest = yield from _profiled(stage)
    asked = _asked(stage)
    evidence = [
        fact("step", step, "s"),
        fact("steps per second", 1 / step),
        *_times(spent, "parts of the step"),
        *_times(
            {
                f"with {count(workers, 'worker')}{', estimated' * (workers > 0)}": value
                for workers, value in loading.items()
            },
            LOADER,
        ),
        fact("workers requested by the script", asked, group=LOADER),
        *memory,
        *highest,
        *_times(dict(operations), "slowest operations of a step"),
    ]
    evidence += _largest(stage, packed)
    bars = plot(
        "Time of a step by part",
        "bars",
        ", ".join(f"{part} {number(value * 1000)} ms" for part, value in spent.items()),
        y_label="ms",
        names=list(spent),
        series=[line("ms", [value * 1000 for value in spent.values()])],
    )
    made_up = bool(stage.voided & {"values", "shapes"})
    return _judged(step, spent, loading, asked, evidence, [bars], made_up=made_up)


def _judged(
    step: float,
    spent: dict[str, float],
    loading: dict[int, float],
    asked: int | None,
    evidence: list[dict[str, Any]],
    plots: list[dict[str, Any]],
    *,
    made_up: bool,
) -> dict[str, Any]:
    told = f"a step takes {number(step * 1000)} ms"
    alone = loading.get(0)
    if alone is not None and made_up:
        told += f", loading a batch of synthetic data {number(alone * 1000)} ms (the script's own data was not found)"
    elif alone is not None:
        own = alone / min(max(1, asked or 0), cores())
        told += f", loading a batch {number(own * 1000)} ms"
        waits = "the step waits for data" if own > step else "the data is ready in time"
        told += f": {waits}"
        if asked:
            told += f" ({count(asked, 'worker')}, estimated)"
        elif own > WAITS * step and own > SLOW:
            then = "check what the dataset does per sample, and set `num_workers` on the loader"
            return result("failed", f"{told} (no workers)", evidence, plots, then=then, about=("loader",))
    if spent[OUTSIDE] > MOSTLY * step and spent[OUTSIDE] > SLOW:
        told += f"; {spent[OUTSIDE] / step:.0%} of the step is spent outside model, loss, backward pass and optimizer"
        then = "check what else the loop does: reading values from tensors, writing files, looping over samples"
        return result("failed", told, evidence, plots, then=then, about=("loop",))
    return result("passed", told, evidence, plots)


def _times(seconds: dict[str, float], group: str) -> list[dict[str, Any]]:
    return [fact(name, value, "s", group=group) for name, value in seconds.items()]


def _asked(stage: Stage) -> int | None:
    """How many workers the script asks for, whatever stands in for them."""
    known = stage.watch.loaders._known if stage.loader is not None else {}
    told = known.get(stage.recorder.references.number(stage.loader)) if stage.loader is not None else None
    return int(told[1]) if told is not None else None


def _loading(stage: Stage, seconds: float) -> dict[int, float]:
    """The seconds of a batch, measured without workers, and by the number of workers as an estimate.

    The guard rails keep workers out: with some, each batch takes its part of the time, as far as there are cores.
    """
    loader, torch = stage.loader, stage.torch
    if loader is None or isinstance(getattr(loader, "dataset", None), torch.utils.data.IterableDataset):
        return {}
    chance = Chance(torch)
    try:
        own = _batch_seconds(loader, seconds)
    finally:
        chance.restore()
    if own is None:
        return {}
    return {workers: own / min(max(1, workers), cores()) for workers in WORKERS}


def _batch_seconds(loader: Any, seconds: float) -> float | None:
    """The seconds that a batch behind the first usually takes, as of a step; None where there is none."""
    iterator = iter(loader)
    next(iterator, None)
    took: list[float] = []
    start = last = perf_counter()
    for _ in iterator:
        now = perf_counter()
        took.append(now - last)
        last = now
        if len(took) >= BATCHES or now - start > seconds:
            break
    return sorted(took)[len(took) // 2] if took else None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory(stage: Stage) -> Generator[Play, Seen, tuple[list[dict[str, Any]], int]]:
    """What parameters, gradients, optimizers and what is saved for the backward pass take, in bytes."""
    packed: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        if not tensor.is_sparse:
            packed[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with stage.torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield from stage.play()
    parameters = {id(each): each for module in stage.watch.modules.alive() for each in module.parameters()}
    own = sum(_size(each) for each in parameters.values())
    gradients = sum(_size(each.grad) for each in parameters.values() if each.grad is not None)
    states = sum(
        _size(value)
        for optimizer in stage.optimizers
        for held in optimizer.state.values()
        for value in held.values()
        if isinstance(value, stage.torch.Tensor)
    )
    weights = {each.data_ptr() for each in parameters.values()}
    kept = sum(size for place, size in packed.items() if place not in weights)
    group = "memory"
    return [
        fact("parameters", own, "bytes", group=group),
        fact("gradients", gradients, "bytes", group=group),
        fact("optimizer", states, "bytes", group=group),
        fact("saved for the backward pass", kept, "bytes", group=group),
    ], kept


def _size(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _largest(stage: Stage, kept: int) -> list[dict[str, Any]]:
    """How many rows a batch could have, by what one row keeps for the backward pass."""
    many = rows(stage.batch) if stage.batch is not None else 0
    free = _free(stage)
    if not many or not kept or not free:
        return []
    return [
        fact("largest batch size that would fit, estimated", int(0.8 * free / (kept / many)), group="memory"),
        fact(
            "estimation method",
            "80% of the free memory divided by the memory saved for backward per sample; not tested",
            group="memory",
        ),
    ]


def _free(stage: Stage) -> int:
    torch = stage.torch
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.mem_get_info()[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(row.split()[1]) << 10 for row in file if row.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 0


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
