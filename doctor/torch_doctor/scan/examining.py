"""Examines one file of a project after the other: its traces, and what the rules find in them."""

from __future__ import annotations

import contextlib
import gc
import time
from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor.rule import Finding  # noqa: TC001 - msgspec reads it
from torch_doctor.scan.options import Told
from torch_doctor.scan.silencing import UNREADABLE_CODE, Silencing
from torch_doctor.scan.unfollowed import Heard, given_up
from torch_doctor.sources.project import Project
from torch_doctor.static import Failure, Followed, OutOfTime, Spending, Witness
from torch_doctor.trace import Dependencies, Escaped, ModelInput, Scope, ScopeKind, Site, Trace, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.rule import Rule
    from torch_doctor.scan.gathering import Gathering, Turn
    from torch_doctor.scan.options import Options
    from torch_doctor.sources.ignores import Ignores
    from torch_doctor.sources.source import Problem, SourceFile
    from torch_doctor.trace import Event

Recall: TypeAlias = "Callable[[Turn], Examined | None]"
Learn: TypeAlias = "Callable[[Turn, Examined], None]"

MOST_CHARACTERS = 5_000_000
"""Source that one witness lowers before another takes over, so that memory stays flat: each takes some sixty bytes."""


class Examined(Told, kw_only=True):
    """What was found out about one file, in words that another process understands.

    `findings` are in the order in which they were found. `callers` are other scripts that were run to learn how they call
    the functions of the file: what is found there is reported only in files that somebody asked about. `ended`: the time was
    over, so that another scan may find more. `open` are the files whose runs handed something to code out of sight, or gave
    up: what the source does not show there, a run may. `noted` is what rules keep to compare files, by their codes.
    """

    findings: list[Finding] = field(default_factory=list)
    followed: Followed = field(default_factory=Followed)
    heard: Heard = field(default_factory=Heard)
    depends: Dependencies | None = None
    callers: dict[str, Examined] = field(default_factory=dict)
    ended: bool = False
    open: set[str] = field(default_factory=set)
    noted: dict[str, list[ModelInput]] = field(default_factory=dict)

    @contextlib.contextmanager
    def guarding(self, what: str) -> Iterator[None]:
        """An error of ours within is said, and costs nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest is still reported
            self.failed(what, error)


class Context(Struct, frozen=True):
    """What a process has to know to examine files of a project.

    `given` are the files of the scan, and `worked_out` is what is known of the texts of files; see `Project`.
    """

    options: Options
    root: Path
    ignores: Ignores
    given: frozenset[Path]
    wanted: frozenset[type[Event]] | None
    worked_out: dict[tuple[str, Path], list[str]]

    def project(self) -> Project:
        """The project, of which nothing was read."""
        options = self.options
        project = Project(self.root, self.ignores, options.overlay, options.names, options.torch)
        project.given = self.given
        project.worked_out = dict(self.worked_out)
        return project


class Examiner:
    """Examines the files of a project.

    `hear` gets every trace; without `judges` no rule does.
    """

    def __init__(self, context: Context, hear: Callable[[Trace], None] | None = None, *, judges: bool = True) -> None:
        self._options = context.options
        self._wanted = context.wanted
        self._project = context.project()
        self._spending = Spending()
        self._witness = self._new_witness()
        self._silencing = Silencing(context.options)
        self._hear = hear
        self._judges = judges
        self._callers: dict[Path, Examined] = {}
        self._now = Examined()
        self._settings: defaultdict[str | None, set[tuple[str, Site]]] = defaultdict(set)  # what was found with which
        self._by_default = False  # whether a run with the defaults came to its end

    def close(self) -> None:
        """End what runs beside the scan."""
        self._witness.close()

    def _new_witness(self) -> Witness:
        """A witness that has imported nothing."""
        return Witness(
            self._project,
            wanted=self._wanted,
            environment=self._options.environment,
            spending=self._spending,
            follow=self._follow,
        )

    def file(self, path: Path, before: Followed) -> Examined:
        """Examine a file; `before` is what the runs of those that import it have come to."""
        if self._witness.characters > MOST_CHARACTERS:
            self._witness.close()
            del self._witness
            gc.collect(1)  # what it knew refers to itself, and is younger than what it was collected for the last time
            self._witness = self._new_witness()
        found = self._now = Examined(seconds=dict.fromkeys(("read", "parse", "execute", "judge"), 0.0))
        stages = dict(self._project.seconds)
        file, shown = None, self._project.shown_as(path)
        with found.guarding(shown):
            file = self._project.read(path)
        if file is None:
            return found
        with found.guarding(shown):
            self._settings.clear()
            self._by_default = False
            self._listen(self._witness.file(file, before), found)
            found.findings = [self._with_condition(finding) for finding in found.findings]
        with found.guarding(shown), contextlib.suppress(OutOfTime), self._spending.ending(shown):
            found.heard.explain(file, self._project, self._witness.imports, self._wanted)
        with found.guarding(shown):
            found.followed, found.depends = self._witness.followed(), self._witness.dependencies()
        with found.guarding(shown):
            for trace in self._unreadable(file, found):
                if self._hear is not None:
                    self._hear(trace)
                if self._judges:
                    self._judge(trace, found)
        with found.guarding(shown):
            found.warnings += self._silencing.problems(file)
        for name, why in self._spending.ended():
            found.ended = True
            found.heard.ended[name] = Site(name, 1, 1, 1, 1), why
        for stage, seconds in self._project.seconds.items():
            found.seconds[stage] += seconds - stages[stage]
        return found

    def _follow(self, path: Path) -> Followed:
        """Run another script of the project, once for all files whose functions it may call."""
        outer = self._now
        found = self._callers.get(path)
        if found is None:
            found = self._callers[path] = self._now = Examined(seconds={"execute": 0.0, "judge": 0.0})
            file = self._project.read(path)
            if file is not None:
                self._listen(self._witness.caller(file), found)
                found.followed, found.depends = self._witness.followed(), self._witness.dependencies()
            self._now = outer
        outer.callers[str(path)] = found
        return found.followed

    def _listen(self, stream: Iterator[Trace | Failure], found: Examined) -> None:
        for told in self._timed(stream, found):
            if isinstance(told, Failure):
                found.failed(told.path, told.error)
                continue
            if self._hear is not None and told.setting is None:
                self._hear(told)
            if self._judges:
                self._by_default |= told.setting == "" and told.complete
                self._judge(told, found)
            with found.guarding(told.path):
                if not told.meant and told.setting is None:
                    found.heard.hear(told)

    def _timed(self, stream: Iterator[Trace | Failure], found: Examined) -> Iterator[Trace | Failure]:
        """What comes of a stream; the time that it takes, without reading, parsing and other files, is counted."""
        while True:
            start, before = time.perf_counter(), self._elsewhere(found)
            try:
                told = next(stream, None)
            finally:
                found.seconds["execute"] += time.perf_counter() - start - (self._elsewhere(found) - before)
            if told is None:
                return
            yield told

    def _elsewhere(self, found: Examined) -> float:
        others = (each.seconds for each in found.callers.values())
        return sum(self._project.seconds.values()) + sum(each["execute"] + each["judge"] for each in others)

    # --- what is not valid ---

    def _unreadable(self, file: SourceFile, found: Examined) -> Iterator[Trace]:
        """A trace that says what of the file is not valid, if anything is."""
        problems = self._project.problems(file.path)
        if wrong := [problem for problem in problems if problem.wrong]:
            yield _trace_of_problems(file, wrong)
        for problem in problems:
            if not problem.wrong:
                found.remark(f"{problem.site}: skipped: {problem.reason}")
        if wrong and not any(rule.code == UNREADABLE_CODE for rule in self._options.rules):
            found.warnings.append(f"{wrong[0].site} is not valid Python: {wrong[0].reason}")

    # --- what the rules say ---

    def _judge(self, trace: Trace, found: Examined) -> None:
        start = time.perf_counter()
        stopped = given_up(trace)
        for event in stopped:
            run = "" if event.site.path == trace.path else f" (in the run of {trace.path})"
            found.remark(f"{event.site}: analysis stopped: {event.reason}{run}")
        escaped = trace.of(Escaped)
        if stopped or escaped:
            found.open |= {event.site.path for event in trace.events}
        with contextlib.suppress(OutOfTime), self._spending.ending(trace.path):
            for rule in self._options.rules:
                self._ask(rule, trace, found)
            for rule in self._options.hiding:
                self._ask(rule, trace, found, tells=False)
        found.seconds["judge"] += time.perf_counter() - start

    def _ask(self, rule: Rule, trace: Trace, found: Examined, *, tells: bool = True) -> None:
        try:
            for finding in rule.check(trace):
                if tells and finding.site not in trace.invented:
                    behind = tuple(sorted(trace.meant, key=attrgetter("site")))
                    needs = trace.condition(*finding.shown())
                    trace.conditional |= bool(needs)
                    told = replace(finding, behind=behind, condition=needs) if behind or needs else finding
                    if not trace.naming:
                        found.findings.append(told)
                    self._settings[trace.setting].add((finding.code, finding.site))
                broken = rule.broken(finding)
                if broken is not None and not self._is_silenced(finding):
                    trace.broken.add(broken)
            noted = [*rule.noted(trace)] if tells and not trace.meant and trace.setting is None else []
            if noted:
                found.noted.setdefault(rule.code, []).extend(noted)
        except Exception as error:  # noqa: BLE001 - one rule's failure is not the others'
            found.failed(f"{trace.path} with {rule.code}", error)

    def _with_condition(self, finding: Finding) -> Finding:
        """Return a finding with the setting that it needs, if it was found with that one, and not with the defaults."""
        key = finding.code, finding.site
        if finding.condition or not self._by_default or key in self._settings[""]:
            return finding
        return replace(
            finding, condition=next((each for each, keys in self._settings.items() if each and key in keys), "")
        )

    def _is_silenced(self, finding: Finding) -> bool:
        path = self._project.displayed(finding.site.path)
        return self._silencing.silences(finding, path, self._project.read(path))


def _trace_of_problems(file: SourceFile, problems: Sequence[Problem]) -> Trace:
    trace = Trace(file.display)
    scope = Scope(ScopeKind.ROOT, problems[0].site)
    for problem in problems:
        trace.add(Unreadable(site=problem.site, scope=scope, reason=problem.reason, older=problem.older))
    return trace


def alone(gathering: Gathering, examiner: Examiner, recall: Recall, learn: Learn) -> Iterator[tuple[Path, Examined]]:
    """What is found out about the files, in this process; what `recall` knows is not found out again, `learn` gets the rest."""
    while (turn := gathering.ready()) is not None:
        found = recall(turn)
        if found is None:
            found = examiner.file(turn.path, turn.before)
            learn(turn, found)
        gathering.take(turn.path, found.followed)
        yield turn.path, found
