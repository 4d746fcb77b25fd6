"""A fixture and its rewritten forms, scanned and compared."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.marks import FIXTURES, scripts_of
from tests.metamorphic.project import NotRewritableError, Origin, Project, read
from tests.metamorphic.transformation import Kind
from torch_doctor.probing import Probing
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options
from torch_doctor.scan.causes import Causes
from torch_doctor.scan.pipeline import Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.metamorphic.transformation import Transformation
    from torch_doctor.rule import Rule


SECONDS = 60.0


@dataclass(frozen=True, order=True)
class Reported:
    """A finding, at the lines of the fixture that its rows stem from, with the verdict of a run where there was one.

    One that stands for several is at the lines of each: which of them comes first in a file depends on how it is written.
    """

    code: str
    origins: frozenset[Origin]
    text: str
    verdict: str = ""

    def is_at(self, other: Reported) -> bool:
        same = (self.code, self.verdict) == (other.code, other.verdict)
        return same and bool(self.origins & other.origins)


@dataclass(frozen=True)
class Break:
    """A rewritten form whose findings are not those of the fixture."""

    rewritten: Project
    appeared: tuple[Reported, ...] = ()
    vanished: tuple[Reported, ...] = ()
    error: str = ""

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in (*self.appeared, *self.vanished)}

    def __str__(self) -> str:
        lines = [f"- {finding.text}" for finding in self.vanished]
        lines += [f"+ {finding.text}" for finding in self.appeared]
        return "\n".join([*lines, *([self.error] if self.error else [])])


@dataclass(frozen=True)
class Outcome:
    """What became of a fixture under a transformation: how many forms it has, and which of them break the promise."""

    variants: int
    breaks: tuple[Break, ...]
    codes: frozenset[str]
    """The rules that report something in the fixture."""

    @property
    def applies(self) -> bool:
        return self.variants > 0

    @property
    def holds(self) -> bool:
        return not self.breaks


@cache
def fixture_named(name: str) -> Project | None:
    """A fixture; nothing if it cannot be rewritten."""
    try:
        return read(FIXTURES / name)
    except NotRewritableError:
        return None


@cache
def said_before(name: str, *, probe: bool) -> tuple[Reported, ...]:
    """What a fixture reports as it is."""
    project = fixture_named(name)
    return () if project is None else scanned(project, probe=probe)


def check(name: str, transformation: Transformation, *, probe: bool = False) -> Outcome:
    """Whether the transformation keeps its promise at the fixture of this name; with `probe`, the verdicts, too."""
    project = fixture_named(name)
    if project is None or (probe and not transformation.runs):
        return Outcome(0, (), frozenset())
    try:
        forms = list(transformation.variants(project))
    except Exception as error:
        message = f"{transformation.name} fails at {name}"
        raise RuntimeError(message) from error
    if probe and not forms:
        return Outcome(0, (), frozenset())  # a run for nothing
    before = said_before(name, probe=probe)
    breaks = [broken for rewritten in forms if (broken := _compared(before, rewritten, transformation, probe))]
    return Outcome(len(forms), tuple(breaks), frozenset(finding.code for finding in before))


def _compared(
    before: tuple[Reported, ...], rewritten: Project, transformation: Transformation, probe: bool
) -> Break | None:
    if error := next(filter(None, (_invalid(rewritten, path) for path in rewritten.modules)), ""):
        return Break(rewritten, error=error)
    after = scanned(rewritten, probe=probe)
    appeared = _without_partner(after, before, transformation)
    vanished = _without_partner(before, after, transformation) if transformation.kind is Kind.KEPT else ()
    return Break(rewritten, appeared, vanished) if appeared or vanished else None


def _invalid(rewritten: Project, path: str) -> str:
    try:
        compile(rewritten.code(path), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"the rewritten form is not valid: {path}:{error.lineno}: {error.msg}"
    return ""


def _without_partner(
    findings: tuple[Reported, ...], others: tuple[Reported, ...], transformation: Transformation
) -> tuple[Reported, ...]:
    return tuple(
        finding
        for finding in findings
        if finding.code not in transformation.unless and not any(finding.is_at(other) for other in others)
    )


class _EveryStep(Causes):
    """The findings of a project, those too that are only a step of what another one tells.

    When the other one is hidden, they come to light, and have been there before.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        super().__init__(rules)
        self._step_of = dict.fromkeys(self._step_of, frozenset[str]())


class _EveryFinding(Scan):
    """A scan that reports them."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.causes = _EveryStep(options.rules)


def scanned(project: Project, *, probe: bool = False) -> tuple[Reported, ...]:
    """All findings in a project that lies alone, by all rules; with `probe`, what runs of its scripts say of them."""
    with alone() as folder:
        written = tuple(project.write(folder))
        paths, probing = (tuple(scripts_of(folder)), Probing(seconds=SECONDS)) if probe else (written, None)
        options = Options(paths=paths, rules=tuple(all_rules()), probe=probing)
        report = _EveryFinding(options).run()
    return tuple(
        Reported(
            finding.code,
            frozenset().union(
                *(project.origins(each.site.path, each.site.row) for each in (finding, *finding.members))
            ),
            f"{finding.site} {finding.code} {finding.verdict.value if finding.verdict else ''} {finding.message}",
            finding.verdict.value if finding.verdict else "",
        )
        for finding in report.findings
    )


@contextmanager
def alone() -> Iterator[Path]:
    """An empty working directory, as a user's project would be."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
