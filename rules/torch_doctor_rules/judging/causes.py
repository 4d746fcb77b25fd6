"""Causes that several findings share, with the same text in every trace of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, ModuleBuilt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Event, LossCalled, Site, TensorFact, Trace


def place(site: Site | None) -> str:
    """Return the cause of everything at one site ("": unknown)."""
    return "" if site is None else str(site)


def models(trace: Trace, modules: Iterable[int], event: Event) -> str:
    """Return the cause for the models of an event: where they are created, else their numbers in its script or function."""
    built = {made.module: made for made in trace.of(ModuleBuilt)}
    root = event.scope.chain()[0].site
    return ", ".join(
        sorted(f"{built[module].site}" if module in built else f"{module} of {root}" for module in modules)
    )


def models_behind(trace: Trace, *tensors: TensorFact, event: Event) -> str:
    """Return the cause for the models whose outputs went into the tensors of an event ("": none)."""
    forwards = trace.at(*sorted(frozenset[int]().union(*(tensor.forwards for tensor in tensors))))
    return models(trace, {forward.module for forward in forwards if isinstance(forward, Forward)}, event)


def one_loss(trace: Trace, loss: LossCalled) -> str:
    """Return the cause for the calls of one kind of loss on the outputs of one model, in training and evaluation."""
    of = models_behind(trace, loss.input, loss.target, event=loss)
    return f"{loss.loss} of {of}" if of else ""
