"""Precision and time: autocast, clocks, and APIs of older versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.versions import Version
    from torch_doctor.trace.words import Tri


class AutocastEntered(Event, frozen=True, kw_only=True):
    """A `torch.autocast` context is entered."""

    device: str
    """The device type."""
    dtype: str
    """The dtype of the computation; "" if unknown."""
    enabled: Tri
    """Whether it is enabled."""
    within: int = 0
    """The module whose forward enters it; 0 outside of all."""
    asked: bool = False
    """Whether an unresolved function determines if it is enabled."""

    def words(self, _: Names, /) -> str:
        where = " on ".join(part for part in (self.dtype, self.device) if part)
        return f"autocast{' to ' * bool(where)}{where}{', disabled' * (self.enabled is False)}"


class AutocastExited(Event, frozen=True, kw_only=True):
    """The autocast context that was entered last is exited."""

    def words(self, _: Names, /) -> str:
        return "end of autocast"


class ClockRead(Event, frozen=True, kw_only=True):
    """The wall clock is read."""

    def words(self, _: Names, /) -> str:
        return "read the clock"


class Timed(Event, frozen=True, kw_only=True):
    """One reading of the clock is subtracted from another."""

    first: int
    """The earlier `ClockRead` event."""
    last: int
    """The later `ClockRead` event."""
    waits: bool
    """Whether a call between them may wait for the GPU."""
    copies: bool = False
    """Whether a copy to a device between them may wait for queued work."""

    def words(self, _: Names, /) -> str:
        return f"measure elapsed time{', which may include waiting for the GPU' * self.waits}"


class OutdatedUsed(Event, frozen=True, kw_only=True):
    """A function, class, attribute or argument of torch is used that has a replacement."""

    api: str
    """Its torch name."""
    name: str
    """The expression in the script."""
    instead: str
    """The replacement."""
    since: Version
    """The first version of torch with the replacement."""
    warns: Version | None = None
    """The first version that warns at run time; None if none does."""
    gone: Version | None = None
    """The first version without it; None if all have it."""
    idle: bool = False
    """Whether the version `gone` still accepts it without effect."""
    dropped: bool = False
    """Whether it is an argument to omit."""

    def words(self, _: Names, /) -> str:
        return f"use {quoted(self.name)}, replaced by `{self.instead}` since torch {'.'.join(map(str, self.since))}"
