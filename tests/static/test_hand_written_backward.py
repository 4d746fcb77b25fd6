"""What the source alone shows of a `backward` that is written by hand."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import math
import torch
import torch.nn.functional as F

GAIN = 1.7


def slope(x, gain=1.0):
    s = torch.sigmoid(x)
    return gain * s * (1 - s)


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x{more}):
        ctx.save_for_backward(x)
        {keep}
        return {forward}

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return {backward}


print(Function.apply(torch.randn(3, requires_grad=True)))
"""


def backward(forward: str, backward: str, more: str = "", keep: str = "pass") -> str:
    """What is said of such a function."""
    [line] = said(SCRIPT.format(forward=forward, backward=backward, more=more, keep=keep), "the backward of Function")
    return line


@pytest.mark.parametrize(
    ("forward", "right", "wrong"),
    [
        ("x * x", "grad * 2 * x", "grad * x"),
        ("x ** 3", "3 * x.pow(2) * grad", "3 * x ** 2"),
        ("torch.sigmoid(x) * GAIN", "grad * slope(x, GAIN)", "grad * slope(x)"),
        (
            "x.exp() / (1 + x * x)",
            "grad * x.exp() * (1 + x * x - 2 * x) / (1 + x * x) ** 2",
            "grad * x.exp() / (1 + x * x)",
        ),
        ("F.softplus(x) * math.exp(1)", "grad * F.sigmoid(x) * math.exp(1)", "-grad * F.sigmoid(x) * math.exp(1)"),
        (
            "torch.where(x > 0, x * x, x.exp() - 1)",
            "torch.where(x > 0, 2 * x, x.exp()) * grad",
            "torch.where(x > 0, x, -x) * grad",
        ),
    ],
)
def test_a_wrong_derivative_is_told_from_the_right_one(forward: str, right: str, wrong: str) -> None:
    assert backward(forward, right) == "the backward of Function"
    assert "`x` gets" in backward(forward, wrong)


@pytest.mark.parametrize(
    ("forward", "backward_"),
    [
        ("x.view_as(x)", "-grad"),
        ("x * 0.5", "grad"),
        ("x.clamp(-1, 1)", "grad"),
        ("(x > 0).float()", "grad / (1 + x * x)"),
        ("x.round()", "grad * x"),
        ("x.exp()", "grad * x.clamp(-1, 1).exp()"),
        ("x.exp().sum()", "grad * x"),
        ("x.exp() + 0 * torch.rand_like(x)", "grad * x"),
    ],
)
def test_what_may_be_on_purpose_or_is_no_arithmetic_is_left_alone(forward: str, backward_: str) -> None:
    assert backward(forward, backward_) == "the backward of Function"


@pytest.mark.parametrize(
    ("returned", "more", "counts"),
    [
        ("grad * 2 * x", ", w", "1 gradients for 2 inputs"),
        ("(grad * 2 * x, None, None)", ", w", ""),
        ("(grad * 2 * x, grad * x, None)", "", "3 gradients for 1 inputs"),
        ("grad * 2 * x", ", w=None", ""),
        ("(grad * 2 * x,)", ", *rest", ""),
        ("tuple(each for each in (grad, grad))", ", w", ""),
        ("torch.autograd.grad(x, x)", ", w", ""),
    ],
)
def test_gradients_are_counted_where_their_number_is_certain(returned: str, more: str, counts: str) -> None:
    line = backward("x * x", returned, more)
    assert counts in line
    assert ("gradients for" in line) is bool(counts)


def test_a_result_that_the_context_keeps_is_told_and_an_input_is_not() -> None:
    assert "stores its result" in backward("y", "grad * 2 * x", keep="ctx.y = y = x * x")
    assert "keeps" not in backward("x * x", "grad * 2 * x", keep="ctx.x = x")
