"""Losses that are given what they compute themselves: cross-entropy applies the log-softmax to its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Step
from torch_doctor.trace import Forward, Kind, LossCalled, ModuleBuilt, Trace

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


def _of_a_model(loss: LossCalled) -> bool:
    """Whether the loss trains or evaluates something, and does not merely compare two distributions."""
    return bool(loss.input.forwards) or loss.input.graph is True


def _by_choice(trace: Trace, loss: LossCalled, losses: list[LossCalled]) -> bool:
    """Whether the same loss gets something else when a setting is another: the softmax is behind a flag."""
    return any(
        other.site == loss.site and other.input.kind is not loss.input.kind and not trace.together(other, loss)
        for other in losses
    )
