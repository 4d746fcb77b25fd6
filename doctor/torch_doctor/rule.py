"""What a rule is, what it reports, and how the rules are found."""

from __future__ import annotations

import abc
import enum
import inspect
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.edits import Call, Edit, Epoch, Figure, Proposal
from torch_doctor.packages import modules, offers
from torch_doctor.reading import events_named_in
from torch_doctor.trace import Broken, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch_doctor.trace import Event, Meant, Subject, Trace

ENTRY_POINT = "torch_doctor.rules"


class Level(enum.Enum):
    """How much a finding matters."""

    ERROR = "E"  # training or evaluation is wrong
    WARNING = "W"  # slow, fragile or unsafe, the numbers are right
    ADVICE = "A"  # off by default


class Fix(enum.Enum):
    """Whether a fix keeps what the program means, or is plainly what was meant: safe; changes behaviour on purpose: unsafe."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    NONE = "-"


class Verdict(enum.Enum):
    """What the probe says of a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not-reached"
    UNDECIDED = "undecided"


class Step(Struct, frozen=True):
    """One place of a trail, with a short note."""

    site: Site
    note: str


class Evidence(Struct, frozen=True):
    """One fact behind a verdict: the claim in words, with the number in it that is also its `value`, and where.

    Where there is nothing to count (the reason why a finding is undecided), `value` is None.
    """

    claim: str
    value: float | int | str | None = None
    unit: str = ""
    site: Site | None = None


class Finding(Struct, frozen=True):
    """A bug at a place.

    `message` is in the present tense, names the user's identifiers in backticks, says the consequence, has no full stop
    and at most 100 characters. `trail` holds the places that explain it, in order, the reported site not among them
    unless it has a note of its own. `help` is the remedy. Of several findings of a rule in one file, or in one project where
    they are `wide`, that share a `cause` only the first is reported, and its message says how many others there are ("":
    it is one of its own); `members` are all of them, the first included. `behind`: it shows only when these broken parts do
    what they were meant to, so that a run of the script as it is need not show it.
    `edits`: what the rule would change; `fix`: the changes of text that this comes to, where somebody worked them out.
    """

    code: str
    name: str
    level: Level
    message: str
    site: Site
    trail: tuple[Step, ...] = ()
    help: str = ""
    cause: str = ""
    wide: bool = False
    witness: str = "static"
    verdict: Verdict | None = None
    evidence: tuple[Evidence, ...] = ()
    behind: tuple[Broken, ...] = ()
    edits: tuple[Edit, ...] = ()
    fix: Proposal | None = None
    members: tuple[Finding, ...] = ()

    def places(self) -> tuple[Site, ...]:
        """Where it lies and where its trail runs, and so for all findings that it stands for."""
        told = (self, *self.members[1:])
        return tuple(site for each in told for site in (each.site, *(step.site for step in each.trail)))

    def edited(self) -> tuple[Site, ...]:
        """The places that its edits are about."""
        calls = (site for edit in self.edits if isinstance(edit, Call | Epoch) for pair in edit.calls for site in pair)
        built = (edit.built for edit in self.edits if isinstance(edit, Epoch))
        return (*(edit.site for edit in self.edits), *calls, *built)

    def with_verdict(self, verdict: Verdict, evidence: tuple[Evidence, ...]) -> Finding:
        """This finding with what the probe says of it."""
        return replace(self, verdict=verdict, evidence=evidence)


class Rule(abc.ABC):
    """One way in which training goes wrong, judged from a trace.

    The class docstring of a rule is its documentation page. `witness` is "S", "P" or "SP". `needs` names instruments that the
    probe does not always use; `explained_by` the codes beside whose findings the probe does not report one of this rule,
    because they have the same cause and say more; `voided_by` what must be real for a run to say anything (words of
    `StandIn.voids`: "values", "weights", ...; "actions" voids all). `subject` is what a script has to have for the rule to
    matter, beside training. `only_confirms`: what a run alone shows is not reported: only the source can say that nothing
    excuses it. `needs_end`: nor where the run broke off, because what is missing might have come later. `compares_ranks`: a run
    in several processes may say what one cannot. `yields_to` names the codes whose finding at the very same place says more
    than one of this rule, `step_of` those of whose trail such a finding is a step. `shown_by`: what has to happen at its place
    to show the bug or that there is none, in words that follow "the probe run had no". `meant`: what was meant where a finding is;
    other bugs may hide behind it. `fix_changes`: the figures that a fix may change.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    level: Level
    witness: ClassVar[str]
    fix: Fix = Fix.NONE
    fix_changes: ClassVar[frozenset[Figure]] = frozenset(Figure)
    needs: ClassVar[frozenset[str]] = frozenset()
    explained_by: ClassVar[frozenset[str]] = frozenset()
    voided_by: ClassVar[frozenset[str]] = frozenset()
    subject: ClassVar[Subject | None] = None
    only_confirms: ClassVar[bool] = False
    needs_end: ClassVar[bool] = False
    compares_ranks: ClassVar[bool] = False
    yields_to: ClassVar[frozenset[str]] = frozenset()
    step_of: ClassVar[frozenset[str]] = frozenset()
    shown_by: ClassVar[str] = ""
    meant: ClassVar[Meant | None] = None

    @abc.abstractmethod
    def check(self, trace: Trace) -> Iterable[Finding]:
        """The findings of this rule in one trace."""

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002 - what a rule may look at
        """Whether the probe's `trace` came to a static `finding` under conditions in which its bug would have shown.

        It is asked only where `check` found nothing of the kind in the trace. True: the bug is refuted. False: the run
        did not come there. Text: the run came there and it cannot be told, for this reason.
        """
        return "the rule cannot judge this from the probe run"

    def evidence(self, trace: Trace, finding: Finding) -> Iterable[Evidence]:  # noqa: ARG002 - as for `reached`
        """The numbers behind what the probe's `trace` says of a finding, which is one of `check` for it or refuted."""
        return ()

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as for `reached`
        """Whether a finding in the probe's trace is reported where the source says nothing of it.

        A rule with `only_confirms` may say so of what nothing in the source could excuse.
        """
        return not self.only_confirms

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether a static finding and one of the probe's trace, both of this rule, speak of one bug.

        They do when they are at one place, which a place that spans several rows is in any of them, or have one cause.
        """
        return same_place(finding.site, seen.site) or (bool(finding.cause) and same_cause(finding, seen))

    def broken(self, finding: Finding) -> Broken | None:
        """What a finding of this rule says is broken, so that other bugs may hide behind it."""
        return None if self.meant is None else Broken(finding.site, self.meant, self.code, self.name)

    def finding(  # noqa: PLR0913 - the fields of a finding
        self,
        site: Site,
        message: str,
        *,
        help: str = "",  # noqa: A002 - the field's name in every output format
        trail: Iterable[Step] = (),
        cause: str = "",
        wide: bool = False,
        edits: Iterable[Edit] = (),
        level: Level | None = None,
    ) -> Finding:
        """Return a finding of this rule, which `edits` would fix; `level`: a lower one than that of the rule."""
        told = (self.code, self.name, max(level or self.level, self.level, key=list(Level).index))  # the lower level
        return Finding(*told, message, site, tuple(trail), help, cause, wide, edits=tuple(edits))

    @classmethod
    def reads(cls) -> frozenset[type[Event]]:
        """The events that this rule may look at: those that its module names, or one of its package that it uses."""
        return events_named_in(cls.__module__)

    @classmethod
    def page(cls) -> str:
        """The documentation page, in Markdown."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def summary(cls) -> str:
        """The page's first line, without its full stop."""
        return cls.page().partition("\n")[0].rstrip(".")


def same_cause(finding: Finding, other: Finding) -> bool:
    """Whether two findings of a rule are one: they have one cause in one file."""
    return (finding.site.path, finding.cause) == (other.site.path, other.cause)


def same_place(site: Site, other: Site) -> bool:
    """Whether two witnesses mean the same place: one begins within the rows of the other."""
    if (site.path, site.cell) != (other.path, other.cell):
        return False
    return site.row <= other.row <= site.end_row or other.row <= site.row <= other.end_row


def rules_in(package: str) -> Iterator[type[Rule]]:
    """The rule classes that the modules of a package define, those of packages in it too."""
    for name in modules(package):
        for member in vars(import_module(name)).values():
            ours = isinstance(member, type) and member.__module__ == name and issubclass(member, Rule)
            if ours and not inspect.isabstract(member):
                yield member


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every installed rule, by code; packages offer theirs through the entry point group `torch_doctor.rules`.

    An entry point names a callable that returns rule classes. What cannot be had of it is left out.
    """
    return _installed()[0]


def left_out() -> tuple[str, ...]:
    """What installed packages offer as rules and is none, or is broken: a line each, with the reason."""
    return _installed()[1]


@cache
def _installed() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    found: dict[str, tuple[Rule, str]] = {}
    problems: list[str] = []
    own = __name__.partition(".")[0]
    for offer in sorted(offers(ENTRY_POINT), key=lambda offer: not offer.module.startswith(own)):
        package = offer.package or offer.module
        try:
            for each in offer.load()():
                wrong = unusable(each) or _taken(each, found)
                if wrong:
                    problems.append(f"a rule of `{package}` is skipped: {wrong}")
                else:
                    found[each.code] = each(), package
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's code
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            problems.append(f"the rules of `{package}` are skipped: `{offer.value}` cannot be loaded ({reason})")
    return tuple(found[code][0] for code in sorted(found)), tuple(problems)


def _taken(rule: type[Rule], found: Mapping[str, tuple[Rule, str]]) -> str:
    """Which rule has the code or the name of this one."""
    for other, package in found.values():
        if rule.code == other.code or rule.name == other.name:
            return f"{rule.code} {rule.name} clashes with {other.code} {other.name} of `{package}`; rename it"
    return ""


def unusable(thing: object) -> str:
    """Why something that is offered as a rule is none that could be used; "" where it is one."""
    if not (isinstance(thing, type) and issubclass(thing, Rule)):
        return f"`{thing!r}` is not a rule class; offer subclasses of `torch_doctor.rule.Rule`"
    for name, (kind, form) in _DECLARED.items():
        value = getattr(thing, name, None)
        if not isinstance(value, kind) or (isinstance(value, str) and not re.fullmatch(form, value)):
            wanted = form if kind is Level else f"text of the form {form}"
            return f"`{thing.__name__}.{name}` is {value!r}; write {wanted}"
    if inspect.isabstract(thing):
        return f"`{thing.__name__}` has no method `check`"
    return ""


_DECLARED: dict[str, tuple[type, str]] = {
    "code": (str, "[A-Z]+[0-9]+"),
    "name": (str, "[a-z][a-z0-9-]*"),
    "witness": (str, "S|P|SP"),
    "level": (Level, "one of `torch_doctor.rule.Level`"),
}
"""What a rule has to say of itself: the type of each attribute, and its form."""
