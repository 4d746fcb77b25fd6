"""How a loader feeds the step: the seconds of a batch, what in it takes them, and what its workers would do."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .fetching import Fetching
from .keeping import Chance
from .magnitude import middle
from .telling import count, fact

if TYPE_CHECKING:
    from .stage import Stage

BATCHES = 16
LOOKED_AT = 4
"""Batches in which every call of the script is timed."""
WORKERS = (0, 1, 2, 4)
LOADER = "loading a batch"
SHARE = 0.5
"""The part of a batch's time from which on one function is said to take most of it."""
MOST = 8
DEEP, MANY = 4, 1_000


class Loading:
    """What was measured: `seconds` of a batch without workers, None where there is none, and the `parts` of it.

    `parts` are functions of the script and transforms with their share of the time, the largest first. `asked` is the number of
    workers that the script asks for, whatever stands in for them.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.loader = stage.loader
        self.seconds: float | None = None
        self.parts: list[tuple[str, float]] = []
        self.asked = self._asked()

    def measure(self, seconds: float) -> None:
        """Takes some batches; random numbers are as they were before."""
        loader, torch = self.loader, self._stage.torch
        if loader is None or isinstance(getattr(loader, "dataset", None), torch.utils.data.IterableDataset):
            return
        chance = Chance(torch, _generators(loader))
        try:
            self.seconds = _batch_seconds(loader, seconds * 0.7)
            if self.seconds is not None and self.seconds * 4 < seconds:
                self.parts = self._look(loader, seconds * 0.3)
        finally:
            chance.restore()

    def _look(self, loader: Any, seconds: float) -> list[tuple[str, float]]:
        """The parts of the time of some batches behind the first."""
        iterator = iter(loader)
        next(iterator, None)
        found = Fetching(self._stage.torch, self._stage.recorder.sites.is_users)
        took = 0.0
        with suppress(StopIteration):
            for _ in range(LOOKED_AT):
                took += found.run(iterator.__next__)  # `next` is no function whose calls are told apart
                if took > seconds:
                    break
        return [(name, share) for name, share in found.largest(MOST) if share >= 0.01]

    def _asked(self) -> int | None:
        known = self._stage.watch.loaders.known if self.loader is not None else {}
        told = known.get(self._stage.recorder.references.number(self.loader)) if self.loader is not None else None
        return int(told[1]) if told is not None else None

    def by_workers(self) -> dict[int, float]:
        """The seconds of a batch by the number of workers: with none as measured, with some as an estimate.

        The guard rails keep workers out: with some, each batch takes its part of the time, as far as there are cores.
        """
        if self.seconds is None:
            return {}
        return {workers: self.seconds / min(max(1, workers), cores()) for workers in WORKERS}

    @property
    def own(self) -> float | None:
        """The seconds of a batch with the workers that the script asks for: an estimate where it asks for some."""
        return None if self.seconds is None else self.seconds / min(max(1, self.asked or 0), cores())

    @property
    def dominant(self) -> str:
        """What takes most of the time of a batch, in words; "" where nothing does."""
        name, share = next(iter(self.parts), ("", 0.0))
        return f"{name} takes {share:.0%} of the loading time" if share >= SHARE else ""

    def crowd(self) -> str:
        """That more workers are asked for than there are cores; "" where that is not so."""
        asked = self.asked or 0
        return f"{asked} workers are requested, but {count(cores(), 'core')} {_is_or_are(cores())} available" * (
            asked > cores()
        )

    def facts(self, *, made_up: bool) -> list[dict[str, Any]]:
        """All of that as evidence; made-up data says nothing of where the time of its samples goes."""
        found = [
            fact(f"with {count(workers, 'worker')}{', estimated' * (workers > 0)}", value, "s", group=LOADER)
            for workers, value in self.by_workers().items()
        ]
        found += [
            fact("workers requested by the script", self.asked, group=LOADER),
            fact("cores", cores(), group=LOADER),
        ]
        if not made_up:
            group = "share of the time of loading a batch"
            found += [fact(name, 100 * share, "%", group=group) for name, share in self.parts]
            found += self._copies()
        found += self._pinned()
        return found

    def _copies(self) -> list[dict[str, Any]]:
        """The memory of what the data set holds, once and in all workers; none where it has no workers."""
        dataset = getattr(self.loader, "dataset", None)
        if not self.asked or dataset is None:
            return []
        arrays, objects = _held(dataset, DEEP, set())
        group = "memory of the data set"
        return [
            fact("tensors and arrays", arrays, "bytes", group=group),
            fact("lists, dicts and other Python objects, estimated", objects, "bytes", group=group),
            fact(
                f"Python objects copied to {count(self.asked, 'worker')}, at most",
                objects * self.asked,
                "bytes",
                group=group,
            ),
        ]

    def _pinned(self) -> list[dict[str, Any]]:
        """Whether batches are pinned, where the model is on a CUDA device; elsewhere that has no meaning."""
        model = self._stage.model
        first = next(iter(model.parameters()), None) if model is not None else None
        if self.loader is None or first is None or first.device.type != "cuda":
            return []
        return [fact("`pin_memory`", bool(self.loader.pin_memory), expected="yes, on CUDA", group=LOADER)]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_or_are(many: int) -> str:
    return "is" if many == 1 else "are"


def _generators(loader: Any) -> tuple[Any, ...]:
    """The generators that a loader and its samplers draw from."""
    inner = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    return tuple(getattr(each, "generator", None) for each in (loader, getattr(loader, "sampler", None), inner))


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
    return middle(took) if took else None


def _held(value: Any, deep: int, known: set[int]) -> tuple[int, int]:
    """Bytes of the tensors and arrays in a value, and of its other objects, of which only the first ones are looked at."""
    if id(value) in known or isinstance(value, type):
        return 0, 0
    known.add(id(value))
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size, 0
    if callable(size):  # what has a method of that name
        return 0, 0
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    elif hasattr(value, "__dict__"):
        inner = list(vars(value).values())
    arrays, objects = 0, sys.getsizeof(value, 0)
    if not deep or not inner:
        return arrays, objects
    looked = inner[:MANY]
    for each in looked:
        one, other = _held(each, deep - 1, known)
        arrays += one
        objects += other * len(inner) // len(looked)
    return arrays, objects
