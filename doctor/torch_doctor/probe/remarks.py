"""What has to be said of a run besides its findings: what stood in for what, what was refused, how it ended."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.probe.launch import Launched, Limits
    from torch_doctor.trace import Run

LONGEST_WORDS = 200
LIMITS = {
    "time": "did not come to its end in {seconds:g} s and was stopped (see `--probe-timeout`)",
    "memory": "used more than {megabytes} MiB of memory and was stopped (see `--probe-memory`)",
    "disk": "was stopped because the disk is nearly full",
}


def stand_ins(name: str, run: Run) -> Iterator[str]:
    """A line for everything that was not as it would be without the probe; `name` is the script's."""
    for stand_in in run.stand_ins:
        instead = f" for {stand_in.instead_of}" if stand_in.instead_of else ""
        yield f"{stand_in.site or name}: `{stand_in.what}` stands in{instead}: {stand_in.how}"
    for told in run.refused:
        yield f"{told.site or name}: refused: {told.text}"
    for note in run.notes:
        yield f"{name}: {note}"


def ending(name: str, run: Run, launched: Launched, limits: Limits) -> str:
    """How a run ended that did not come to its end; empty where it did. More than one line where there is a traceback."""
    end = run.end
    if launched.ended_for:
        said = LIMITS[launched.ended_for]
        return f"{name} {said.format(seconds=limits.seconds, megabytes=limits.memory >> 20)}"
    if end.how == "asked":
        return "\n".join(f"{told.site or name}: {told.text}" for told in run.asked)
    if end.how == "exception":
        return _failure(name, run)
    if end.how == "killed":
        return f"{name} ended without a word: {_status(launched.status)}{_last_words(launched)}"
    if end.how == "exit" and end.status:
        return f"{name} left with status {end.status}{_last_words(launched)}"
    return ""


def _failure(name: str, run: Run) -> str:
    lines = [f"{name} fails by itself: {run.end.exception}"]
    lines += [f"{frame.site.path}:{frame.site.row} in {frame.function}: {frame.line}" for frame in run.end.frames]
    lines += [told.text for told in run.missing]
    if run.capped:
        loops = ", ".join(f"{site.path}:{site.row}" for site in run.capped)
        lines.append(f"the probe left loops early ({loops}): what needs all their passes fails")
    return "\n    ".join(lines)


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
