"""The attempts to run a script: each that stops early teaches the next one something."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from torch_doctor.probe import unreached
from torch_doctor.probe.lessons.lesson import Lesson
from torch_doctor.probe.lessons.reading import learn
from torch_doctor.probe.plan import SHARE, loops
from torch_doctor.probe.remarks import updates
from torch_doctor.probe.scratch import scratch_folder
from torch_doctor.probe.server import NoServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_doctor.probe.following import Attention
    from torch_doctor.probe.hearing import Heard
    from torch_doctor.probe.plan import Request
    from torch_doctor.trace import Run, Trace

MOST = 8  # attempts
WANTED = 2  # updates, after which an attempt has shown enough
TIME = Lesson("time", "", value=True, words="batches are small, and models have fewer layers")
LONGEST = 200  # characters of an exception
LEAST = 2.0  # seconds for another attempt
HOPELESS = "SyntaxError"
PATIENCE = 0.4  # the part of the time until the training has to begin, where less to compute may help


class Course:
    """What is learnt of one script, from what earlier probes have learnt on.

    `lessons` are those of the attempt that came furthest, `notes` tell of each attempt that was not the last, and `seconds`
    is how long all of them took. `stopped` is the attempt that came furthest without an update, where the training loop was
    run alone after it. `traces` are what its source shows.
    """

    def __init__(self, request: Request, name: str, text: Callable[[str], str], traces: Sequence[Trace] = ()) -> None:
        self._request = request
        self._name = name
        self._text = text
        self._traces = traces
        self._trains = bool(loops(traces))
        self._heard: list[Heard] = []
        self._failures: set[tuple[Any, ...]] = set()
        kept = request.kept.get(request) if request.kept is not None and self._learns() else b"[]"
        self._next = self._before = _decoded(kept)
        self._best: Heard | None = None
        self.lessons: list[Lesson] = list(self._next)
        self.notes: list[str] = []
        self.seconds = 0.0
        self.stopped: Heard | None = None
        self._slow = False
        self._alone = False

    def told(self, seconds: float) -> dict[str, Any]:
        """What the agent is told of the next attempt, which has so many seconds."""
        knows = any(each.kind == TIME.kind for each in self._next)
        patience = 0.0 if knows or self._alone or not self._learns() else seconds * PATIENCE
        timeout = seconds * SHARE
        lessons = [each.told() for each in self._next]
        return {"lessons": lessons, "timeout": timeout, "patience": patience, "alone": self._alone}

    def hear(self, heard: Heard) -> None:
        """Take in an attempt."""
        self._heard.append(heard)
        self.seconds += heard.launched.seconds
        heard.reader.run.alone = self._alone
        if self._alone and not updates(heard.reader.trace):
            return
        if self._best is None or _reached(heard) > _reached(self._best):
            self._best, self.lessons = heard, list(self._next)

    def goes_on(self, attention: Attention) -> bool:
        """Whether there is something to learn from the last attempt, and time for another one."""
        heard = self._heard[-1]
        run = heard.reader.run
        left = self._request.seconds - self.seconds
        steps = updates(heard.reader.trace)
        if self._learns() and steps == 0 and (heard.launched.ended_for == "time" or run.end.how == "stopped"):
            return self._too_slow(heard, left) and not attention.stop.asked
        failed = run.end.how == "exception" or (run.end.how in ("end", "exit") and not steps)
        if not self._learns() or steps >= WANTED or not failed or run.doubt or attention.stop.asked:
            return False
        place = run.end.frames[-1].site if run.end.frames else None
        failure, lessons = (run.end.exception, place, *(each.exception for each in run.left_out)), list[Lesson]()
        if failure not in self._failures and len(self._heard) < MOST and left >= max(LEAST, heard.launched.seconds):
            lessons = self._learn(run)
        self._failures.add(failure)
        if lessons or len(self._heard) > 1:
            at = f" ({place})" if place is not None else ""
            words = " ".join(run.end.exception.split())[:LONGEST] or (
                "its data was left out" if run.left_out else "it trained nothing"
            )
            then = (
                f"in the next one, {'; '.join(each.words for each in lessons)}"
                if lessons
                else "nothing more can be learnt"
            )
            reached = f"{steps} optimizer step{'s' * (steps != 1)}"
            self.notes.append(f"{self._name}: attempt {len(self._heard)} ended after {reached}: {words}{at}; {then}")
        about = {(each.kind, each.what) for each in lessons}
        self._next = [*(each for each in self._next if (each.kind, each.what) not in about), *lessons]
        return bool(lessons)

    def _learn(self, run: Run) -> list[Lesson]:
        """What an attempt teaches: by its failures, or else, where it turned away from the training, by what decided that."""
        found = learn(run, self._next, self._text)
        if found or run.end.how == "exception" or self._request.args:
            return found  # who gives arguments may want something else than to train
        return unreached.chosen(self._traces, run, self._next, self._text)

    def _ends_alone(self, attention: Attention) -> bool:
        """Whether the script runs once more, without the statements that fail before its training loop."""
        best, request = self._best, self._request
        if self._alone or best is None or not self._learns() or attention.stop.asked:
            return False
        run, left = best.reader.run, request.seconds - self.seconds
        failed = run.end.how in ("exception", "exit") or (run.end.how == "end" and (bool(run.left_out) or self._trains))
        if not failed or run.doubt or updates(best.reader.trace) or HOPELESS in (run.end.values.get("kinds") or ()):
            return False
        if request.climb is not None or request.shapes or request.gradients or left < LEAST:
            return False
        self.notes.append(
            f"{self._name}: in the next attempt, statements that fail before the training loop are left out"
        )
        others = (each for each in self.lessons if each.kind != TIME.kind)
        self._alone, self._next, self.stopped = True, [*others, TIME], best  # what is read is made up in any case
        return True

    def _too_slow(self, heard: Heard, left: float) -> bool:
        """The next attempt has less to compute, or else the next probe; whether there is time for another attempt."""
        if any(each.kind == TIME.kind for each in self._next) or not heard.reader.greeted:
            return False
        again = heard.launched.ended_for != "time" and left >= heard.launched.seconds
        if again:
            self._next = [*self._next, TIME]
        elif self._request.kept is None:
            return False
        self._slow = not again
        when = f"attempt {len(self._heard)} had not begun to train; in the next one"
        when = when if again else "there was no time for an optimizer step; in the next probe"
        self.notes.append(f"{self._name}: {when}, {TIME.words}")
        return again

    def ended(
        self,
        first: dict[str, Any],
        python: Path,
        attempt: Callable[[dict[str, Any], float], Heard],
        attention: Attention,
    ) -> Heard:
        """Go on until nothing more is learnt; the attempt that came furthest. What is run later has the lessons of that one."""
        while self.goes_on(attention) or self._ends_alone(attention):
            left = self._request.seconds - self.seconds
            server = first.get("server") or self._server(python, attention)
            with scratch_folder() as scratch:
                later = {"server": server, "scratch": str(scratch), **self.told(left)}
                self.hear(attempt({**first, **later}, left))
        first.update(lessons=[each.told() for each in self.lessons], patience=0.0)
        best = self._best or self._heard[0]
        self.stopped = self.stopped if best.reader.run.alone else None
        return best

    def _server(self, python: Path, attention: Attention) -> str:
        """A server that forks the next attempts."""
        own = self._request.own
        if own is not None and own.serves(self._request.script, again=True):
            with contextlib.suppress(NoServerError):
                return str(own.address(python, attention))
        return ""

    def end(self) -> str:
        """Keep what was learnt; in words, which lessons the attempt that came furthest has used."""
        used = [] if self._best is None else [self.lessons[each] for each in sorted(self._best.reader.run.learnt)]
        keeps = [*used, TIME] if self._slow else used
        if keeps != self._before and self._request.kept is not None:
            self._request.kept.put(self._request, msgspec.json.encode(keeps))
        if not used:
            return ""
        words = "; ".join(each.words for each in used)
        return f"{self._name}: {len(used)} lesson{'s were' if len(used) > 1 else ' was'} needed: {words}"

    def _learns(self) -> bool:
        """Whether attempts are repeated: not where runs are compared, or several processes run the script."""
        request = self._request
        return request.figures is None and request.processes == 1 and (request.climb is None or not request.climb.alone)


def _decoded(kept: bytes) -> list[Lesson]:
    try:
        return msgspec.json.decode(kept, type=list[Lesson])
    except msgspec.MsgspecError:
        return []


def _reached(heard: Heard) -> tuple[int, bool, int]:
    """How far an attempt came."""
    trace, end = heard.reader.trace, heard.reader.run.end
    return updates(trace), end.how in ("end", "exit"), len(trace.events)
