"""The table of what torch has replaced, against torch itself."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch

from torch_doctor.static.tables.outdated import (
    NAMES,
    OF_LOSSES,
    OF_MODULES,
    OF_SCHEDULERS,
    OF_SINGLE_NUMBERS,
    OF_TENSORS,
    OF_VARIABLES,
)

EVERY = {**NAMES, **OF_TENSORS, **OF_SINGLE_NUMBERS, **OF_MODULES, **OF_LOSSES, **OF_SCHEDULERS, **OF_VARIABLES}

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.mark.parametrize("key", OF_SINGLE_NUMBERS)
def test_a_single_number_has_no_items(key: str) -> None:
    assert key == "[]"
    with pytest.raises(IndexError, match="0-dim"):
        torch.tensor(1.5)[0]


def linear() -> torch.nn.Module:
    return torch.nn.Linear(3, 3)


SQUARE = torch.eye(3)
ROW = torch.ones(3)
IMAGE = torch.ones(1, 1, 4, 4)
CALLS: dict[str, Callable[[Any], object]] = {
    "torch.autograd.Variable": lambda f: f(ROW),
    "torch.nn.functional.tanh": lambda f: f(ROW),
    "torch.nn.functional.sigmoid": lambda f: f(ROW),
    "torch.nn.UpsamplingNearest2d": lambda f: f(scale_factor=2)(IMAGE),
    "torch.nn.UpsamplingBilinear2d": lambda f: f(scale_factor=2)(IMAGE),
    "torch.nn.DataParallel": lambda f: f(linear())(ROW),
    "torch.ger": lambda f: f(ROW, ROW),
    "torch.norm": lambda f: f(ROW),
    "torch.svd": lambda f: f(SQUARE),
    "torch.autograd.variable": lambda f: f(ROW),
    "torch.cuda.amp.autocast": lambda f: f(enabled=False),
    "torch.cpu.amp.autocast": lambda f: f(enabled=False),
    "torch.cuda.amp.GradScaler": lambda f: f(enabled=False),
    "torch.cpu.amp.GradScaler": lambda f: f(enabled=False),
    "torch.cuda.amp.custom_fwd": lambda f: f(len),
    "torch.cuda.amp.custom_bwd": lambda f: f(len),
    "torch.get_autocast_gpu_dtype": lambda f: f(),
    "torch.is_autocast_cpu_enabled": lambda f: f(),
    "torch.nn.functional.upsample": lambda f: f(IMAGE, scale_factor=2),
    "torch.nn.functional.upsample_nearest": lambda f: f(IMAGE, scale_factor=2),
    "torch.nn.functional.upsample_bilinear": lambda f: f(IMAGE, scale_factor=2),
    "torch.nn.NLLLoss2d": lambda f: f(),
    "torch.nn.utils.weight_norm": lambda f: f(linear()),
    "torch.nn.utils.clip_grad_norm": lambda f: f(linear().parameters(), 1.0),
    "torch.nn.utils.stateless.functional_call": lambda f: f(linear(), {}, (ROW,)),
    "torch.nn.init.uniform": lambda f: f(torch.empty(3)),
    "torch.nn.init.constant": lambda f: f(torch.empty(3), 0.0),
    "torch.nn.init.xavier_uniform": lambda f: f(torch.empty(3, 3)),
    "torch.range": lambda f: f(0, 2),
    "torch.chain_matmul": lambda f: f(SQUARE, SQUARE),
    "torch.cholesky": lambda f: f(SQUARE),
    "torch.qr": lambda f: f(SQUARE),
    "torch.lu": lambda f: f(SQUARE),
    "torch.lu_solve": lambda f: f(SQUARE, *torch.linalg.lu_factor(SQUARE)),
    "torch.triangular_solve": lambda f: f(SQUARE, SQUARE),
    "torch.symeig": lambda f: f(SQUARE),
    "torch.eig": lambda f: f(SQUARE),
    "torch.lstsq": lambda f: f(SQUARE, SQUARE),
    "torch.solve": lambda f: f(SQUARE, SQUARE),
    "torch.matrix_rank": lambda f: f(SQUARE),
    "torch.cuda.memory_cached": lambda f: f(),
    "torch.backends.cuda.sdp_kernel": lambda f: f(),
    "torch.testing.assert_allclose": lambda f: f(ROW, ROW),
    "torch.jit.script": lambda f: f(linear()),
    "torch.jit.trace": lambda f: f(linear(), ROW),
    "functorch.vmap": lambda f: f(torch.sin),
    "functorch.grad": lambda f: f(torch.sin),
}


def speaks(call: Callable[[], object]) -> bool:
    """Whether torch warns of a call, or refuses it."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # some warnings come once in a process
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
    except RuntimeError:
        return True
    finally:
        torch.set_warn_always(before)
    return any("deprecated" in str(each.message) or "renamed" in str(each.message) for each in said)


@pytest.mark.parametrize("api", CALLS)
def test_what_is_said_to_warn_or_to_be_gone_does_and_the_rest_is_silent(api: str) -> None:
    known = NAMES[api]
    assert speaks(lambda: CALLS[api](found(api))) is (known.warns is not None or known.gone is not None)


def test_attributes_and_hooks_and_arguments_warn_as_they_are_said_to() -> None:
    def hooked() -> None:
        module = linear()
        module.register_backward_hook(lambda *_: None)
        module(torch.ones(1, 3)).sum().backward()

    with pytest.warns(UserWarning, match="volatile was removed"):
        _ = ROW.volatile  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="volatile was removed"):
        torch.autograd.Variable(ROW, volatile=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ = ROW.data
    assert speaks(hooked)
    assert OF_TENSORS["volatile"].gone
    assert OF_VARIABLES["volatile"].gone
    assert OF_TENSORS["data"].warns is None
    assert OF_MODULES["register_backward_hook"].warns


def test_the_notice_of_a_losss_old_arguments_announces_and_does_not_deprecate() -> None:
    with pytest.warns(UserWarning, match="will be deprecated"):
        torch.nn.MSELoss(size_average=True)
    assert all(each.warns is None for each in OF_LOSSES.values())


@pytest.mark.parametrize("api", EVERY)
def test_the_successor_is_there_when_the_warning_comes(api: str) -> None:
    known = EVERY[api]
    assert all(version is None or known.since <= version for version in (known.warns, known.gone))
    assert known.gone is None or known.warns is None or known.warns <= known.gone
