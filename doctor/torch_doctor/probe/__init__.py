"""The second witness: runs the real script under instrumentation, so that every finding gets a verdict."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_doctor.environments import NoInterpreterError
from torch_doctor.probe import remarks, unreached
from torch_doctor.probe.feeding import fed_by
from torch_doctor.probe.following import Attention, Follower, Stop
from torch_doctor.probe.hearing import heard
from torch_doctor.probe.interpreter import interpreter
from torch_doctor.probe.launch import Limits, launched
from torch_doctor.probe.lessons.course import Course
from torch_doctor.probe.older_versions import unsupported
from torch_doctor.probe.plan import AGAIN, LessonKeeper, Request, again, foreseen, plan
from torch_doctor.probe.protocol import Reader
from torch_doctor.probe.ranks import failed
from torch_doctor.probe.remarks import exits, explained, unsaid, unsaid_rules
from torch_doctor.probe.running import side_by_side
from torch_doctor.probe.scratch import scratch_folder
from torch_doctor.probe.server import NoServerError, Own, address, ready
from torch_doctor.probe.verdicts import Judgement, judge, merged
from torch_doctor.probe.ways import Ways
from torch_doctor.trace import ArrayRead, DevicesAgreed, DevicesMet, End, MoveLost, ParameterMoved, RowMoved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.probe.hearing import Heard
    from torch_doctor.probe.interpreter import Interpreter
    from torch_doctor.probe.launch import Launched
    from torch_doctor.rule import Rule
    from torch_doctor.trace import Site, Trace

__all__ = [
    "Attention",
    "Follower",
    "Judgement",
    "LessonKeeper",
    "Names",
    "Outcome",
    "Own",
    "Request",
    "Stop",
    "Ways",
    "exits",
    "explained",
    "fed_by",
    "judge",
    "merged",
    "probe",
    "side_by_side",
    "unsaid",
    "unsaid_rules",
]

GPU = b"cuda"
UNREAD = "part of the probe's recording could not be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a probe.

    `trace` holds what was seen; it is None where the probe could not run, and `ending` says why. Else `ending` tells how
    the script ended, where that was not its end, and `stopped` that it was stopped before. `remarks` are lines on what ran
    it, how far it came and what stood in for what. `output` is what the script printed, `seconds` how long it took, and
    `peak` the most memory, in bytes. `notes` tell of the attempts that stopped early.
    """

    trace: Trace | None = None
    ending: str = ""
    stopped: bool = False
    remarks: tuple[str, ...] = ()
    output: str = ""
    seconds: float = 0.0
    peak: int = 0
    notes: tuple[str, ...] = ()
    why: str = ""

    @property
    def failed(self) -> bool:
        """Whether the script ended with an exception."""
        return self.trace is not None and self.trace.run is not None and self.trace.run.end.how == "exception"


@dataclass(frozen=True, slots=True)
class Names:
    """How users see the files of a run: `shown` gives a file's name, `absolute` the file of a name.

    `placed` turns a row of the text of a notebook into the cell and the row there, and `laid` turns it back.
    """

    shown: Callable[[Path], str]
    absolute: Callable[[str], Path]
    placed: Callable[[Site], Site]
    laid: Callable[[Site], Site] = lambda site: site


def probe(
    request: Request, rules: Sequence[Rule], traces: Sequence[Trace], names: Names, waits: Attention | None = None
) -> Outcome:
    """Runs a script as far as the rules need it; `traces` is what the static witness saw of it.

    Who `waits` hears what it is at, and may end it.
    """
    name = names.shown(request.script)
    attention = replace(waits or Attention(), script=name)
    limits = Limits(seconds=request.seconds, memory=request.memory)
    text, read = functools.partial(_text, names), functools.partial(_reader, name, names)
    expected, course = foreseen(traces), Course(request, name, text, traces)

    def attempt(scheme: dict[str, Any], seconds: float) -> Heard:
        done = launched(python.path, scheme, replace(limits, seconds=seconds), attention)
        return heard(done, read, expected)

    try:
        python = interpreter(request.python, request.root)
        with scratch_folder() as scratch:
            first = plan(request, scratch, rules, traces, names.absolute, laid=names.laid, text=text)
            first |= course.told(request.seconds)
            first["server"], word = _server(request, python, rules, attention)
            if (alone := _alone(request, python.path, first, attention)) is not None:
                return alone
            course.hear(attempt(first, request.seconds))
        best = course.ended(first, python.path, attempt, attention)
    except NoInterpreterError as error:
        return Outcome(ending=str(error))
    except OSError as error:
        return Outcome(ending=f"{name} cannot be run: {error.strerror or error}")
    done, reader, learnt = best.launched, best.reader, course.end()
    outcome = replace(_outcome(name, best.readers, done, limits), seconds=course.seconds, notes=tuple(course.notes))
    outcome = replace(outcome, why=_why(course.stopped or best, traces, text))
    outcome = _with_versions(_as_stopped(outcome, course, name, limits), reader, request)
    if reader.greeted:
        ran = remarks.ran(name, reader.trace, python, outcome.seconds)
        outcome = replace(outcome, remarks=(ran, *filter(None, [word, learnt]), *outcome.remarks))
    if request.device == "cuda" and reader.greeted and reader.run.device != "cuda":
        return replace(outcome, trace=None, ending=f"torch of {python.path} finds no GPU: omit `--device`")
    _climb(request, python.path, first, outcome, attention)
    left = request.seconds - course.seconds
    if (
        request.climb is None
        and request.figures is None
        and outcome.trace is not None
        and reader.greeted
        and left > done.seconds
        and not attention.stop.asked
        and _asks_for_gpu(outcome.trace, rules, names)
    ):
        with scratch_folder() as scratch:
            later = replace(limits, seconds=left)
            other = launched(python.path, again(first, scratch, left), later, attention)
        second = _reader(name, names, other.lines)
        for event in second.trace.events if not second.run.doubt and not second.garbled else ():
            if isinstance(event, (ArrayRead, DevicesAgreed, DevicesMet, MoveLost, ParameterMoved, RowMoved)):
                outcome.trace.add(event)
        return replace(outcome, seconds=course.seconds + other.seconds, peak=max(done.peak, other.peak))
    return outcome


def _alone(request: Request, python: Path, first: dict[str, Any], attention: Attention) -> Outcome | None:
    """What comes of a checkup before which no probe is wanted; None where there is no such checkup."""
    if request.climb is None or not request.climb.alone:
        return None
    _climb(request, python, first, Outcome(), attention)
    return Outcome(ending=request.climb.ending)


def _climb(request: Request, python: Path, first: dict[str, Any], outcome: Outcome, attention: Attention) -> None:
    """Runs the script for the checkup that is wanted, if one is."""
    from torch_doctor.probe.climbing import climbed  # noqa: PLC0415 - only for a checkup

    climb = request.climb
    if climb is None or attention.stop.asked:
        return
    climb.trace, climb.python = outcome.trace, str(python)
    limits = Limits(seconds=max(1.0, climb.seconds - outcome.seconds), memory=request.memory)
    climbed(climb, python, first, limits, attention)


def _server(request: Request, python: Interpreter, rules: Sequence[Rule], attention: Attention) -> tuple[str, str]:
    """The address of a server that forks the run; empty where there is none, and a word where one was wanted."""
    if request.processes > 1:
        return "", "no probe server: torchrun starts the processes" if request.server else ""
    try:
        if request.server:
            path = address(python.path, python.torch)
            ready(python.path, path, attention)
        elif request.own is not None and request.own.serves(request.script, again=_may_run_again(request, rules)):
            path = request.own.address(python.path, attention)
        else:
            return "", ""
    except NoServerError as error:
        return "", f"no probe server: {error}; the script was started without it" if request.server else ""
    return str(path), ""


def _may_run_again(request: Request, rules: Sequence[Rule]) -> bool:
    """Whether there will be a run in which the script is told that there is a GPU, as far as its own text tells."""
    return any(rule.needs & AGAIN for rule in rules) and GPU in request.script.read_bytes()


def _reader(name: str, names: Names, lines: Sequence[bytes]) -> Reader:
    reader = Reader(name, lambda path: names.shown(Path(path)), names.placed)
    reader.read(lines)
    return reader


def _text(names: Names, name: str) -> str:
    """The text of a file that users see by this name; nothing where it cannot be read."""
    try:
        return names.absolute(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _asks_for_gpu(trace: Trace, rules: Sequence[Rule], names: Names) -> bool:
    """Whether one of the rules wants to know where tensors are, and the text of what ran speaks of a GPU."""
    alone = trace.run is not None and trace.run.alone  # the script does not come so far
    if alone or not any(rule.needs & AGAIN for rule in rules):
        return False
    paths = {trace.path, *(event.site.path for event in trace.events)}
    return any(GPU in path.read_bytes() for path in map(names.absolute, paths) if path.is_file())


def _as_stopped(outcome: Outcome, course: Course, name: str, limits: Limits) -> Outcome:
    """The same; where the training loop was run alone, with how the script itself ended."""
    if course.stopped is None:
        return outcome
    stopped = _outcome(name, course.stopped.readers, course.stopped.launched, limits)
    run = course.stopped.reader.run
    if outcome.trace is not None and run.end.how == "end":
        outcome.trace.ended = stopped.trace
    where = exits(run)
    return replace(outcome, ending=stopped.ending or (where and f"{name} {where}"), stopped=False)


def _why(heard: Heard, traces: Sequence[Trace], text: Callable[[str], str]) -> str:
    """What kept a script from an update; empty where it made one, or did not come to its end."""
    run = heard.reader.run
    if run.end.how not in ("end", "exit") or remarks.updates(heard.reader.trace):
        return ""
    return unreached.said(heard.reader.trace, heard.launched, unreached.why(traces, run, text))


def _with_versions(outcome: Outcome, reader: Reader, request: Request) -> Outcome:
    """The same, with a line where an exception ended the run of a project that asks for another torch."""
    if not outcome.ending or reader.run.end.how != "exception":
        return outcome
    why = unsupported(request.allowed(request.script.parent).newest, reader.run.python)
    return replace(outcome, ending=f"{outcome.ending}\n    {why}") if why else outcome


def _outcome(name: str, readers: Sequence[Reader], launched: Launched, limits: Limits) -> Outcome:
    reader, several = readers[0], len(readers) > 1
    run = reader.run
    wrong = failed(readers) if several else 0
    if launched.ended_for or (launched.status < 0 and not several):
        run.end = End(how="killed", status=launched.status)
    if garbled := sum(each.garbled for each in readers):
        run.notes.append(f"{garbled} lines of the probe's recording could not be read; please report it")
        run.doubt = UNREAD
    run.doubt = next(filter(None, (each.run.doubt for each in readers)), "")
    if launched.foreign:
        run.notes.append(
            f"the script wrote {launched.foreign:,} bytes to the probe's file descriptor; they were ignored"
        )
    which = f"{name} (rank {wrong} of {len(readers)})" if several else name
    ending = remarks.ending(name, readers[wrong].run, launched, limits, which)
    if ending and several and (late := remarks.late([each.run for each in readers])):
        ending = f"{ending}\n    {late}"
    return Outcome(
        trace=reader.trace if reader.trace.events or not ending else None,
        ending=ending,
        stopped=bool(launched.ended_for) or run.end.how in ("stopped", "killed"),
        remarks=(*remarks.differences(name, run), *remarks.lacking(name, reader.trace)),
        output=launched.output.text(),
        seconds=launched.seconds,
        peak=launched.peak,
    )
