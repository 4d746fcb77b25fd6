"""Climbs the ladder: one rung after the other, each in its share of the time, each told when it is done."""

from __future__ import annotations

import importlib
import os
import traceback
from time import monotonic
from typing import TYPE_CHECKING, Any

from .pacing import LEAST, SHARES, Pacing
from .stage import Short, Skip
from .telling import clean, result, without_samples

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .stage import Stage

WITHOUT_STEPS = frozenset({"inspect", "metric", "receipt", "terms"})
"""Rungs that can say something where no step can be repeated."""
WITHOUT_TIME = frozenset({"errors", "metric", "receipt", "terms"})
"""Rungs that take next to no time, and are climbed also where the others have taken all of it."""
MEANINGLESS = {"small-subset": "overfit-one-batch", "errors": "overfit-one-batch"}
"""Rungs that mean nothing where another one failed: a model that cannot fit one batch fits no data set."""


class Climb:
    """Goes through the rungs that the plan names."""

    def __init__(self, stage: Stage, plan: dict[str, Any]) -> None:
        self._stage = stage
        self._pacing = Pacing(stage.recorder.caps, plan)
        wanted = plan.get("rungs") or list(SHARES)
        self._rungs = [name for name in SHARES if name in wanted]
        self._every = bool(plan.get("every"))
        self._samples = bool(plan.get("samples", True))
        self._failed: set[str] = set()
        self._now = ""
        self._began = monotonic()
        self._climbing = self._climb()

    def next(self, seen: Seen | None) -> Play | None:
        """How the step is to be repeated next; None where the climb is over."""
        self._pacing.take(seen)
        try:
            return self._climbing.send(seen)
        except StopIteration:
            return None

    def without_steps(self, why: str, *, late: bool = False) -> None:
        """The script repeats its step no more: the rest of the rungs say what they can say without it.

        `late`: the time is over; then each says what it would have cost.
        """
        if self._now:
            self._climbing.close()
            self._tell(self._now, result("skipped", self._costs(self._now, why) if late else why))
        for name in list(self._rungs):
            self._begin(name)
            if name not in WITHOUT_STEPS and not (name == "errors" and "rows" in self._stage.notes):
                self._tell(name, result("skipped", self._costs(name, why) if late else why))
                continue
            climbing = self._one(name)
            try:
                next(climbing)
                climbing.throw(Skip(why))
            except StopIteration:
                continue
            except Skip:
                pass
            self._tell(name, result("skipped", why))

    def _costs(self, name: str, why: str) -> str:
        """Why a rung has no time, with what it would cost."""
        missing = self._pacing.missing(name)
        return f"{why}: {missing}" if missing else why

    def _climb(self) -> Generator[Play, Any, None]:
        while self._rungs:
            name = self._rungs[0]
            self._begin(name)
            yield from self._one(name)

    def _begin(self, name: str) -> None:
        self._now, self._began = name, monotonic()
        self._stage.deadline = self._pacing.begin(name, self._rungs)
        self._rungs.remove(name)
        self._stage.catcher.norms.rung = name
        self._stage.recorder.channel.write(t="climbing", rung=name)
        self._stage.recorder.channel.flush()

    def _one(self, name: str) -> Generator[Play, Any, None]:
        stage = self._stage
        try:
            before = MEANINGLESS.get(name, "")
            if before in self._failed and not self._every:
                raise Skip(f"not meaningful until {before} passes (--all runs it anyway)")
            if stage.left < LEAST and name not in WITHOUT_TIME:
                raise Short("not enough time left")
            module: Any = importlib.import_module(f".rungs.{name.replace('-', '_')}", __package__)
            found = yield from module.climb(stage)
        except Short as short:
            found = result("skipped", self._costs(name, str(short)))
        except Skip as skip:
            found = result("skipped", str(skip))
        except Exception as error:  # noqa: BLE001 - a fault of ours is not one of the script
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}:{place.lineno}"
            found = result("skipped", f"the checkup itself failed: {type(error).__name__}: {error} (in {where})")
        stage.restore()
        self._tell(name, found)

    def _tell(self, name: str, found: dict[str, Any]) -> None:
        self._now = ""
        if found["status"] == "failed":
            self._failed.add(name)
        if not self._samples:
            found = {**found, "plots": without_samples(found["plots"])}
        seconds = round(monotonic() - self._began, 3)
        self._stage.recorder.channel.write(t="rung", name=name, seconds=seconds, **clean(found))
        self._stage.recorder.channel.flush()
