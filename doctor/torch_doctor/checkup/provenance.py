"""What only we can see of a run: the commit of the script, what its checkpoints hold, and whether they give the model back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.outcome import Fact, Rung
from torch_doctor.trace import Loaded, Logged, RoundTripped, Saved, claims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_doctor.probe.climb import Climb
    from torch_doctor.trace import Trace

PATIENCE = 5.0  # seconds for git
MOST = 20  # files that are named
CLOSE = 1e-4
COUNTERS = frozenset(("epoch", "epochs", "step", "steps", "global_step", "iter", "iteration", "iterations"))
"""Keys of a checkpoint under which a run counts how far it came."""
WORTH = {
    "label mapping": ("class", "label", "idx", "vocab"),
    "order of the features": ("feature", "column"),
    "preprocessing": (
        "mean",
        "std",
        "norm",
        "preprocess",
        "transform",
        "tokenizer",
        "config",
        "args",
        "hparams",
        "hyper",
    ),
    "selection metric": ("best", "acc", "metric", "score", "loss", "f1", "auc"),
    "states of the random generators": ("rng", "random", "seed"),
}
"""What is worth saving with the weights, each with parts of the keys that tell of it."""


def with_provenance(rung: Rung, script: Path, climb: Climb) -> Rung:
    """The receipt with the commit of the script, what it logs, and what the probe saw of its checkpoints.

    It fails where a checkpoint does not give the model back. It has no verdict where no checkpoint holds the optimizer and one
    counts epochs or steps: such a count is of use to a run that goes on, but a script may keep it for the record, so it is no
    failure. Weights alone are right for inference.
    """
    trace = climb.trace
    rung = replace(rung, evidence=[*rung.evidence, *_commit(script), *_logged(climb)])
    if trace is None:
        return rung
    rung = replace(rung, evidence=[*rung.evidence, *_checkpoints(trace)])
    lost = [
        f"what {trip.site} saves does not restore `{trip.name}`: its outputs differ after loading"
        for trip in trace.of(RoundTripped)
        if trip.difference > CLOSE
    ]
    if lost and rung.status != "failed":
        reason = "; ".join(dict.fromkeys([*lost, rung.reason]))
        return replace(
            rung, status="failed", reason=reason, next="look for state of the model outside its `state_dict()`"
        )
    if rung.status == "skipped":
        return rung
    return _resumable(rung, trace.of(Saved))


def _resumable(rung: Rung, saves: Sequence[Saved]) -> Rung:
    """The receipt with what a run could not go on from."""
    if not saves:
        return replace(rung, reason=f"{rung.reason}; no call of `torch.save` was reached")
    if any(each.optimizer is not False for each in saves):
        return rung
    counting = next((each for each in saves if not COUNTERS.isdisjoint(map(str.lower, each.keys))), None)
    if counting is None:
        return replace(
            rung, reason=f"{rung.reason}; no checkpoint contains the optimizer, so training cannot be resumed"
        )
    reason = f"{rung.reason}; training cannot be resumed from what {counting.site} saves: the optimizer is not in it"
    return replace(rung, status="shown" if rung.status == "passed" else rung.status, reason=reason)


def _logged(climb: Climb) -> list[Fact]:
    """What the script says while it trains, and which trackers it gives numbers to."""
    group = "metrics logged during training"
    found = [Fact(f"{how} at {where}", text, group=group) for how, where, text in climb.logs[:MOST]]
    if climb.trace is not None:
        sinks = {(each.sink, str(each.site)): each.name for each in climb.trace.of(Logged)}
        found += [Fact(f"{sink} at {site}", name, group=group) for (sink, site), name in list(sinks.items())[:MOST]]
        known = {site for _, site in sinks}
        measured = climb.trace.run.measured if climb.trace.run is not None else []
        places = dict.fromkeys(
            str(each.site) for each in measured if each.claim == claims.LOGGED_WITHOUT_GRAPH and each.site
        )
        found += [
            Fact(f"a tracker or a progress bar at {site}", "numbers", group=group)
            for site in places
            if site not in known
        ]
    return found or [Fact("anything", None, group=group, expected="at least the loss")]


def _checkpoints(trace: Trace) -> Iterator[Fact]:
    for event in trace.of(Saved)[:MOST]:
        group = f"checkpoint, {event.site}"
        yield Fact("saved", event.what, group=group)
        if event.keys:
            yield Fact("keys", ", ".join(event.keys[:MOST]), group=group)
        held = {"optimizer": event.optimizer, "scheduler": event.scheduler, "scaler": event.scaler}
        yield from (Fact(f"contains the state of the {name}", value, group=group) for name, value in held.items())
        for what, parts in WORTH.items() if event.keys else ():
            held_too = any(part in key.lower() for key in event.keys for part in parts)
            yield Fact(f"a key for the {what}", held_too, expected="yes, where there is one", group=group)
        read = [load for load in trace.of(Loaded) if event.file and load.file == event.file]
        yield Fact("read back by the script", bool(read) if event.file else None, group=group)
    for trip in trace.of(RoundTripped):
        label = f"difference of the outputs of `{trip.name}` after loading"
        yield Fact(label, trip.difference, expected="0", group=f"checkpoint, {trip.site}")


def _commit(script: Path) -> list[Fact]:
    """The commit that the script is of, and which files are not as in it."""
    commit = _git(script, "rev-parse", "HEAD")
    if commit is None:
        return [Fact("commit", None, group="code", expected="a git commit")]
    dirty = (_git(script, "status", "--porcelain", "--untracked-files=no") or "").splitlines()
    return [
        Fact("commit", commit.strip(), group="code"),
        Fact("uncommitted files", len(dirty), group="code", expected="0"),
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
