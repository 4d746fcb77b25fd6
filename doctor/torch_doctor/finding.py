"""What a rule reports: a finding with its level, its verdict, and the evidence for it."""

from __future__ import annotations

import enum

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.edits import Call, Edit, Epoch, Proposal
from torch_doctor.trace import Broken, Site  # noqa: TC001 - msgspec reads the annotations


class Level(enum.Enum):
    """How severe a finding is."""

    ERROR = "E"
    """Training or evaluation is wrong."""
    WARNING = "W"
    """Training is slow, fragile or unsafe, but the numbers are right."""
    ADVICE = "A"
    """Advice, which is off by default."""


class Fix(enum.Enum):
    """What the fixes of a rule do to the behavior of a program."""

    SAFE = "safe"
    """They preserve it, or it is certain that the new one is intended."""
    UNSAFE = "unsafe"
    """They change it on purpose."""
    NONE = "-"
    """The rule has no fixes."""


class Verdict(enum.Enum):
    """What the probe concludes about a finding."""

    CONFIRMED = "confirmed"
    """The bug occurred in the probe run."""
    REFUTED = "refuted"
    """The line ran under conditions that would have exposed the bug, and it did not occur."""
    NOT_REACHED = "not-reached"
    """The line did not run."""
    UNDECIDED = "undecided"
    """The probe run is not conclusive."""


class Step(Struct, frozen=True):
    """One place of a trail, with a short note."""

    site: Site
    """The place in the source."""
    note: str
    """What happens there."""


class Evidence(Struct, frozen=True):
    """One fact that supports a verdict."""

    claim: str
    """The fact in words, including the number."""
    value: float | int | str | None = None
    """The number, or None if there is none, such as for the reason of an undecided finding."""
    unit: str = ""
    """The unit of the number."""
    site: Site | None = None
    """The place that the fact is about."""


class Finding(Struct, frozen=True):
    """A bug at a place."""

    code: str
    """The code of the rule, such as `TDR101`."""
    name: str
    """The name of the rule, such as `missing-zero-grad`."""
    level: Level
    """The severity, which may be lower than that of the rule."""
    message: str
    """What is wrong and what it costs: present tense, identifiers in backticks, no full stop, at most 100 characters."""
    site: Site
    """The place that is reported."""
    trail: tuple[Step, ...] = ()
    """The places that explain it, in order, without the reported one unless that has its own note."""
    help: str = ""
    """What to do about it, as an imperative."""
    cause: str = ""
    """What it shares with other findings of the rule in the file, of which only the first is reported; "" if it shares none."""
    wide: bool = False
    """Whether the cause is shared by the complete project, and not only by the file."""
    witness: str = "static"
    """The witness that found it: "static" or "probe"."""
    verdict: Verdict | None = None
    """The conclusion of the probe; None without a probe run."""
    evidence: tuple[Evidence, ...] = ()
    """The facts behind the verdict."""
    behind: tuple[Broken, ...] = ()
    """Broken parts that hide it, so that it shows only if they did what they are meant to do."""
    condition: str = ""
    """The setting of options that it needs, such as "with `--amp`"; "" if their defaults lead to it."""
    edits: tuple[Edit, ...] = ()
    """What the rule would change in the program."""
    fix: Proposal | None = None
    """The changes of the text that implement `edits`, if they were computed."""
    members: tuple[Finding, ...] = ()
    """All findings with the same cause, including this one."""

    @property
    def headline(self) -> str:
        """The message with the condition in parentheses, if there is one."""
        return f"{self.message} ({self.condition})" if self.condition else self.message

    def places(self) -> tuple[Site, ...]:
        """Return the places and trails of this finding and of all that it represents."""
        return tuple(site for each in (self, *self.members[1:]) for site in each.shown())

    def shown(self) -> tuple[Site, ...]:
        """Return the place and the trail of this finding alone."""
        return (self.site, *(step.site for step in self.trail))

    def edited(self) -> tuple[Site, ...]:
        """Return the places that its edits change or refer to."""
        calls = (site for edit in self.edits if isinstance(edit, Call | Epoch) for pair in edit.calls for site in pair)
        built = (edit.built for edit in self.edits if isinstance(edit, Epoch))
        return (*(edit.site for edit in self.edits), *calls, *built)

    def with_verdict(self, verdict: Verdict, evidence: tuple[Evidence, ...]) -> Finding:
        """Return this finding with a verdict and its evidence."""
        return replace(self, verdict=verdict, evidence=evidence)


def same_cause(finding: Finding, other: Finding) -> bool:
    """Return whether two findings of a rule have the same cause in the same file."""
    return (finding.site.path, finding.cause) == (other.site.path, other.cause)


def same_place(site: Site, other: Site) -> bool:
    """Return whether the sites of two witnesses are the same place: one starts within the lines of the other."""
    if (site.path, site.cell) != (other.path, other.cell):
        return False
    return site.row <= other.row <= site.end_row or other.row <= site.row <= other.end_row
