"""How the script's own evaluation scores perfect, constant, shuffled and random predictions: what the probe run asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.outcome import Fact, Plot, Series
from torch_doctor.rule import Verdict
from torch_doctor.trace import ALL_COMPARED, CONSTANT, MODEL, PERFECT, RANDOM, SHUFFLED, AnswersScored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace

METRIC = "metric"
KIND = "metric"
"""The kind of failure that this is, as `linking` has it."""
CODES = frozenset({"TDR412"})
NAMES = {
    "model": MODEL,
    "perfect predictions": PERFECT,
    "the most frequent class": CONSTANT,
    "shuffled labels": SHUFFLED,
    "random predictions": RANDOM,
}
BEST = (1.0, 100.0)
NEAR = 0.005
MOST = 6
"""Figures that are shown."""


def with_metric(rung: Rung, trace: Trace | None, findings: Sequence[Finding]) -> Rung:
    """Return the rung with the figures that the script computes of predictions that the probe created from the labels.

    It fails where a rule confirmed that a figure cannot be right, and passes where one is 1 or 100 % for perfect predictions,
    and lower for all others.
    """
    if rung.name != METRIC or trace is None:
        return rung
    events = [event for event in trace.of(AnswersScored) if event.how != ALL_COMPARED and len(set(event.figures)) > 1]
    shown = list({(event.how, event.site, event.name): event for event in events}.values())
    shown = [event for event in shown if event.how != "assigned"] or shown
    wrong = [each for each in findings if each.code in CODES and each.verdict is Verdict.CONFIRMED]
    facts, plots = [fact for event in shown[:MOST] for fact in _facts(event)], [_plot(event) for event in shown[:MOST]]
    rung = replace(rung, evidence=facts, plots=plots)
    if wrong:
        first = wrong[0]
        said = next((each.claim for each in first.evidence), first.message)
        reason = f"{first.site.path}:{first.site.row}: {said}"
        return replace(rung, status="failed", reason=reason, next=first.help, about=[KIND])
    if not shown:
        why = next((event.unknown for event in trace.of(AnswersScored) if event.unknown), "")
        return replace(rung, reason=f"{rung.reason}: {why}") if why else rung
    best = next((event for event in shown if _is_best(event)), None)
    if best is not None:
        model, perfect = (_short(best.figures[each]) for each in (MODEL, PERFECT))
        own = f", and the model {model}" if best.model else ""
        reason = f"perfect predictions score {perfect}, all others less{own} ({_where(best)})"
        return replace(rung, status="passed", reason=reason)
    scores = ", ".join(f"{name} {_short(shown[0].figures[place])}" for name, place in _names(shown[0]).items())
    return replace(rung, status="shown", reason=f"{_where(shown[0])}: {scores}")


def _names(event: AnswersScored) -> dict[str, int]:
    """Return the names of the predictions whose figures are known, each with its position."""
    return {name: place for name, place in NAMES.items() if place != MODEL or event.model}


def _is_best(event: AnswersScored) -> bool:
    """Whether perfect predictions get 1 or 100, and no others do."""
    best = event.figures[PERFECT]
    others = (event.figures[each] for each in (CONSTANT, SHUFFLED, RANDOM))
    return any(abs(best / each - 1) <= NEAR for each in BEST) and max(others) < best


def _facts(event: AnswersScored) -> list[Fact]:
    return [Fact(name, event.figures[place], group=_where(event)) for name, place in _names(event).items()]


def _plot(event: AnswersScored) -> Plot:
    values: list[float | None] = [event.figures[place] for place in _names(event).values()]
    said = "; ".join(f"{name}: {_short(event.figures[place])}" for name, place in _names(event).items())
    bars = Series("score", [float(place) for place in range(1, len(values) + 1)], values)
    return Plot(f"Scores of {_where(event)}", "bars", said, y_label="score", names=list(_names(event)), series=[bars])


def _where(event: AnswersScored) -> str:
    """What the figure is, and where."""
    at = f"{event.site.path}:{event.site.row}"
    if event.how == "printed":
        return f"number {int(event.name) + 1} printed at {at}"
    return f"{f'`{event.name}`' if event.name else 'the value'} {event.how} at {at}"


def _short(value: float) -> str:
    return f"{value:.4g}"
