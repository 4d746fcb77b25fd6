"""The base of all instruments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..watching.instrument_hooks import InstrumentHooks

if TYPE_CHECKING:
    from ..watching.watch import Watch


class Instrument(InstrumentHooks):
    """Does nothing with what it is told; instruments override the hooks that they need.

    Every method may raise: the script goes on, and a remark says what failed. What an instrument computes with torch, it
    does within `with self.watch.unwatched():`, so that it is not taken for the script's. It writes through
    `self.watch.recorder`: `event(name, here, **fields)`, `measured(claim, value, unit, site=, about=)`,
    `references.number(thing)`, `note(text)`.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
