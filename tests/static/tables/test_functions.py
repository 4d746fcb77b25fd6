"""The tables of functions, methods and attributes against torch itself: every entry that can be called is called."""

from __future__ import annotations

import importlib
import itertools
from typing import TYPE_CHECKING

import pytest
import torch

from tests.static.tables.samples import METHOD_SAMPLES, called, square, tensor
from torch_doctor.static.tables.functions import ATTRIBUTES, EXP_OF, LOG_OF, METHODS
from torch_doctor.static.tables.torch_functions import FUNCTIONS
from torch_doctor.trace.words import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.static.tables.samples import Arguments
    from torch_doctor.static.tables.function import Function

pytestmark = pytest.mark.filterwarnings("ignore")

IN_TORCH = sorted(name for name in FUNCTIONS if name.startswith("torch."))
# Called with side effects that outlive a test, or with nothing that a test could give.
UNTRIED_FUNCTIONS = frozenset(
    {
        *(
            "torch.set_num_interop_threads",
            "torch.set_default_tensor_type",
            "torch.set_default_device",
            "torch.from_file",
        ),
        "torch.frombuffer",  # takes its dtype by name only
        "torch.linalg.solve_triangular",  # takes upper by name only
        *("torch.set_num_threads", "torch.set_flush_denormal", "torch.use_deterministic_algorithms"),
        *("torch.set_default_dtype", "torch.set_warn_always", "torch.set_printoptions"),
    }
)
UNTRIED_METHODS = frozenset(
    {"cuda", "xpu", "pin_memory", "share_memory_", "is_pinned", "as_subclass", "__array__", "set_"}
)


def _found(name: str) -> Callable[..., object]:
    module, _, last = name.rpartition(".")
    found: Callable[..., object] = getattr(importlib.import_module(module), last)
    return found


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return [value.data]
    if isinstance(value, (tuple, list)):
        return list(itertools.chain.from_iterable(map(_tensors, value)))
    return []


def _agrees(function: Function, given: Arguments, out: object) -> None:
    """Compare what is declared with one call."""
    tensors = _tensors(out)
    assert _is(function.result, out)
    assert out is given[0] if function.in_place else True
    fed = any(tensor.requires_grad for tensor in _tensors(given))
    if not function.graph:
        assert not any(tensor.requires_grad for tensor in tensors)
    elif fed and not function.in_place:
        assert any(tensor.requires_grad for tensor in tensors)
        if function.indices and function.result == "tuple":
            assert not tensors[-1].requires_grad
            assert not tensors[-1].is_floating_point()
        if function.zero_gradient:
            first = _tensors(given)[0]
            gradients: tuple[torch.Tensor | None, ...] = torch.autograd.grad(tensors[0].sum(), first, allow_unused=True)
            assert not any(gradient.any() for gradient in gradients if gradient is not None)
    if function.scalar is not False:
        assert all(tensor.ndim == 0 for tensor in tensors)


def _is(result: str, out: object) -> bool:
    match result:
        case "plain":
            return out is not None and not _tensors(out)
        case "none":
            return out is None
        case "tensor":
            return isinstance(out, (torch.Tensor, torch.nn.utils.rnn.PackedSequence))
        case _:
            return isinstance(out, (tuple, list))


@pytest.mark.parametrize("name", [name for name in IN_TORCH if name not in UNTRIED_FUNCTIONS])
def test_functions(name: str) -> None:
    call = _found(name)
    last = name.rpartition(".")[2]
    short = name.removeprefix("torch.").replace("nn.functional.", "F.")
    if name == "torch.dtype":
        return
    given, out = called(call, short, last)
    _agrees(FUNCTIONS[name], given, out)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - UNTRIED_METHODS))
def test_methods(name: str) -> None:
    def call(*given: object) -> object:
        assert isinstance(given[0], torch.Tensor)
        return getattr(given[0], name)(*given[1:])

    given, out = called(call, name) if name not in METHOD_SAMPLES else called(call, f"x.{name}")
    _agrees(METHODS[name], given, out)


@pytest.mark.parametrize("name", sorted(UNTRIED_METHODS))
def test_untried_methods_exist(name: str) -> None:
    assert hasattr(torch.Tensor, name)


@pytest.mark.parametrize("name", sorted(UNTRIED_FUNCTIONS))
def test_untried_functions_exist(name: str) -> None:
    assert callable(_found(name))


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_attributes(name: str) -> None:
    if name == "imag":
        return
    given = square()
    given.retain_grad()
    torch.autograd.backward(given.sum())
    out = getattr(given, name)
    function = ATTRIBUTES[name]
    assert isinstance(out, torch.Tensor) == (function.result == "tensor")
    if isinstance(out, torch.Tensor):
        assert out.requires_grad == function.graph


@pytest.mark.parametrize(
    "name", [name for name in IN_TORCH if FUNCTIONS[name].kind in (Kind.PROBABILITIES, Kind.LOG_PROBABILITIES)]
)
def test_probabilities_sum_to_one(name: str) -> None:
    scores = torch.randn(4, 5) * 3
    out = _found(name)(scores, dim=-1)
    assert isinstance(out, torch.Tensor)
    if FUNCTIONS[name].kind is Kind.LOG_PROBABILITIES:
        out = out.exp()
    assert torch.allclose(out.sum(-1), torch.ones(4))


@pytest.mark.parametrize(
    "name", [name for name in IN_TORCH if FUNCTIONS[name].kind in (Kind.BOUNDED, Kind.LOG_BOUNDED)]
)
def test_bounded_is_bounded(name: str) -> None:
    out = _found(name)(torch.linspace(-8, 8, 100))
    assert isinstance(out, torch.Tensor)
    if FUNCTIONS[name].kind is Kind.LOG_BOUNDED:
        out = out.exp()
    assert 0 <= out.min() < 0.01
    assert 0.99 < out.max() <= 1


@pytest.mark.parametrize("name", sorted(name for name in METHODS if METHODS[name].with_dim == "tuple"))
def test_reductions_with_a_dim_return_pairs(name: str) -> None:
    values, indices = getattr(tensor(4, 4), name)(dim=1)
    assert values.requires_grad
    assert not indices.requires_grad
    assert getattr(torch, name)(tensor(4, 4), 1)[1].dtype is torch.int64


@pytest.mark.parametrize("name", sorted(name for name in METHODS if METHODS[name].scalar is None))
def test_reductions_with_a_dim_are_no_single_number(name: str) -> None:
    given = (0.5, 1) if "quantile" in name else (2, 1) if name == "norm" else (1,)
    out = getattr(tensor(4, 4), name)(*given)
    assert all(each.ndim == 1 for each in _tensors(out))


@pytest.mark.parametrize("name", sorted(name for name in IN_TORCH if FUNCTIONS[name].source is Source.NOISE))
def test_noise_is_drawn(name: str) -> None:
    call = _found(name)
    sample = torch.full((64,), 0.5)
    given: dict[str, Arguments] = {
        "randn": (64,),
        "rand": (64,),
        "randint": (100, (64,)),
        "randint_like": (sample, 100),
        "normal": (sample, sample),
        "randperm": (64,),
        "multinomial": (sample, 32),
    }
    arguments = given.get(name.removeprefix("torch."), (sample,))
    one, other = call(*arguments), call(*arguments)
    assert isinstance(one, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("view", Kind.LOGITS, Kind.LOGITS),
        ("mean", Kind.LOSS, Kind.LOSS),
        ("sum", Kind.LOSS, Kind.LOSS),
        ("sum", Kind.PROBABILITIES, Kind.UNKNOWN),
        ("mul", Kind.LOSS, Kind.LOSS),
        ("mul", Kind.LOGITS, Kind.UNKNOWN),
        ("exp", Kind.LOSS, Kind.UNKNOWN),
        ("softmax", Kind.LOGITS, Kind.PROBABILITIES),
        ("argmax", Kind.PROBABILITIES, Kind.LABELS),
        ("item", Kind.LOSS, Kind.UNKNOWN),
        ("detach", Kind.LOSS, Kind.LOSS),
        ("cpu", Kind.LOSS, Kind.LOSS),
    ],
)
def test_kind_of_a_result(name: str, kind: Kind, expected: Kind) -> None:
    assert METHODS[name].of(kind) is expected


def test_log_and_exp_are_inverse() -> None:
    assert {EXP_OF[LOG_OF[kind]] for kind in LOG_OF} == LOG_OF.keys()
