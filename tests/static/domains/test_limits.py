"""The limits of numbers: what torch's derivatives are at the ends of ranges, and what the source tells of these ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.static.domains.asking import asked
from torch_doctor.static.domains.limits import Bounds, Span
from torch_doctor.static.domains.limits.span import rounded

if TYPE_CHECKING:
    from collections.abc import Callable

INF, NAN = math.inf, math.nan


def _where(v: torch.Tensor) -> torch.Tensor:
    return torch.where(v > 0, v.sqrt(), torch.zeros(()))


def _where_inside(v: torch.Tensor) -> torch.Tensor:
    return torch.where(v > 0, torch.where(v > 0, v, torch.ones(())).sqrt(), torch.zeros(()))


def _masked_row(v: torch.Tensor) -> torch.Tensor:
    return v.masked_fill(torch.ones_like(v, dtype=torch.bool), -INF).softmax(0)


MEASURED: list[tuple[str, Callable[[torch.Tensor], torch.Tensor], list[float], float]] = [
    # the gradient is infinite or NaN
    ("a clamp before a root, at its end", lambda v: v.clamp(min=0).sqrt(), [0.0], INF),
    ("the larger one, at its end", lambda v: torch.maximum(v, torch.zeros(())).sqrt(), [0.0], INF),
    ("a size", lambda v: v.abs().sqrt(), [0.0], NAN),
    ("squares", lambda v: (v**2).sum().sqrt(), [0.0], NAN),
    ("the root of a variance of equal elements", lambda v: v.var().sqrt(), [1.0, 1.0], NAN),
    ("one element", lambda v: v.std(), [1.0], NAN),
    ("a mask before a root", lambda v: (v * (v > 5)).sqrt(), [1.0], NAN),
    ("the arm that is not chosen", _where, [0.0], NAN),
    ("the arm that is not chosen, below", _where, [-1.0], NAN),
    ("a mask after a root", lambda v: (v > 0) * v.sqrt(), [0.0], NAN),
    ("a root that is filled", lambda v: v.sqrt().masked_fill(v == 0, 0.0), [0.0], NAN),
    ("an arc function at the end of a clamp", lambda v: v.clamp(-1, 1).acos(), [1.0], -INF),
    ("an area function at the end of a clamp", lambda v: v.clamp(min=1).acosh(), [1.0], INF),
    ("a power of what a sigmoid leaves", lambda v: (1 - v.sigmoid()) ** 0.5, [20.0], NAN),
    ("an epsilon that is too small", lambda v: (1 - v.clamp(1e-8, 1 - 1e-8)).log(), [1.0], -INF),
    ("an epsilon that half precision has not", lambda v: (v.half() + 1e-8).log(), [0.0], INF),
    ("a quotient", lambda v: 1 / v.clamp(min=0), [0.0], -INF),
    # it is finite
    ("a clamp before a root, below", lambda v: v.clamp(min=0).sqrt(), [-1.0], 0.0),
    ("a ReLU before a root", lambda v: v.relu().sqrt(), [0.0], 0.0),
    ("squares of a ReLU", lambda v: (v.relu() ** 2).sum().sqrt(), [0.0], 0.0),
    ("a norm", torch.linalg.vector_norm, [0.0], 0.0),
    ("distances of a set to itself", lambda v: torch.cdist(v[:, None], v[:, None]).sqrt(), [1.0], 0.0),
    ("a deviation of equal elements", lambda v: v.std(), [1.0, 1.0], 0.0),
    ("a choice inside and outside", _where_inside, [0.0], 0.0),
    ("a part that leaves out the end", lambda v: (v * 1)[v > 0].sqrt(), [0.0], 0.0),
    ("a bounded ReLU", lambda v: functional.relu6(v).sqrt(), [0.0], 0.0),
    ("a row that is masked completely, whose values are NaN", _masked_row, [1.0, 2.0], 0.0),
    ("a power above 1", lambda v: v.clamp(min=0) ** 1.5, [0.0], 0.0),
]


@pytest.mark.parametrize(
    ("function", "at", "gradient"), [each[1:] for each in MEASURED], ids=[each[0] for each in MEASURED]
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_torch_has_these_derivatives(
    function: Callable[[torch.Tensor], torch.Tensor], at: list[float], gradient: float
) -> None:
    values = torch.tensor(at, requires_grad=True)
    (found,) = torch.autograd.grad(function(values).sum(), values)
    assert found[0].item() == pytest.approx(gradient, nan_ok=True)


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_the_binary_cross_entropy_has_a_finite_derivative_at_both_ends(target: float) -> None:
    values = torch.tensor([1 - target], requires_grad=True)
    (found,) = torch.autograd.grad(functional.binary_cross_entropy(values, torch.tensor([target])), values)
    assert found.isfinite().all()


HEAD = """
import torch
import torch.nn.functional as F
x = torch.nn.Linear(3, 4)(torch.randn(8, 3))
y = torch.randint(0, 4, (8,))
"""


def span(expression: str) -> Span:
    """The limits of an expression of an output `x` and labels `y`."""
    (found,) = asked(Bounds, HEAD + f"v = {expression}\n", "v")
    return found


def taken(expression: str) -> dict[float, str]:
    """The values that an expression surely has, and why."""
    return {each.value: each.why for each in span(expression).taken}


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("x", -INF, INF),
        ("torch.sigmoid(x)", 0, 1),
        ("1 - x.softmax(1)", 0, 1),
        ("2 * x.tanh() - 1", -3, 1),
        ("x ** 2 + 1", 1, INF),
        ("(x * x).sum(1).sqrt()", 0, INF),
        ("x.clamp(-2, 3).abs()", 0, 3),
        ("x.clamp(1, 2).pow(-1)", 0.5, 1),
        ("torch.exp(-F.cross_entropy(x, y, reduction='none'))", 0, 1),
        ("torch.where(x > 0, x, 1.0).clamp(max=5)", -INF, 5),
        ("F.one_hot(y, 4).sum(0)", 0, INF),
        ("x.norm(dim=1).clamp(max=2)", 0, 2),
        ("torch.cat([x.sigmoid(), x.tanh()])", -1, 1),
        ("x.relu().mean(1) + 1e-3", 1e-3, INF),
    ],
)
def test_the_interval_follows_from_the_operations(expression: str, low: float, high: float) -> None:
    found = span(expression)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("x.clamp(min=0)", {0: "clamp"}),
        ("x.clamp(min=0).unsqueeze(0).float()", {0: "clamp"}),
        ("torch.max(x, torch.zeros_like(x))", {0: "clamp"}),
        ("1 - x.clamp(0, 1)", {1: "clamp", 0: "clamp"}),
        ("x.sigmoid()", {1: "rounding", 0: "far"}),
        ("1 - x.sigmoid()", {0: "rounding", 1: "far"}),
        ("x.double().sigmoid()", {0: "far"}),
        ("x.sigmoid() + 1", {2: "rounding", 1: "far"}),
        ("x.sigmoid().clamp(max=1 - 1e-8)", {1: "epsilon", 0: "far"}),
        ("x.sigmoid().clamp(max=1 - 1e-6)", {rounded(1 - 1e-6, "float32"): "clamp", 0: "far"}),
        ("x.double().clamp(max=1 - 1e-8)", {1 - 1e-8: "clamp"}),
        ("(x > 0).float()", {0: "mask", 1: "mask"}),
        ("x * (x > 0)", {0: "mask"}),
        ("x[:, None] - x[None]", {0: "pair"}),
        ("((x.unsqueeze(1) - x.unsqueeze(0)) ** 2).sum(-1)", {0: "pair"}),
        ("((x.unsqueeze(1) - x.unsqueeze(0)) ** 2).sum()", {}),
        ("((x[:, None] - x[None]) ** 2)[~torch.eye(8, dtype=torch.bool)]", {}),
        ("((x[:, None] - x[None]) ** 2).sum(-1) + torch.eye(8)", {}),
        ("x[1:] - x[:-1]", {}),
        ("x.abs()", {}),
        ("1 - x.tanh() ** 2", {0: "rounding"}),
        ("1 - x.tanh() ** 2 + 1e-6", {rounded(1e-6, "float32"): "rounding"}),
        ("x.softmax(1).gather(1, torch.multinomial(x.softmax(1), 1))", {1: "rounding", 0: "far"}),
        ("(p := x.softmax(1)).gather(1, torch.multinomial(p, 1))", {}),
        ("x.softmax(1).amax(1)", {}),
        ("x.sigmoid() * x.sigmoid()", {}),
        ("x.relu()", {0: "end"}),
        ("x.clamp(min=0).sum(1)", {}),
        ("x.clamp(min=0)[x > 1]", {}),
        ("(x ** 2).mean().clamp(min=0)", {}),
        ("torch.where(x > 0, x.clamp(min=0), 1.0)", {}),
    ],
)
def test_values_are_taken_by_construction(expression: str, values: dict[float, str]) -> None:
    assert taken(expression) == values


def test_what_is_reached_in_the_limit_is_no_value_of_a_gradient() -> None:
    found = span("x.softmax(1)")
    assert found.at(0.0) is None
    assert found.reached(0.0) is not None
    assert found.limits("float32").taken == (1.0,)


def test_no_gradient_goes_on_at_the_zeros_of_a_relu() -> None:
    assert span("(x.relu() ** 2).sum(1)").stops == {0}
    assert span("x.relu() + 1").stops == {1}
    assert not span("x.relu() * x").stops


def test_a_tensor_that_is_written_to_may_have_any_numbers() -> None:
    (found,) = asked(Bounds, HEAD + "v = x.clamp(min=0)\nv[0] = -1\n", "v")
    assert not found.taken


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("number", [1 - 1e-8, 1 - 1e-3, 1e-8, 1e-12, 0.1, 3.0, 1e5])
def test_numbers_are_rounded_as_torch_rounds_them(number: float, dtype: str) -> None:
    assert rounded(number, dtype) == torch.tensor(number, dtype=getattr(torch, dtype)).item()
