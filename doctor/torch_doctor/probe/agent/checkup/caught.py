"""What is known of the first update of the script: its loop, what feeds it, and all that takes part."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..identities import IdentityMap, IdentitySet
from .births import Births
from .norms import StepNorms
from .observing import Observer
from .seeding import Seeding

if TYPE_CHECKING:
    from types import FrameType

    from ..loop import Loop
    from ..recorder import Recorder
    from ..watching.watch import Watch
    from .keeping import Chance, Plain

RECENT = 64  # items of a loop that are remembered


class Pass:
    """The passes of a loop so far: their items, the state of random numbers before the last, and the batches it took.

    `loaded` tells whether a data loader gave a batch in it. `trainer` is what a trainer held before the first pass of a loop of
    its own.
    """

    __slots__ = ("chance", "items", "loaded", "trainer")

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.chance: Chance | None = None
        self.loaded = False
        self.trainer: Plain | None = None


class Caught:
    """All of that; `caught` when there was an update, `over` when the script goes on by itself."""

    def __init__(self, watch: Watch, voided: set[str]) -> None:
        self.voided = voided
        self.watch = watch
        self.torch = watch.torch
        self.recorder = watch.recorder
        self.plan: dict[str, Any] = dict(self.recorder.plan["checkup"])
        self.observer = Observer(watch)
        self.norms = StepNorms(self.observer)
        self.loaders: IdentityMap[bool] = IdentityMap()  # whether it fed a step
        self.machinery: IdentitySet = IdentitySet()
        self.seeding = Seeding(self)
        self.of: IdentityMap[Any] = IdentityMap()  # the loader of an iterator
        self.last: IdentityMap[list[Any]] = IdentityMap()  # the last batches of an iterator
        self.order: list[Any] = []  # the iterators that gave batches, the last one last
        self.passes: dict[int, Pass] = {}  # by the key of a loop's statement
        self.counts: IdentityMap[int] = IdentityMap()  # the batches of an iterator
        self.loop: Loop | None = None
        self.outer: list[Loop] = []
        self.feeder: Any = None
        self.feeding: Any = None
        self.caught = self.over = False
        self.initial: dict[int, Any] = {}
        self.fresh: IdentityMap[Any] = IdentityMap()  # what optimizers held before their first update
        self.births = Births(self)
        self.compiler: Any = None  # what the script would have compiled

    def finish(self) -> None:
        """The climb is over: the script goes on."""
        if not self.over:
            self.over = True
            self.observer.on = False
            self.recorder.caps.climb = None
            self.recorder.quiet -= 1


def frames_of(recorder: Recorder) -> list[FrameType]:
    """The frames of the script that are under way, and of the loops of a trainer, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found, trainers = [], recorder.index.trainers
    while frame is not None:
        path = frame.f_code.co_filename
        if path in trainers or recorder.sites.is_users(path):
            found.append(frame)
        frame = frame.f_back
    return found
