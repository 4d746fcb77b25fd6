"""What has to be said of a run besides its findings: what stood in for what, what was refused, how it ended."""

from __future__ import annotations

import signal
from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.rule import Verdict, same_place
from torch_doctor.trace import Run, Stepped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.probe.interpreter import Interpreter
    from torch_doctor.probe.launch import Launched, Limits
    from torch_doctor.probe.verdicts import Judgement
    from torch_doctor.rule import Finding
    from torch_doctor.trace import StandIn, Trace

LONGEST_WORDS = 300
MADE_UP = ("values", "weights", "files", "arguments")  # stand-ins that a script may fail on
PLACE = 'File "'  # what the words of a SyntaxError begin with
LIMITS = {
    "time": "did not come to its end in {seconds:g} s and was stopped (see `--probe-timeout`)",
    "memory": "used more than {megabytes} MiB of memory and was stopped (see `--probe-memory`)",
    "disk": "was stopped because the disk is nearly full",
    "interrupt": "was interrupted after {after:.1f} s",
}


def ran(name: str, trace: Trace, python: Interpreter, seconds: float) -> str:
    """What ran the script, on what, how long, and how far it came."""
    run = trace.run or Run()
    device = "the GPU" if run.device == "cuda" else "the CPU"
    steps = len(trace.of(Stepped))
    where = f"in {len(trace.ranks)} processes on {device}" if trace.ranks else f"on {device}"
    return (
        f"{name} ran for {seconds:.1f} s {where} and came to {steps} update{'s' * (steps != 1)}: Python {run.python} "
        f"with torch {run.torch}, {python.path} ({python.origin})"
    )


def differences(name: str, run: Run) -> Iterator[str]:
    """A line for everything that was not as it would be without the probe; `name` is the script's."""
    alike: dict[tuple[str, str], list[StandIn]] = defaultdict(list)
    for stand_in in run.stand_ins:
        alike[stand_in.how, stand_in.why].append(stand_in)
    for (how, why), group in alike.items():
        asked = ", ".join(f"`{stand_in.what}`" for stand_in in group)
        yield f"{group[0].site or name}: {how} instead of {asked}{f' ({why})' if why else ''}"
    for told in run.refused:
        yield f"{told.site or name}: refused: {told.text}"
    for note in run.notes:
        yield f"{name}: {note}"


def ending(name: str, run: Run, launched: Launched, limits: Limits, which: str = "") -> str:
    """How a run ended that did not come to its end; empty where it did. More than one line where there is a traceback.

    `which` names the process that `run` is of, where several ran the script.
    """
    which = which or name
    end = run.end
    if launched.ended_for or end.how == "stopped":
        said = LIMITS[launched.ended_for or "time"]
        numbers = {"seconds": limits.seconds, "megabytes": limits.memory >> 20, "after": launched.seconds}
        return f"{name} {said.format(**numbers)}"
    if end.how == "asked":
        return "\n".join(f"{told.site or name}: {told.text}" for told in run.asked)
    if end.how == "exception":
        return _failure(which, run)
    if end.how == "killed":
        return f"{which} ended without a word: {_status(end.status or launched.status)}{_last_words(launched)}"
    if end.how == "exit" and end.status:
        return f"{which} left with status {end.status}{_last_words(launched)}"
    return ""


def late(runs: Sequence[Run]) -> str:
    """Where the processes of a distributed run were when its time was over: those that could say so."""
    places = [f"rank {rank} at {run.late.path}:{run.late.row}" for rank, run in enumerate(runs) if run.late is not None]
    return f"when its time was over: {', '.join(places)}" if places else ""


def _failure(name: str, run: Run) -> str:
    rows = [row.strip() for row in run.end.exception.splitlines() if row.strip()] or [""]
    if rows[0].startswith(PLACE):  # of a SyntaxError
        rows = [f"{rows[-1]} ({rows[0]})"]
    made_up = run.voids(*MADE_UP)
    how = "fails" if made_up or run.refused else "fails by itself"
    lines = [f"{name} {how}: {' '.join(rows)[:LONGEST_WORDS]}"]
    lines += [f"{frame.site.path}:{frame.site.row} in {frame.function}: {frame.line}" for frame in run.end.frames]
    lines += [told.text for told in run.missing]
    if made_up:
        lines.append(f"it runs on {made_up}: if that does not fit, that is why")
    if run.capped:
        loops = ", ".join(f"{site.path}:{site.row}" for site in run.capped)
        lines.append(f"the probe left loops early ({loops}): if it needs all their passes, that is why")
    return "\n    ".join(lines)


def explained(ending: str, findings: Sequence[Finding], trace: Trace) -> str:
    """What is said of a script's failure, with the findings that were confirmed at the line where it failed."""
    if trace.run is None or not trace.run.end.frames or not ending.startswith(f"{trace.path} fails"):
        return ending
    place = trace.run.end.frames[-1].site
    confirmed = [each for each in findings if each.verdict is Verdict.CONFIRMED and same_place(each.site, place)]
    return "\n    ".join([ending, *(f"{each.site}: {each.code} {each.name} is confirmed there" for each in confirmed)])


def unsaid(trace: Trace, judgement: Judgement) -> Iterator[str]:
    """A line for each stand-in that keeps a run from saying anything of some rules."""
    void: dict[str, list[str]] = defaultdict(list)
    for code, stand_in in judgement.void:
        void[str(stand_in)].append(code)
    yield from (f"{trace.path}: nothing can be said of {', '.join(codes)}: {why}" for why, codes in void.items())


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def _last_words(launched: Launched) -> str:
    lines = [line.strip() for line in launched.output.text().splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:LONGEST_WORDS]}" if lines else ""
