"""What watchers ask of each other, and what they tell instruments, has types."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
import torch

from torch_doctor.probe.agent import discovery, instruments, watching
from torch_doctor.probe.agent.watching import protocols
from torch_doctor.probe.agent.watching.checkpoint import states
from torch_doctor.probe.agent.watching.data import datasets, first_layers, loaders, memory
from torch_doctor.probe.agent.watching.device import autocasting, moves
from torch_doctor.probe.agent.watching.evaluation import sums
from torch_doctor.probe.agent.watching.instrument_hooks import InstrumentHooks
from torch_doctor.probe.agent.watching.loss import differences
from torch_doctor.probe.agent.watching.module import (
    built_in_forward,
    containers,
    functional_dropout,
    mode_methods,
    modules,
    named_forwards,
    plain_tensors,
    sharing,
)
from torch_doctor.probe.agent.watching.update import (
    flags,
    forwards,
    given_weights,
    gradients,
    optimizers,
    scaling,
    schedules,
)
from torch_doctor.probe.agent.watching.watch import Watch

if TYPE_CHECKING:
    from types import ModuleType

HOOKS = {name for name in vars(InstrumentHooks) if name[0] != "_"}


@pytest.fixture
def watch() -> Watch:
    return Watch(torch, Mock(), Mock())


def test_each_watcher_is_what_others_take_it_for(watch: Watch) -> None:
    """With `mypy`, which compares the methods and attributes of both sides of each line."""
    watch.autocasting = autocasting.Watcher(watch)
    watch.built_in_forward = built_in_forward.Watcher(watch)
    watch.containers = containers.Watcher(watch)
    watch.datasets = datasets.Watcher(watch)
    watch.differences = differences.Watcher(watch)
    watch.first_layers = first_layers.Watcher(watch)
    watch.flags = flags.Watcher(watch)
    watch.forwards = forwards.Watcher(watch)
    watch.functional_dropout = functional_dropout.Watcher(watch)
    watch.given_weights = given_weights.Watcher(watch)
    watch.gradients = gradients.Watcher(watch)
    watch.loaders = loaders.Watcher(watch)
    watch.memory = memory.Watcher(watch)
    watch.mode_methods = mode_methods.Watcher(watch)
    watch.modules = modules.Watcher(watch)
    watch.moves = moves.Watcher(watch)
    watch.named_forwards = named_forwards.Watcher(watch)
    watch.optimizers = optimizers.Watcher(watch)
    watch.plain_tensors = plain_tensors.Watcher(watch)
    watch.scaling = scaling.Watcher(watch)
    watch.schedules = schedules.Watcher(watch)
    watch.sharing = sharing.Watcher(watch)
    watch.states = states.Watcher(watch)
    watch.sums = sums.Watcher(watch)
    assert set(Watch.__annotations__) <= watching.watchers().keys() & vars(watch).keys()
    assert set(Watch.__annotations__.values()) == {name for name, kind in vars(protocols).items() if _is_protocol(kind)}


def test_a_misspelt_watcher_method_or_hook_is_an_error_of_types(watch: Watch) -> None:
    """`mypy` rejects each of these lines: where it does not, it calls the comment at its end unused."""
    watch.given_weights = given_weights.Watcher(watch)
    watch.gradients = gradients.Watcher(watch)
    with pytest.raises(AttributeError):
        watch.gradiens  # type: ignore[attr-defined]  # noqa: B018 - see above
    with pytest.raises(AttributeError):
        watch.gradients.next_rounds()  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        watch.gradients.next_round(1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        watch.tell(InstrumentHooks.on_batches, None)  # type: ignore[attr-defined]
    watch.tell(InstrumentHooks.on_batch, None)  # type: ignore[call-arg]  # nobody listens, and it is called with too little


@pytest.mark.parametrize("module", discovery.modules(instruments), ids=lambda each: each.__name__.rpartition(".")[2])
def test_a_public_method_of_an_instrument_is_a_hook(module: ModuleType) -> None:
    kind = getattr(module, "Instrument", InstrumentHooks)
    assert {name for name, what in vars(kind).items() if inspect.isfunction(what) and name[0] != "_"} <= HOOKS


def _is_protocol(kind: object) -> bool:
    return getattr(kind, "_is_protocol", False) and kind.__module__ == protocols.__name__
