"""Runs a checkup: scans the script, has it climb the ladder, and puts together what came of both."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.checkup.advising import advice, cause
from torch_doctor.checkup.comparing import with_scale
from torch_doctor.checkup.evaluating import with_evaluation
from torch_doctor.checkup.linking import doubting, explaining, pointing, preventing
from torch_doctor.checkup.outcome import RUNGS, Checkup, Rung
from torch_doctor.checkup.provenance import with_provenance
from torch_doctor.checkup.scoring import with_metric
from torch_doctor.probing import Probing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.probe.climb import Climb
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Follower, Report
    from torch_doctor.trace import Trace

SECONDS = 120.0
FIRST = 0.4
"""The part of the time that the scan's own run of the script may take."""
RECEIPT = "receipt"
NO_RUN = "the script could not be run"
NO_TORCH = "the script does not use torch: pass the one that trains"
NO_SAMPLES = "samples of the data are left out because CI is set; `--show-samples` includes them"


class Listener(Protocol):
    """Hears how a checkup goes on, in the order of the rungs; each method is called by the thread that runs it."""

    def scanning(self, script: str) -> None:
        """The script is read, and run for the verdicts of the scan."""

    def rung_started(self, name: str) -> None:
        """A rung begins."""

    def rung_ended(self, rung: Rung) -> None:
        """A rung is done; what explains its failure is not linked yet where the scan is not done."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be examined: `scan` are the options of the scan, whose `paths` are the script alone.

    `seconds` is the time for everything, and `rungs` are the names of those that are wanted. `verdicts`: the
    script is run by the probe first, so that findings get their verdicts. `every`: rungs that a failed one makes meaningless
    are climbed as well. `samples`: inputs of the script's data are part of the result, as pictures, text or values.
    `examples`: the rung overfit-one-batch trains on as many samples of its batch; 0: on all.
    """

    scan: scanning.Options
    script: Path
    shown: str
    seconds: float = SECONDS
    rungs: tuple[str, ...] = RUNGS
    verdicts: bool = True
    every: bool = False
    samples: bool = True
    examples: int = 0


class Examined(Struct, frozen=True):
    """The checkup, the report of the scan in it, and the run in which the ladder was climbed."""

    checkup: Checkup
    report: Report
    climb: Climb


def checkup(wanted: Wanted, listener: Listener, follower: Follower | None = None) -> Examined:
    """Examines a script; the findings of the scan and its verdicts are part of the result.

    `listener` hears each rung, and `follower` what the scan is at.
    """
    from torch_doctor.probe import judge  # noqa: PLC0415 - only where something runs
    from torch_doctor.probe.climb import Climb  # noqa: PLC0415 - as above

    start = time.monotonic()
    listener.scanning(wanted.shown)
    told: dict[str, Rung] = {}
    about: dict[str, tuple[str, ...]] = {}

    @functools.cache
    def confirmed() -> Sequence[Finding]:
        return () if climb.trace is None else judge((), climb.trace, wanted.scan.rules).new

    def ended(record: dict[str, Any]) -> None:
        rung = _rung(record, ())
        if rung is not None and rung.name not in told:
            told[rung.name] = rung
            about[rung.name] = tuple(map(str, record.get("about") or ()))
            rung = _with_run(rung, climb.trace, confirmed())
            listener.rung_ended(_linked(rung, rung.about or about[rung.name], confirmed()))

    alone = not wanted.verdicts
    climb = Climb(wanted.rungs, wanted.seconds, alone, wanted.every, wanted.samples, wanted.examples)
    climb.begun, climb.told, climb.shown = listener.rung_started, ended, _shown
    how = wanted.scan.probe or Probing()
    how = replace(how, climb=climb, seconds=min(how.seconds, wanted.seconds * FIRST))
    report = scanning.scan(replace(wanted.scan, probe=how), follower)
    rungs = []
    for name in wanted.rungs:
        rung = told.get(name)
        if rung is None:
            rung = Rung(name, "skipped", _why(climb, report, wanted.script))
            listener.rung_ended(rung)
        if name == RECEIPT:
            before, rung = rung.status, with_provenance(rung, wanted.script, climb)
            if rung.status != before:
                about[name] = ("checkpoint",)
        rung = _with_run(replace(rung, about=list(about.get(name, ()))), climb.trace, report.findings)
        rungs.append(_linked(rung, rung.about, report.findings))
    checked = Checkup(
        script=wanted.shown,
        arguments=list(how.args_for(wanted.script)),
        device=climb.device,
        rungs=pointing(rungs),
        findings=report.findings,
        remarks=[*report.remarks, *report.warnings, *([] if wanted.samples else [NO_SAMPLES])],
        seconds=round(time.monotonic() - start, 3),
        error=climb.error,
        own=climb.own,
        cause=climb.interface or cause(climb.trace),
        advice=advice(rungs, climb.trace, report.findings),
    )
    return Examined(checked, report, climb)


def _with_run(rung: Rung, trace: Trace | None, findings: Sequence[Finding]) -> Rung:
    """A rung with what the probe run adds to it."""
    return with_scale(with_metric(with_evaluation(rung, trace, findings), trace, findings), trace)


def failed(examined: Checkup) -> bool:
    """Whether a rung failed, or the script stops with an error of its own before it trains."""
    return examined.own or any(rung.status == "failed" for rung in examined.rungs)


def _shown(path: str) -> str:
    """What the path of a file is called: relative to the folder in which the checkup was started, if it is there."""
    here = Path.cwd()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path


def _rung(record: dict[str, Any], findings: tuple[Finding, ...]) -> Rung | None:
    """What the agent said of a rung; None where it makes no sense, as when the script wrote it."""
    try:
        return msgspec.convert({**record, "findings": list(findings)}, Rung)
    except msgspec.ValidationError:
        return None


def _linked(rung: Rung, about: Sequence[str], findings: Sequence[Finding]) -> Rung:
    """A rung that failed with the findings that explain it; one that told nothing failed where confirmed ones do.

    One that passed has no verdict where a confirmed finding says otherwise.
    """
    proved = preventing(rung, findings)
    if proved:
        codes, first = _codes(proved), proved[0]
        then = f"{first.code} at {first.site}: {first.help}" if first.help else f"{first.code} at {first.site}"
        rung = replace(rung, status="failed", reason=f"{rung.reason}, and {codes} confirmed", next=then)
        return replace(rung, findings=proved)
    doubted = doubting(rung, findings)
    if doubted:
        reason = f"not conclusive while {_codes(doubted)} confirmed: {rung.reason}"
        return replace(rung, status="shown", reason=reason, findings=doubted)
    return replace(rung, findings=explaining(about, findings)) if rung.status == "failed" else rung


def _codes(findings: list[Finding]) -> str:
    """Their codes, with the verb that follows."""
    codes = list(dict.fromkeys(each.code for each in findings))
    return f"{', '.join(codes)} {'is' if len(codes) == 1 else 'are'}"


def _why(climb: Climb, report: Report, script: Path) -> str:
    """Why a rung said nothing."""
    if report.interrupted:
        return "the checkup was interrupted"
    said = climb.ending or next(iter((*report.errors, *report.warnings)), "")
    if said:
        return said.splitlines()[0]
    return NO_RUN if b"torch" in script.read_bytes() else NO_TORCH
