"""What the gradient norms of the script's steps were: how large, in which layers, how often clipped, and where they jumped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .magnitude import middle, total
from .telling import count, fact, line, listed, number, plot

if TYPE_CHECKING:
    from .norms import Step, StepNorms, Track
    from .stage import Stage

SPIKE = 10.0
"""Times the median above which a norm is a spike, where the steps before it have none: losses fall from large norms."""
BEFORE = 20
"""Steps before one that it is compared with, at most."""
FEWEST = 10
"""Steps below which no median is known well enough for spikes."""
MOST = 8
"""Spikes that are named."""
GROUP = "gradient norms"


class Told:
    """Facts, plots, and a clause about the norms; all empty where no step was measured."""

    def __init__(self) -> None:
        self.evidence: list[dict[str, Any]] = []
        self.plots: list[dict[str, Any]] = []
        self.words = ""


def gradients(stage: Stage) -> Told:
    """Report the norms of the rung in which an optimizer made the most steps over the script's batches."""
    told, norms = Told(), stage.catcher.norms
    tracks = _longest(norms)
    names = _names(stage)
    clauses = []
    for number_, track in enumerate(tracks, start=1):
        several = f", optimizer {number_} ({track.name})" if len(tracks) > 1 else ""
        finite_steps = [step for step in track.steps if math.isfinite(step.before)]
        if not finite_steps:
            continue
        told.evidence += _facts(track, finite_steps, names, GROUP + several)
        told.plots.append(_curve(track, finite_steps, several))
        clauses.append(_words(track, finite_steps, f" of optimizer {number_}" if several else ""))
    told.words = "; ".join(clauses)
    return told


def _longest(norms: StepNorms) -> list[Track]:
    """The tracks of the rung with the most steps; those of one batch alone say nothing about the data."""
    rungs = [list(norms.tracks.get(rung, {}).values()) for rung in ("small-subset", "non-finite")]
    return max(rungs, key=lambda tracks: max((len(track.steps) for track in tracks), default=0))


def _facts(track: Track, steps: list[Step], names: dict[int, str], group: str) -> list[dict[str, Any]]:
    largest = max(steps, key=lambda step: step.before)
    found = [
        fact("optimizer steps", len(track.steps), group=group),
        fact("median of the gradient norm", _median(steps), group=group),
        fact("smallest gradient norm", min(step.before for step in steps), group=group),
        fact("largest gradient norm", largest.before, group=group),
        fact("step with the largest gradient norm", track.steps.index(largest) + 1, group=group),
    ]
    layers = _layers(steps, names)
    for label, choose in (("largest", max), ("smallest", min)):
        if len(layers) > 1:
            name = choose(layers, key=layers.__getitem__)
            found.append(fact(f"layer with the {label} gradient", name, group=group))
            found.append(fact(f"median of its gradient norm ({label})", layers[name], group=group))
    clipped = [step.kept for step in steps if step.clipped]
    found.append(fact("steps with clipped gradients", 100 * len(clipped) / len(steps), "%", group=group))
    if clipped:
        found.append(fact("part of the gradient norm kept by clipping, median", middle(clipped), group=group))
    if len(steps) >= FEWEST:
        spikes = _spikes(track, steps)
        found.append(fact(f"steps above {SPIKE:g} × the median", len(spikes), expected="0", group=group))
        found += [fact("spike in step", number_, group=group) for number_ in spikes[:MOST]]
    return found


def _words(track: Track, steps: list[Step], which: str) -> str:
    said = f"gradient norm{which} {number(_median(steps))} (median)"
    clipped = [step.kept for step in steps if step.clipped]
    if clipped:
        part = number(float(f"{100 * middle(clipped):.2g}"))
        every = len(clipped) == len(steps)
        often = "every step is" if every else f"{len(clipped)} of {count(len(steps), 'step')} are"
        said += f", {often} clipped, to {part}% of the norm"
    spikes = _spikes(track, steps) if len(steps) >= FEWEST else []
    if spikes:
        where = listed(list(map(str, spikes[:3]))) + (f" and {len(spikes) - 3} more" if len(spikes) > 3 else "")
        said += f", above {SPIKE:g} × the median in step{'s' * (len(spikes) > 1)} {where}"
    return said


def _spikes(track: Track, steps: list[Step]) -> list[int]:
    """The numbers of the steps whose norm is far above the median of all steps, and above that of the steps before."""
    usual, found = _median(steps), []
    for place, step in enumerate(track.steps):
        before = [each for each in track.steps[max(0, place - BEFORE) : place] if math.isfinite(each.before)]
        if before and math.isfinite(step.before) and step.before > SPIKE * max(usual, _median(before)) > 0:
            found.append(place + 1)
    return found


def _curve(track: Track, steps: list[Step], several: str) -> dict[str, Any]:
    before = [step.before if math.isfinite(step.before) else None for step in track.steps]
    clipped = any(step.clipped for step in steps)
    series = [line("before clipping" if clipped else "gradient norm", before)]
    if clipped:
        series.append(
            line("after clipping", [step.after if math.isfinite(step.after) else None for step in track.steps])
        )
    told = f"from {number(min(step.before for step in steps))} to {number(max(step.before for step in steps))}"
    positive = all(value is None or value > 0 for each in series for value in each["y"])
    return plot(f"Gradient norm{several}", "lines", told, x_label="step", y_label="norm", y_log=positive, series=series)


def _layers(steps: list[Step], names: dict[int, str]) -> dict[str, float]:
    """The median norm of each layer, whose weights and biases count together."""
    held: dict[str, list[int]] = {}
    for each in steps[0].layers:
        if each in names:
            name = names[each]
            held.setdefault(name.rpartition(".")[0] or name, []).append(each)
    return {
        name: middle([total(step.layers.get(each, 0.0) for each in own) for step in steps])
        for name, own in held.items()
    }


def _names(stage: Stage) -> dict[int, str]:
    found: dict[int, str] = {}
    for call in stage.first.models:
        for name, each in call.called.named_parameters():
            found.setdefault(id(each), name)
    return found


def _median(steps: list[Step]) -> float:
    return middle([step.before for step in steps])
