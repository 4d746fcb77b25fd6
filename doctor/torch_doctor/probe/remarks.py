"""What has to be said of a run besides its findings: what stood in for what, what was refused, how it ended."""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.probe import alone
from torch_doctor.probe.protocol import printable
from torch_doctor.probe.torch_errors import advice
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
DATA = ("values", "weights", "files")  # stand-ins that a script may fail on wherever it computes
ARGUMENTS = "arguments"  # those that it may fail on where it names them
VERSION = "version"  # without those it fails earlier, or might not fail at all with the version that it was written for
CHECKS = "checks of copies"
"""How the notes begin of what took too long; the agent tells of each by itself."""
NEVER_FOR_PASSES = (
    "ImportError",
    "ModuleNotFoundError",
    "NotImplementedError",
    "KeyboardInterrupt",
    "OutOfMemoryError",
)
OF_NOTHING = ("AttributeError", "TypeError")  # these are for missing passes only where they speak of None
PLACE = 'File "'  # what the words of a SyntaxError begin with
NAME = re.compile(r"[A-Za-z](?:[\w-]*\w)?")
PREFIX = re.compile(r"\b_torch_doctor_agent(?:\.\w+)*\.(?=\w)")
SUBSTITUTE = re.compile(rf"{PREFIX.pattern}|(?:'|\bnot )(?:Unread|Unknown|Silent|Wanted)(?:'|$)", re.MULTILINE)
"""What is in the words of an exception that the probe's placeholders raised, or that was raised for what they are."""
OF_PYTHON_2 = (
    "SyntaxError: Missing parentheses in call to 'print'",
    "SyntaxError: multiple exception types must be parenthesized",
    "TabError: ",
    "'dict' object has no attribute 'has_key'",
    *(f"'dict' object has no attribute 'iter{kind}'" for kind in ("items", "keys", "values")),
    *(f"name '{name}' is not defined" for name in ("xrange", "raw_input", "unicode", "basestring", "unichr")),
    *(
        f"No module named '{name}'"
        for name in ("cPickle", "urllib2", "urlparse", "Queue", "ConfigParser", "StringIO", "Tkinter")
    ),
)
LIMITS = {
    "time": "did not finish within {seconds:g} s and was stopped (see `--probe-timeout`)",
    "memory": "used more than {megabytes} MiB of memory and was stopped (see `--probe-memory`)",
    "disk": "was stopped because the disk is nearly full",
    "written": "wrote more data than the probe allows and was stopped",
    "processes": "started too many processes and was stopped",
    "torn": "was stopped: it wrote into the probe's own channel, so nothing is known after that",
    "much": "was stopped: it produced more events than the probe can store",
    "interrupt": "was interrupted after {after:.1f} s",
}


def updates(trace: Trace) -> int:
    """How many steps of optimizers a run reached."""
    return len(trace.of(Stepped))


def ran(name: str, trace: Trace, python: Interpreter, seconds: float) -> str:
    """What ran the script, on what, how long, and how far it came."""
    run = trace.run or Run()
    device = "the GPU" if run.device == "cuda" else "the CPU"
    steps = updates(trace)
    where = f"in {len(trace.ranks)} processes on {device}" if trace.ranks else f"on {device}"
    reached = f"reached {steps} optimizer step{'s' * (steps != 1)}"
    if run.alone:
        reached = f"did not reach its training loop{alone.reason(trace)}; {alone.words(trace)} and {reached}"
    return (
        f"{name} ran for {seconds:.1f} s {where} and {reached}: Python {run.python} "
        f"with torch {run.torch}, {python.path} ({python.origin})"
    )


def differences(name: str, run: Run) -> Iterator[str]:
    """A line for everything that was not as it would be without the probe; `name` is the script's."""
    alike: dict[tuple[str, str], list[StandIn]] = defaultdict(list)
    for stand_in in run.stand_ins:
        alike[stand_in.how, stand_in.why].append(stand_in)
    for (how, why), group in alike.items():
        asked = ", ".join(dict.fromkeys(f"`{stand_in.what}`" for stand_in in group))
        yield f"{group[0].site or name}: {how} instead of {asked}{f' ({why})' if why else ''}"
    for told in run.refused:
        yield f"{told.site or name}: blocked: {told.text}"
    notes: dict[str, list[str]] = defaultdict(list)
    for note in run.notes:
        said, _, what = note.rpartition(": ") if note.startswith(CHECKS) else (note, "", "")
        notes[said].append(what)
    for said, parts in notes.items():
        yield f"{name}: {said}{': ' * any(parts)}{', '.join(filter(None, parts))}"


def lacking(name: str, trace: Trace) -> Iterator[str]:
    """What is not there, and what to do, for a run without an update that no exception ended: that would be told with it."""
    run = trace.run or Run()
    if run.end.how != "exception" and not updates(trace):
        yield from (f"{told.site or name}: {told.text}" for told in run.missing)


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
    if end.how in ("exception", "fault"):
        return _failure(which, run)
    if end.how == "killed":
        return f"{which} {_without_a_word(end.status or launched.status, launched)}"
    if end.how == "exit" and end.status:
        words = last_words(launched)
        return "\n    ".join([f"{which} exited with status {end.status}{words}", *_suspect(run, words)])
    return ""


def exits(run: Run) -> str:
    """Where the script ended itself: "exits at train.py:7 (`raise SystemExit`)"; empty where it did not."""
    if run.end.how != "exit" or not run.end.frames:
        return ""
    frame = run.end.frames[-1]
    return f"exits at {frame.site.path}:{frame.site.row} (`{frame.line}`)"


def late(runs: Sequence[Run]) -> str:
    """Where the processes of a distributed run were when its time was over: those that could say so."""
    places = [f"rank {rank} at {run.late.path}:{run.late.row}" for rank, run in enumerate(runs) if run.late is not None]
    return f"at the time limit: {', '.join(places)}" if places else ""


def _failure(name: str, run: Run) -> str:
    if run.end.how == "fault":
        return f"{name} was stopped by an internal error of the probe, not by the script; please report it"
    rows = _rows(run)
    how = "fails on its own" if is_own(run) else "fails"
    words = " ".join(rows)
    if any(each in words for each in OF_PYTHON_2):
        how = f"needs Python 2 and cannot run with Python {run.python or 3}"
    elif SUBSTITUTE.search(words):
        how = "stopped at a substitute of the probe that does not fit"
    lines = [f"{name} {how}: {PREFIX.sub('', words)[:LONGEST_WORDS]}"]
    lines += [f"{frame.site.path}:{frame.site.row} in {frame.function}: {frame.line}" for frame in run.end.frames]
    lines += [told.text for told in run.missing]
    lines += [run.end.interface] * bool(run.end.interface)
    lines += _suspect(run, " ".join([*rows, *(frame.line for frame in run.end.frames)]))
    if run.capped and not run.end.interface and _may_miss_passes(" ".join(rows)):
        loops = ", ".join(f"{site.path}:{site.row}" for site in run.capped)
        lines.append(f"possible cause: the probe left loops early ({loops})")
    return "\n    ".join(lines)


def is_own(run: Run) -> bool:
    """Whether an error that ended a run is the script's own: nothing was made up, refused, or missing.

    A call that does not fit an interface is the script's own in any case.
    """
    if run.end.interface:
        return True
    if SUBSTITUTE.search(run.end.exception):
        return False
    return run.voids(*DATA, ARGUMENTS, VERSION) is None and not run.refused and not run.missing and not run.doubt


def error(run: Run) -> str:
    """The exception that ended a run, in a line, with the place in the user's files; what was made up is named beside it."""
    words = " ".join(_rows(run))[:LONGEST_WORDS]
    place = f" ({run.end.frames[-1].site.path}:{run.end.frames[-1].site.row})" if run.end.frames else ""
    return "; ".join([words + place, *_suspect(run, words)])


def _rows(run: Run) -> list[str]:
    """The lines of the exception that ended a run."""
    rows = [row.strip() for row in run.end.exception.splitlines() if row.strip()] or [""]
    return [f"{rows[-1]} ({rows[0]})"] if rows[0].startswith(PLACE) else rows  # of a SyntaxError


def _suspect(run: Run, words: str) -> list[str]:
    """What was made up that a script may have failed on, which says these words: an argument only where they name it."""
    if run.end.interface:
        return []
    made_up = [each for each in run.stand_ins if not each.voids.isdisjoint(DATA)]
    named = _names(words)
    for each in run.stand_ins:
        if ARGUMENTS in each.voids and not named.isdisjoint(_names(each.what)):
            made_up.insert(0, each)
    return [f"possible cause: the probe used {each}" for each in made_up[:1]]


def _names(words: str) -> set[str]:
    return {name.replace("-", "_") for name in NAME.findall(words)}


def _may_miss_passes(exception: str) -> bool:
    """Whether an error can be for passes of a loop that were left out."""
    name = exception.partition(":")[0].rpartition(".")[2]
    return name not in NEVER_FOR_PASSES and (name not in OF_NOTHING or "None" in exception)


def explained(ending: str, findings: Sequence[Finding], trace: Trace) -> str:
    """What is said of a script's failure, with the findings that were confirmed at the line where it failed, or by its words."""
    if trace.run is None or trace.run.alone or not trace.run.end.frames or not ending.startswith(f"{trace.path} fails"):
        return ending
    place = trace.run.end.frames[-1].site
    words = " ".join(trace.run.end.exception.split())
    lines = [ending, *filter(None, [advice(trace)])]
    for each in findings:
        called = f"{each.site}: {each.code} {each.name}"
        if each.verdict is not Verdict.CONFIRMED:
            continue
        if same_place(each.site, place):
            lines.append(f"{called} is confirmed at this line")
        elif words and any(words in evidence.claim for evidence in each.evidence):
            lines.append(f"{called} explains this error")
    return "\n    ".join(lines)


def unsaid(trace: Trace, judgement: Judgement) -> str:
    """Return how many rules a run cannot judge because of substitutes; empty if it can judge all."""
    if not judgement.void:
        return ""
    one = len(judgement.void) == 1
    lacking = "needs real data" if one else "need real data"
    if any(stand_in.voids.isdisjoint(DATA) for _, stand_in in judgement.void):
        lacking = "cannot be judged with substitutes"
    checks = f"{len(judgement.void)} check{'s' * (not one)}"
    return f"{trace.path}: {checks} {lacking} (`torch-doctor scan --probe -v` lists them)"


def unsaid_rules(trace: Trace, judgement: Judgement) -> Iterator[str]:
    """Yield a line for each substitute because of which rules cannot be judged."""
    void: dict[str, list[str]] = defaultdict(list)
    for rule, stand_in in judgement.void:
        void[str(stand_in)].append(rule)
    yield from (f"{trace.path}: not checked: {', '.join(rules)}: the probe used {why}" for why, rules in void.items())


def _without_a_word(status: int, launched: Launched) -> str:
    if status == 0:
        return "ended after closing the probe's channel: its last actions are unknown"
    return f"ended without an error message: {_status(status)}{last_words(launched)}"


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def last_words(launched: Launched) -> str:
    """The last line that the script printed, in words; empty where it printed none."""
    lines = [line.strip() for line in launched.output.text().splitlines() if line.strip()]
    return f"; last line of output: {printable(lines[-1][:LONGEST_WORDS])}" if lines else ""
