"""The base class of rules, and the rules that are installed."""

from __future__ import annotations

import abc
import inspect
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from torch_doctor.edits import Edit, Figure
from torch_doctor.finding import Evidence, Finding, Fix, Level, Step, Verdict, same_cause, same_place
from torch_doctor.packages import modules, offers
from torch_doctor.trace import Broken, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_doctor.trace import Event, Meant, ModelInput, Subject, Trace

__all__ = [
    "ENTRY_POINT",
    "Evidence",
    "Finding",
    "Fix",
    "Level",
    "Rule",
    "Step",
    "Verdict",
    "all_rules",
    "installed",
    "left_out",
    "rules_in",
    "same_cause",
    "same_place",
    "unusable",
]

ENTRY_POINT = "torch_doctor.rules"
"""The group of entry points through which packages provide rules."""


class Rule(abc.ABC):
    """One way in which training goes wrong, judged from a trace. The docstring of a rule class is its page."""

    code: ClassVar[str]
    """The code, such as `TDR101`."""
    name: ClassVar[str]
    """The name, such as `missing-zero-grad`."""
    level: Level
    """The severity of its findings."""
    witness: ClassVar[str]
    """What can show the bug: "S", the source; "P", a probe run; "SP", both."""
    fix: Fix = Fix.NONE
    """Whether it has fixes, and whether they are safe."""
    fix_changes: ClassVar[frozenset[Figure]] = frozenset(Figure)
    """The figures that a fix may change."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """The instruments that it needs in addition to those that the probe always uses."""
    explained_by: ClassVar[frozenset[str]] = frozenset()
    """Rules whose findings have the same cause and explain more: next to them, the probe reports none of this rule."""
    voided_by: ClassVar[frozenset[str]] = frozenset()
    """What must be real for a conclusion: words of `StandIn.voids` such as "values"; "actions" and "choices" void all rules."""
    subject: ClassVar[Subject | None] = None
    """What a script must have, in addition to training, for the rule to apply."""
    only_confirms: ClassVar[bool] = False
    """Whether findings of the probe alone are not reported, because only the source can show that nothing excuses them."""
    needs_end: ClassVar[bool] = False
    """Whether findings of the probe alone need a run that ended, because what is missing might have come later."""
    inside: ClassVar[bool] = False
    """Whether its bug lies between two passes of one loop, or within one, so that nothing before the loop can excuse it."""
    compares_ranks: ClassVar[bool] = False
    """Whether a run in several processes may be conclusive where a run in one is not."""
    yields_to: ClassVar[frozenset[str]] = frozenset()
    """Rules whose finding at the same place explains more than one of this rule."""
    step_of: ClassVar[frozenset[str]] = frozenset()
    """Rules whose trail contains the place of a finding of this rule, so that it is not reported again."""
    shown_by: ClassVar[str] = ""
    """What must happen at the place for a conclusion, in words that complete "the probe run had no"."""
    meant: ClassVar[Meant | None] = None
    """What the program is meant to do at a finding, because other bugs may hide behind it."""

    @abc.abstractmethod
    def check(self, trace: Trace) -> Iterable[Finding]:
        """Return the findings of this rule in one trace."""

    def compared(self, trace: Trace) -> Iterable[tuple[int, Finding]]:  # noqa: ARG002 - what a rule may look at
        """Return those findings that compare rows of evaluation with rows of training, each with the loader of the former.

        `torch-doctor trace --data` shows them. The number is 0 where no loader gives the rows.
        """
        return ()

    def noted(self, trace: Trace) -> Iterable[ModelInput]:  # noqa: ARG002 - what a rule may look at
        """Return what is needed of one script to compare it with the others of its project."""
        return ()

    def between(self, noted: Sequence[ModelInput]) -> Iterable[Finding]:  # noqa: ARG002 - what a rule may look at
        """Return the findings that compare scripts of a project, by what was `noted` of all."""
        return ()

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002 - what a rule may look at
        """Return whether the probe run reached a static finding under conditions that would have exposed its bug.

        It is called only if `check` does not find the bug in the trace of the probe. True refutes the finding, False means that the
        line did not run, and a text is the reason why the run is not conclusive.
        """
        return "the rule cannot judge this from the probe run"

    def evidence(self, trace: Trace, finding: Finding) -> Iterable[Evidence]:  # noqa: ARG002 - as for `reached`
        """Return the numbers in the trace of the probe that confirm or refute a finding."""
        return ()

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as for `reached`
        """Return whether a finding of the probe is reported if the static witness has none at its place.

        A rule with `only_confirms` may return True for findings that nothing in the source can excuse.
        """
        return not self.only_confirms

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether a static finding and one of the probe, both of this rule, are the same bug.

        They are if they are at the same place or have the same cause.
        """
        return same_place(finding.site, seen.site) or (bool(finding.cause) and same_cause(finding, seen))

    def broken(self, finding: Finding) -> Broken | None:
        """Return the broken part that a finding of this rule is, behind which other bugs may hide; None if there is none."""
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
        """Return a finding of this rule that `edits` would fix, with a `level` that may be lower than that of the rule."""
        told = (self.code, self.name, max(level or self.level, self.level, key=list(Level).index))  # the lower level
        return Finding(*told, message, site, tuple(trail), help, cause, wide, edits=tuple(edits))

    @classmethod
    def reads(cls) -> frozenset[type[Event]]:
        """Return the events that this rule reads: those that its module, or a module of its package that it uses, names."""
        from torch_doctor.reading import events_named_in  # noqa: PLC0415 - not for a scan of which nothing is new

        return events_named_in(cls.__module__)

    @classmethod
    def page(cls) -> str:
        """Return the documentation page, in Markdown."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the page, without its full stop."""
        return cls.page().partition("\n")[0].rstrip(".")


def rules_in(package: str) -> Iterator[type[Rule]]:
    """Yield the rule classes that the modules of a package define, including those of its subpackages."""
    for name in modules(package):
        for member in vars(import_module(name)).values():
            ours = isinstance(member, type) and member.__module__ == name and issubclass(member, Rule)
            if ours and not inspect.isabstract(member):
                yield member


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all installed rules, sorted by code.

    An entry point of the group `torch_doctor.rules` names a callable that returns rule classes. Those that fail are left out.
    """
    return _installed()[0]


def left_out() -> tuple[str, ...]:
    """Return a line, with the reason, for each rule of an installed package that cannot be used."""
    return _installed()[1]


@cache
def _installed() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    return installed({})


def installed(known: Mapping[str, Iterable[Rule]]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return all installed rules, sorted by code, and a line for each that cannot be used.

    `known` has the rules of entry points that need not be loaded, by the values of these.
    """
    found: dict[str, tuple[Rule, str]] = {}
    problems: list[str] = []
    own = __name__.partition(".")[0]
    for offer in sorted(offers(ENTRY_POINT), key=lambda offer: not offer.module.startswith(own)):
        package = offer.package or offer.module
        found |= {rule.code: (rule, package) for rule in known.get(offer.value, ())}
        try:
            for each in () if offer.value in known else offer.load()():
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
    """Return why a rule cannot be used next to those found: another one has its code or name; "" if none has."""
    for other, package in found.values():
        if rule.code == other.code or rule.name == other.name:
            return f"{rule.code} {rule.name} clashes with {other.code} {other.name} of `{package}`; rename it"
    return ""


def unusable(thing: object) -> str:
    """Return why an object cannot be used as a rule; "" if it can."""
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
"""The attributes that a rule must define: the type of each, and its form."""
