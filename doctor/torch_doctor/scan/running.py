"""The part of a scan that runs scripts: findings get their verdicts, and what only a run shows is added."""

from __future__ import annotations

import contextlib
import functools
import time
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from torch_doctor.probing import jobs_for, probed
from torch_doctor.rule import Verdict
from torch_doctor.scan.starting import of_a_folder, started
from torch_doctor.sources.discovery import display
from torch_doctor.static.tables.sinks import BY_PACKAGE
from torch_doctor.trace import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.probe import Outcome, Ways
    from torch_doctor.probing import Probing, Runnable
    from torch_doctor.rule import Finding
    from torch_doctor.scan.causes import Causes
    from torch_doctor.scan.flags import Flags
    from torch_doctor.scan.following import Follower
    from torch_doctor.scan.options import Options, Report
    from torch_doctor.sources.project import Project
    from torch_doctor.trace import Site, Trace


class Scanning(Protocol):
    """The scan that the runs belong to."""

    options: Options
    report: Report
    follower: Follower
    causes: Causes

    def take(self, finding: Finding, project: Project) -> None:
        """Let the report have a finding."""

    def show(self, site: Site, project: Project) -> None:
        """Let the report have the source that a site lies in."""


def give_verdicts(scan: Scanning, runnable: Sequence[Runnable]) -> None:
    """Give the findings so far their verdicts, and add those of the runs alone."""
    from torch_doctor.probe import Ways  # noqa: PLC0415 - only where it is asked for

    report, how = scan.report, scan.options.probe
    known = {(finding.code, finding.site) for finding in report.findings}
    report.findings += (each for each in scan.options.expected if (each.code, each.site) not in known)
    ways = Ways([trace for part in runnable for trace in part.traces], functools.partial(_sources, runnable))
    places = ways.places(report.findings)
    for trace, project in observed(scan, runnable, places):
        _take(scan, trace, project, ways)
    if how is None or not how.flags or report.interrupted:
        return
    from torch_doctor.scan.flags import flags_for  # noqa: PLC0415 - only where it is asked for

    flags = flags_for(report.findings, runnable)
    report.remarks += (each.told(scan.options.names.get(script) or display(script)) for script, each in flags.items())
    for trace, project in observed(scan, runnable, places, flags):
        script = next(path for path in flags if project.shown(path) == trace.path)
        _take(scan, trace, project, ways, flags[script].condition)


def _take(scan: Scanning, trace: Trace, project: Project, ways: Ways, condition: str | None = None) -> None:
    """Take in what one run shows; with a setting of its own, that is about the findings that need it, and those it adds."""
    from torch_doctor.probe import explained, judge, merged, unsaid, unsaid_rules  # noqa: PLC0415 - only where it is asked for

    report = scan.report
    judgement = judge(report.findings, trace, scan.options.rules, ways)
    report.findings[:] = [
        merged(finding, judged) if condition in (None, finding.condition) else finding
        for finding, judged in zip(report.findings, judgement.judged, strict=True)
    ]
    for finding in filter(scan.causes.is_new, judgement.new):
        scan.take(replace(finding, condition=condition or ""), project)
    for lines in (report.errors, report.warnings):
        lines[-1:] = [explained(line, report.findings, trace) for line in lines[-1:]]
    report.remarks += filter(None, [unsaid(trace, judgement)])
    report.notes += unsaid_rules(trace, judgement)
    report.remarks += _for_more_processes(scan.options, trace, judgement.judged)
    for code, error in judgement.failures:
        report.failed(f"the probe run of {trace.path} with {code}", error)
    for finding in report.findings:
        for evidence in finding.evidence:
            if evidence.site is not None:
                scan.show(evidence.site, project)


def _sources(runnable: Sequence[Runnable], site: Site) -> list[Site]:
    """The lines that the values of a line come from."""
    from torch_doctor.probe import fed_by  # noqa: PLC0415 - only where it is asked for

    for part in runnable:
        file = part.project.read(part.project.displayed(site.path))
        if file is not None:
            return [file.site(row, 1, row, 1) for row in fed_by(file.text, file.row_of(site))]
    return []


def observed(
    scan: Scanning,
    runnable: Sequence[Runnable],
    places: frozenset[Site] = frozenset(),
    flags: Mapping[Path, Flags] | None = None,
) -> Iterator[tuple[Trace, Project]]:
    """What the runs of the scripts that were named showed, of those that could be run, in their order.

    Of `places` they tell whether they came there. With `flags`, only the scripts that have some are run, with these.
    """
    from torch_doctor.probe import Attention, Own, Stop, side_by_side  # noqa: PLC0415 - only where it is asked for

    how = scan.options.probe
    if how is None:
        return
    how, stop = replace(how, sinks=BY_PACKAGE, places=places), Stop()
    if scan.options.cache is not None:
        from torch_doctor.scan.keeping import KeptLessons  # noqa: PLC0415 - only where it is asked for

        how = replace(how, kept=KeptLessons(scan.options.cache))
    each = (
        _started(scan, runnable)
        if flags is None
        else [(path, part) for part in runnable for path in part.scripts if path in flags]
    )
    how = replace(how, jobs=jobs_for(len(each), how))
    attention = Attention(follower=scan.follower, stop=stop)
    with contextlib.ExitStack() as stack:
        own = how.own or stack.enter_context(contextlib.closing(Own(several=len(each) > 1)))
        rules, how = scan.options.rules, replace(how, own=own)
        hows = [how if flags is None else flags[script].added_to(how, script) for script, _ in each]
        runs = [functools.partial(probed, *pair, rules, own, attention) for pair, own in zip(each, hows, strict=True)]
        start = time.perf_counter()
        for (script, part), outcome in zip(each, side_by_side(runs, how.jobs, stop), strict=True):
            scan.report.seconds["probe"] += time.perf_counter() - start
            _hear(scan, outcome, script, part, how)
            if outcome.trace is not None:
                yield outcome.trace, part.project
            start = time.perf_counter()
    scan.report.interrupted = stop.asked


def _started(scan: Scanning, runnable: Sequence[Runnable]) -> list[tuple[Path, Runnable]]:
    """The scripts that are run; what of a folder is not is said for `-v`."""
    report, options = scan.report, scan.options
    chosen = started(options, runnable)
    report.notes += chosen.left_out
    if of_a_folder(options):
        where = ", ".join(map(display, options.paths))
        if not chosen.scripts:
            told = report.errors if options.probe is not None and options.probe.required else report.warnings
            matches = ""
            if options.probe is not None and options.probe.scripts is not None:
                matches = " that matches `probe.scripts`"
            told.append(f"the probe found no training script under {where}{matches}: pass the script to run")
        elif len(chosen.scripts) > 1:
            names = ", ".join(display(script) for script, _ in chosen.scripts)
            report.remarks.append(f"running {len(chosen.scripts)} training scripts under {where}: {names}")
    return chosen.scripts


def _hear(scan: Scanning, outcome: Outcome, script: Path, part: Runnable, how: Probing) -> None:
    report = scan.report
    name = scan.options.names.get(script) or display(script)
    report.remarks += outcome.remarks
    report.notes += outcome.notes
    report.outputs[name] = report.outputs.get(name, "") + outcome.output
    unseen = _unseen(name, outcome, part)
    report.unseen += unseen
    if outcome.trace is not None:
        told = report.errors if how.required and (outcome.failed or unseen) else report.warnings
        told += [outcome.ending] if outcome.ending else unseen if how.required else []
    elif how.required:
        report.errors.append(f"the probe could not run {name}: {outcome.ending}")
    else:
        report.warnings.append(
            f"the probe could not run {name}, so findings are from static analysis alone: {outcome.ending}"
        )


def _unseen(name: str, outcome: Outcome, part: Runnable) -> list[str]:
    """Return whether a run was stopped early, or reached no optimizer step although there is an optimizer, in words."""
    why = f": {outcome.why}" if outcome.why else ""
    if outcome.stopped:
        return [f"{name} was stopped before it finished"]
    if outcome.trace is not None and outcome.trace.run is not None and outcome.trace.run.alone:
        return [f"{name} did not reach its training loop{why}"]
    traces = part.traces if outcome.trace is None else (*part.traces, outcome.trace)
    if outcome.trace is not None and outcome.trace.of(EVENTS["Stepped"]):
        return []
    if not why and not any(trace.of(EVENTS["OptimizerBuilt"]) for trace in traces):
        return []
    return [f"{name} reached no optimizer step{why}"]


def _for_more_processes(options: Options, trace: Trace, judged: Sequence[Finding]) -> Iterator[str]:
    """What a run in several processes would decide."""
    undecided = {finding.code for finding in judged if finding.verdict is Verdict.UNDECIDED}
    rules = [f"{rule.code} {rule.name}" for rule in options.rules if rule.compares_ranks and rule.code in undecided]
    if rules and options.probe is not None and options.probe.processes == 1:
        yield f"{trace.path}: `--probe-processes 2` can decide {', '.join(rules)}"
