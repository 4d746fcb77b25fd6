"""How long instruments may compute on copies of models: not longer than a part of the run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .instrument_hooks import InstrumentHooks

ORDER = (
    *("oracles", "data_scale", "shuffled", "reordered", "term_gradients"),
    *("unmasked", "repeat", "mixing", "foresight", "gradcheck", "round_trip"),
)
"""The instruments that ask models questions, by their modules, in the order in which they are left out.

Those come first whose rules the static witness often decides, those last that the run alone decides.
"""
SHARE = 0.25
"""The part of a run that questions may take."""
ALWAYS = 2.0
"""Seconds that they may take at least: as long as importing torch takes. Seconds are those of the processor."""


class Questions:
    """Counts the seconds that instruments take which ask questions, and says which of them to leave out."""

    def __init__(self) -> None:
        self._begun = time.process_time()
        self._spent = 0.0

    def took(self, instrument: InstrumentHooks, seconds: float) -> None:
        """An instrument was told of something, and took so long over it."""
        if name_of(instrument) in ORDER:
            self._spent += seconds

    def left(self) -> float:
        """The seconds that questions may still take as of now; below 0 where they took more."""
        return max(ALWAYS, SHARE * (time.process_time() - self._begun)) - self._spent

    def left_out(self, instruments: list[InstrumentHooks]) -> InstrumentHooks | None:
        """The instrument to leave out from here on, where questions take too long; None where they do not, or none is left."""
        if self.left() >= 0:
            return None
        asking = [each for each in instruments if name_of(each) in ORDER]
        return min(asking, key=lambda each: ORDER.index(name_of(each)), default=None)


def name_of(instrument: InstrumentHooks) -> str:
    """The module that an instrument is in, which is its name among the needs of rules."""
    return type(instrument).__module__.rpartition(".")[2]
