"""Losses that are given what they compute themselves: cross-entropy applies the log-softmax to its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Step, same_place
from torch_doctor.trace import Forward, Kind, LossCalled, ModuleBuilt, Trace
from torch_doctor_rules.shown import at, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

CROSS_ENTROPY = frozenset(("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"))


def normalised_inputs(trace: Trace, kind: Kind) -> Iterator[tuple[Site, LossCalled]]:
    """The first cross-entropy loss for each place that turns scores into this kind of values, with that place."""
    seen = set()
    losses = [loss for loss in trace.of(LossCalled) if loss.loss in CROSS_ENTROPY]
    for loss in losses:
        made_at = loss.input.made_at
        if (
            loss.input.kind is kind
            and made_at is not None
            and made_at not in seen
            and _of_a_model(loss)
            and not _by_choice(trace, loss, losses)
        ):
            seen.add(made_at)
            yield made_at, loss


def trail_to_loss(trace: Trace, made_at: Site, loss: LossCalled, note: str) -> Iterator[Step]:
    """How the values came from where they were made to the loss."""
    yield Step(made_at, note)
    for site, words in loss.input.trail:
        yield Step(site, words)
    built = {event.module: event for event in trace.of(ModuleBuilt)}
    for forward in trace.at(*sorted(loss.input.forwards)[-1:]):
        if isinstance(forward, Forward):
            if forward.module in built:
                yield Step(built[forward.module].site, f"`{forward.name}` is built here")
            yield Step(forward.site, f"`{forward.name}` is called here")
    yield Step(loss.site, f"its output reaches {loss.loss.rpartition('.')[2]} here")


def same_loss(finding: Finding, seen: Finding) -> bool:
    """Whether two findings lead to one loss: the softmax inside a container has no line of its own in `forward`."""
    return same_place(finding.site, seen.site) or same_place(finding.trail[-1].site, seen.trail[-1].site)


def reached_loss(trace: Trace, finding: Finding, kind: Kind) -> bool | str:
    """Whether the loss that the finding leads to was computed, and never of the `kind` of values that it says."""
    kinds = {loss.input.kind for loss in at(trace, finding.trail[-1].site, LossCalled)}
    if Kind.UNKNOWN in kinds:
        return "the run does not tell what kind of values reached the loss"
    if kind in kinds:
        return "such values reached the loss, but the run does not tell from where"
    return bool(kinds)


def at_loss(trace: Trace, finding: Finding, kind: Kind, said: str) -> Iterator[Evidence]:
    """How many of the losses got this kind of values."""
    losses = at(trace, finding.trail[-1].site, LossCalled)
    wrong = [loss for loss in losses if loss.input.kind is kind]
    if losses:
        yield fact(f"{len(wrong)} of {len(losses)} losses got {said}", len(wrong), "losses", losses[0])


def _of_a_model(loss: LossCalled) -> bool:
    """Whether the loss trains or evaluates something, and does not merely compare two distributions."""
    return bool(loss.input.forwards) or loss.input.graph is True


def _by_choice(trace: Trace, loss: LossCalled, losses: list[LossCalled]) -> bool:
    """Whether the same loss gets something else when a setting is another: the softmax is behind a flag."""
    return any(
        other.site == loss.site and other.input.kind is not loss.input.kind and not trace.together(other, loss)
        for other in losses
    )
