"""What the probe tells of a run as a whole: how it ended, what stood in for what, and the numbers that were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


class Measured(Struct, frozen=True, kw_only=True):
    """A number that the probe measured."""

    claim: str
    """What it is a measure of: a constant of `torch_doctor.trace.claims`."""
    value: float | int | str
    """The number, or a text."""
    unit: str = ""
    """The unit."""
    site: Site | None = None
    """The place that it belongs to; None if there is none."""
    about: frozenset[int] = frozenset()
    """The events that it belongs to."""


class StandIn(Struct, frozen=True, kw_only=True):
    """A substitute that the probe provides for something that the script needs."""

    what: str
    """The name of what the script needs."""
    why: str
    """Why it is not available."""
    how: str
    """The substitute."""
    voids: frozenset[str] = frozenset()
    """What cannot be concluded with it.

    "values" and "weights" (they are random), "device" (moves have no effect), "precision" (autocast has no effect),
    "workers", "processes" (there is one), "arguments", "choices" (any setting may be another), "tests" (they may come out
    otherwise), "version" (of a library), "log", "files", "time".
    """
    site: Site | None = None
    """Where the script needs it; None if unknown."""

    def __str__(self) -> str:
        return f"{self.how} instead of `{self.what}`{f' ({self.why})' if self.why else ''}"


class Remark(Struct, frozen=True):
    """A remark of the probe, such as what it refused, what is missing, or which loop it ended early."""

    text: str
    """The remark."""
    site: Site | None = None
    """The place that it is about; None if there is none."""


class Frame(Struct, frozen=True):
    """A frame of a traceback, in a file of the project."""

    site: Site
    """The place."""
    function: str
    """The function."""
    line: str
    """The source line."""


class End(Struct, frozen=True, kw_only=True):
    """How the script ended."""

    how: str
    """How it ended.

    "end" (of the script), "exit" (with `status`), "exception", "fault" (an exception of the probe), "stopped" (its budget),
    "asked" (it needs unknown arguments), "killed" (by a signal, the time limit or the memory limit), or "no-torch".
    """
    status: int = 0
    """The exit status."""
    exception: str = ""
    """The exception, as a traceback ends."""
    frames: tuple[Frame, ...] = ()
    """The frames of its traceback in files of the project."""
    interface: str = ""
    """What the called function expects, if the exception is a call whose arguments do not fit it whatever their values are."""
    time: float = 0.0
    """When it ended, by the clock of the process, in seconds; 0 if unknown."""
    values: dict[str, Any] = field(default_factory=dict)
    """What the agent says of the exception beside its text: its classes, and the values in the statement that failed."""


class Read(Struct, frozen=True):
    """A value that the script read."""

    site: Site
    """The place."""
    how: str
    """How it read the value."""
    text: str
    """The expression."""
    parts: dict[str, list[float | int | str]]
    """The numbers in each part of the value."""


class Run(Struct, kw_only=True):
    """One run of a script by the probe."""

    python: str = ""
    """The version of Python."""
    torch: str = ""
    """The version of torch."""
    device: str = ""
    """The device."""
    measured: list[Measured] = field(default_factory=list)
    """The numbers that the probe measured."""
    stand_ins: list[StandIn] = field(default_factory=list)
    """The substitutes that it provided."""
    refused: list[Remark] = field(default_factory=list)
    """What it did not allow the script to do."""
    missing: list[Remark] = field(default_factory=list)
    """What the script needs and does not find."""
    asked: list[Remark] = field(default_factory=list)
    """The arguments that the script needs."""
    capped: dict[Site, int] = field(default_factory=dict)
    """The loops that it ended early, with the number of iterations."""
    notes: list[str] = field(default_factory=list)
    """Other remarks."""
    end: End = End(how="killed")
    """How the script ended."""
    late: Site | None = None
    """The line that ran when the time limit was reached."""
    marked: set[Site] = field(default_factory=set)
    """The lines of which it records whether they ran."""
    passed: set[Site] = field(default_factory=set)
    """Those of `marked` that ran."""
    forked: set[Site] = field(default_factory=set)
    """Those of `marked` with conditional expressions that ran."""
    whole: set[Site] = field(default_factory=set)
    """Those of `forked` of which both branches of each expression ran."""
    foreseen: frozenset[Site] = frozenset()
    """The forwards whose results go backward according to the source. If none did, iterations may have ended early."""
    doubt: str = ""
    """Why events may be missing, so that nothing can be concluded from their absence; "" if none can be."""
    read: list[Read] = field(default_factory=list)
    """The values that the script read, if the run is compared with another one."""
    replays: dict[str, list[str]] = field(default_factory=dict)
    """The values that the other run restores, if the run is compared with another one."""
    unlike: set[str] = field(default_factory=set)
    """The values that could not be restored, if the run is compared with another one."""
    weights: list[tuple[int, int]] = field(default_factory=list)
    """The number of trainable elements and tensors of each model, if the run is compared with another one."""

    left_out: list[End] = field(default_factory=list)
    """The exceptions of statements that were left out."""
    learnt: set[int] = field(default_factory=set)
    """The lessons of earlier attempts that it used, by their numbers."""
    alone: bool = False
    """Whether all statements that failed before the training loop were left out, so that the loop alone proves anything."""
    broken: set[Site] = field(default_factory=set)
    """If so, the loops in which a statement was left out."""
    interposed: list[Site] = field(default_factory=list)
    """If so, the statements that might have put hooks or other methods in place, so that the loop alone proves nothing."""

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
