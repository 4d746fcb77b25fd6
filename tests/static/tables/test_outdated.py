"""The table of what torch has replaced, against torch itself."""

from __future__ import annotations

import contextlib
import importlib
import inspect

import pytest

from torch_doctor.static.tables.outdated import NAMES, OF_LOSSES, OF_MODULES, OF_SCHEDULERS, OF_TENSORS

EVERY = {**NAMES, **OF_TENSORS, **OF_MODULES, **OF_LOSSES, **OF_SCHEDULERS}

# Discouraged in notes and migration guides, or written in C, where nothing at the name itself says so.
UNMARKED = frozenset(
    (
        *("torch.autograd.Variable", "torch.autograd.variable.Variable"),
        *("torch.nn.functional.tanh", "torch.nn.functional.sigmoid"),
        *("torch.get_autocast_gpu_dtype", "torch.set_autocast_gpu_dtype", "torch.is_autocast_cpu_enabled"),
    )
)
MARKS = ("deprecat", "in favor of", "recommended to use")


def found(name: str) -> object | None:
    """What is there under a dotted name, None where nothing is."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part, None)
        return thing
    return None


@pytest.mark.parametrize("api", EVERY)
def test_every_successor_is_there(api: str) -> None:
    assert EVERY[api].names
    for name in EVERY[api].names:
        assert found(name) is not None, name


@pytest.mark.parametrize("api", EVERY)
def test_no_successor_is_outdated_itself(api: str) -> None:
    assert NAMES.keys().isdisjoint(EVERY[api].names)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("api", sorted(NAMES.keys() - UNMARKED))
def test_what_is_still_there_is_marked_by_torch(api: str) -> None:
    thing = found(api)
    if thing is None:
        return  # gone already
    said = [inspect.getdoc(thing) or "", getattr(thing, "__deprecated__", "") or ""]
    if inspect.isclass(thing) or inspect.isroutine(thing):
        with contextlib.suppress(OSError, TypeError):
            said.append(inspect.getsource(thing))
    assert any(mark in text.lower() for mark in MARKS for text in said)


def test_the_arguments_are_not_those_of_schedulers_any_more() -> None:
    scheduler = importlib.import_module("torch.optim.lr_scheduler")
    for argument in OF_SCHEDULERS:
        assert argument not in inspect.signature(scheduler.ReduceLROnPlateau).parameters


def test_losses_still_take_the_arguments_that_their_pages_call_deprecated() -> None:
    loss = importlib.import_module("torch.nn").MSELoss
    for argument in OF_LOSSES:
        assert argument in inspect.signature(loss).parameters
        assert f"{argument} (bool, optional): Deprecated" in (inspect.getdoc(loss) or "").replace("\n", " ")
