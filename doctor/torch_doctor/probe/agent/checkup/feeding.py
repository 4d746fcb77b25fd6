"""Gives the script's loop the items that the climb wants it to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..loops import NOTHING
from .batches import replaced
from .plays import Play

if TYPE_CHECKING:
    from collections.abc import Callable

    from .caught import Caught
    from .climb import Climb
    from .stage import Stage


class Feeding:
    """One climb under way; `playing` while the script's own code runs.

    An update may take several passes (`stage.passes`), and what gives batches may be ahead of what trains on them by some
    (`stage.ahead`): then the first passes after a new batch are on older ones, and are undone.
    """

    def __init__(self, catcher: Caught, stage: Stage, climb: Climb, following: Callable[[], Any] | None) -> None:
        self._catcher = catcher
        self._stage = stage
        self._climb = climb
        self._following = following
        self._play: Play | None = None
        self._left = 0
        self._number = self._made = 0
        self._late = 0
        self._ending = False
        self._before: Any = None
        self._last: Any = NOTHING
        self.playing = False

    def begin(self) -> Any:
        """The item for the first step."""
        return self._next(None)

    def turn(self) -> Any:
        """A pass is over: the item for the next one; NOTHING where the climb is over."""
        self.playing = False
        self._catcher.recorder.caps.between()
        if self._late:
            self._late -= 1
            if not self._late and self._ending:
                self._stage.restore()
                self._catcher.finish()
                return NOTHING
            if not self._late:
                self._before.restore()
                self._number = 0
                self._start_play()
            return self._item()
        self._stage.observer.seen.passes += 1
        self._left -= 1
        if self._left > 0:
            return self._item()
        self._number = 0
        seen = self._stage.observer.end()
        self._stage.settle()
        return self._next(seen)

    def _next(self, seen: Any) -> Any:
        self._play = self._climb.next(seen)
        if self._play is None and self._stage.ahead:  # what was taken ahead of the climb is still to be trained on
            self._ending, self._late = True, self._stage.ahead
            self._play = Play(self._stage.pending)
            return self._item()
        if self._play is None:
            self._catcher.finish()
            return NOTHING
        self._number = 0
        self._left = self._stage.passes
        if self._stage.ahead and self._wanted() is not self._last:
            self._late = self._stage.ahead
            self._last = self._wanted()
            self._before = self._stage.kept()
        else:
            self._start_play()
        return self._item()

    def _start_play(self) -> None:
        assert self._play is not None  # noqa: S101 - one is under way
        self._stage.observer.begin(self._play)

    def _item(self) -> Any:
        stage = self._stage
        stage.prepare(self._number)
        self._number += 1
        self.playing = True
        if self._catcher.loop is None:
            return self._batch()
        if stage.through and self._following is not None:
            try:
                return self._following()
            except StopIteration:
                self.broken("the script's loop ran out of data")
                return NOTHING
        return self._of_the_loop(self._number - 1)

    def _of_the_loop(self, number: int) -> Any:
        """The item of a pass, with the batch that is wanted in the place of the one in it."""
        stage = self._stage
        if not stage.items:
            return None
        item = stage.items[number % len(stage.items)]
        if stage.batch is None:
            return item
        self._made = self._made + 1 if stage.natural else 0
        counted = stage.offset + (self._made - 1 if stage.natural else number)
        return replaced(item, stage.held[number % len(stage.items)], self._batch(), counted)

    def _batch(self) -> Any:
        return self._stage.fresh(self._wanted())

    def _wanted(self) -> Any:
        """The batch to train on: the one that was caught, if the step is to be repeated on no other."""
        wanted = None if self._play is None else self._play.batch
        return self._stage.batch if wanted is None else wanted

    def batch_of(self, iterator: Any, original: Callable[[Any], Any]) -> Any:
        """What an iterator of a data loader gives while a step is repeated."""
        if iterator is self._catcher.feeder:
            if self._catcher.loop is None:
                given = self.turn()
                return original(iterator) if given is NOTHING else given
            return self._batch()
        recent = self._catcher.last.get(iterator)
        return recent[-1] if recent else original(iterator)

    def broken(self, why: str, *, late: bool = False) -> None:
        """The script does not come back for its next pass: everything is as it was, and what needs steps is skipped."""
        self.playing = False
        self._stage.observer.on = False
        self._stage.start.restore()
        self._climb.without_steps(why, late=late)
        self._catcher.finish()
