"""What the probe tells of a run as a whole: how it ended, what stood in for what, and the numbers that were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


class Measured(Struct, frozen=True, kw_only=True):
    """A number that the run gave: `claim` says of what, `about` names the events that it belongs to by their index."""

    claim: str
    value: float | int | str
    unit: str = ""
    site: Site | None = None
    about: frozenset[int] = frozenset()


class StandIn(Struct, frozen=True, kw_only=True):
    """Something that the script asked for, and what it got.

    `what` is how the script or torch calls it, `why` the reason why it cannot be had, `how` what is there instead.
    `voids` says what cannot be concluded any more: "values" (inputs and targets are random), "weights" (pretrained
    weights are random), "device" (moves do nothing), "precision" (autocast computes in float32), "workers" (no loader
    worker ran), "processes" (one process instead of many), "arguments", "log", "files" and "time" (all made up).
    """

    what: str
    why: str
    how: str
    voids: frozenset[str] = frozenset()
    site: Site | None = None

    def __str__(self) -> str:
        return f"{self.how} instead of `{self.what}`{f' ({self.why})' if self.why else ''}"


class Remark(Struct, frozen=True):
    """A remark of the run about a place: what was refused, what is missing, which loop was ended early."""

    text: str
    site: Site | None = None


class Frame(Struct, frozen=True):
    """One frame of a traceback that belongs to the user's project."""

    site: Site
    function: str
    line: str


class End(Struct, frozen=True, kw_only=True):
    """How the script ended.

    `how` is "end" (it ran to its end), "exit" (it left with `status`), "exception", "fault" (an exception that is the
    probe's own), "stopped" (the budget was spent), "asked" (it needs arguments that nobody can make up), "killed" (by a
    signal, or for time or memory), "no-torch".
    `time` is the clock's then, in seconds; 0 where it was not told.
    """

    how: str
    status: int = 0
    exception: str = ""
    frames: tuple[Frame, ...] = ()
    time: float = 0.0


class Read(Struct, frozen=True):
    """A value that the script read at a place: `how` it did, in which expression, and the numbers of each part."""

    site: Site
    how: str
    text: str
    parts: dict[str, list[float | int | str]]


class Run(Struct, kw_only=True):
    """One run of the real script.

    `late` is the line that it was at when its time was over. `marked` are the rows of which it tells whether it came
    there, `passed` those of them where it did; `forked` those with conditional expressions that it came to again,
    `whole` those of which both arms of each were taken. `foreseen` are the forwards whose results go backward by the
    source: where none did in the run, an iteration that was cut short each time (`continue`) may be the reason. `doubt` says
    why something may be missing in the trace, so that nothing can be concluded from it; it is empty where nothing is.
    Of a run that is compared with another, `read` holds the values that the script reads, `replays` what the other run puts
    back (`loss`, ...), `unlike` what it could not put back, and `weights` how many numbers and tensors each model trains.
    """

    python: str = ""
    torch: str = ""
    device: str = ""
    measured: list[Measured] = field(default_factory=list)
    stand_ins: list[StandIn] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    missing: list[Remark] = field(default_factory=list)
    asked: list[Remark] = field(default_factory=list)
    capped: dict[Site, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    end: End = End(how="killed")
    late: Site | None = None
    marked: set[Site] = field(default_factory=set)
    passed: set[Site] = field(default_factory=set)
    forked: set[Site] = field(default_factory=set)
    whole: set[Site] = field(default_factory=set)
    foreseen: frozenset[Site] = frozenset()
    doubt: str = ""
    read: list[Read] = field(default_factory=list)
    replays: dict[str, list[str]] = field(default_factory=dict)
    unlike: set[str] = field(default_factory=set)
    weights: list[tuple[int, int]] = field(default_factory=list)

    def voids(self, *what: str) -> StandIn | None:
        """The first stand-in that makes it meaningless to conclude anything about one of these; None where none does."""
        return next((stand_in for stand_in in self.stand_ins if not stand_in.voids.isdisjoint(what)), None)

    def measurements(self, claim: str, *about: int) -> list[Measured]:
        """What was measured of a claim; with events, only what is about one of them."""
        return [
            each for each in self.measured if each.claim == claim and (not about or not each.about.isdisjoint(about))
        ]

    def came_to(self, site: Site) -> bool | None:
        """Whether the run came to a line; None where that is not known."""
        row = _row(site)
        if row in map(_row, self.passed):
            return True
        return False if row in map(_row, self.marked) else None

    def took_one_arm(self, site: Site) -> bool:
        """Whether a line has a conditional expression of which only one arm is known to have been taken."""
        row = _row(site)
        return row in map(_row, self.forked) and row not in map(_row, self.whole)


def _row(site: Site) -> tuple[str, int | None, int]:
    return site.path, site.cell, site.row
