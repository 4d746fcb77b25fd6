"""What only we can see of a run: the commit of the script, what its checkpoints hold, and whether they give the model back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.outcome import Fact, Rung
from torch_doctor.trace import RoundTripped, Saved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_doctor.trace import Trace

PATIENCE = 5.0  # seconds for git
MOST = 20  # files that are named
CLOSE = 1e-4


def with_provenance(rung: Rung, script: Path, trace: Trace | None) -> Rung:
    """The receipt with the commit of the script, and with what the probe saw of its checkpoints."""
    rung = replace(rung, evidence=[*rung.evidence, *_commit(script)])
    if trace is None:
        return rung
    rung = replace(rung, evidence=[*rung.evidence, *_checkpoints(trace)])
    lost = [
        f"what {trip.site} saves does not give `{trip.name}` back: it answers otherwise after loading"
        for trip in trace.of(RoundTripped)
        if trip.difference > CLOSE
    ]
    if lost and rung.status != "failed":
        reason = "; ".join(dict.fromkeys([*lost, rung.reason]))
        return replace(rung, status="failed", reason=reason, next="look at what the model holds beside its state")
    if not trace.of(Saved) and rung.status != "skipped":
        return replace(rung, reason=f"{rung.reason}; nothing was saved with `torch.save`")
    return rung


def _checkpoints(trace: Trace) -> Iterator[Fact]:
    for event in trace.of(Saved)[:MOST]:
        group = f"checkpoint, {event.site}"
        yield Fact("saved", event.what, group=group)
        if event.keys:
            yield Fact("keys", ", ".join(event.keys[:MOST]), group=group)
        held = {"optimizer": event.optimizer, "scheduler": event.scheduler, "scaler": event.scaler}
        yield from (Fact(f"state of the {name} in it", value, group=group) for name, value in held.items())
    for trip in trace.of(RoundTripped):
        label = f"difference of the answers of `{trip.name}` after loading"
        yield Fact(label, trip.difference, expected="0", group=f"checkpoint, {trip.site}")


def _commit(script: Path) -> list[Fact]:
    """The commit that the script is of, and which files are not as in it."""
    commit = _git(script, "rev-parse", "HEAD")
    if commit is None:
        return [Fact("commit", None, group="code", expected="a commit of git")]
    dirty = (_git(script, "status", "--porcelain", "--untracked-files=no") or "").splitlines()
    return [
        Fact("commit", commit.strip(), group="code"),
        Fact("files that differ from it", len(dirty), group="code", expected="0"),
        *[Fact("differs", line[3:], group="code") for line in dirty[:MOST]],
    ]


def _git(script: Path, *arguments: str) -> str | None:
    """What git says in the folder of the script; None where it is no repository, or there is no git."""
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            ["git", *arguments],  # noqa: S607 - the user's git
            cwd=script.parent,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
