"""Causes of findings: what several of them have in common, told alike in every trace of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, ModuleBuilt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Event, LossCalled, Site, TensorFact, Trace


def place(site: Site | None) -> str:
    """What is done at one place ("": not known where)."""
    return "" if site is None else str(site)


def models(trace: Trace, modules: Iterable[int], event: Event) -> str:
    """What these models of an event are: where they are built, else their numbers in its script or function."""
    built = {made.module: made for made in trace.of(ModuleBuilt)}
    root = event.scope.chain()[0].site
    return ", ".join(
        sorted(f"{built[module].site}" if module in built else f"{module} of {root}" for module in modules)
    )


def models_behind(trace: Trace, *tensors: TensorFact, event: Event) -> str:
    """What the models are whose results went into the tensors of an event ("": there are none)."""
    forwards = trace.at(*sorted(frozenset[int]().union(*(tensor.forwards for tensor in tensors))))
    return models(trace, {forward.module for forward in forwards if isinstance(forward, Forward)}, event)


def one_loss(trace: Trace, loss: LossCalled) -> str:
    """What the calls of one sort of loss on what one model gives are, in training and in evaluation."""
    of = models_behind(trace, loss.input, loss.target, event=loss)
    return f"{loss.loss} of {of}" if of else ""
