"""The gradients of hand-written functions, compared on copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import HandWrittenBackward

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.probe import Outcome

SCRIPT = """
import torch
torch.manual_seed(0)
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return {forward}
    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return {backward}
x, w = torch.randn(6, 4), torch.randn(3, 4, requires_grad=True)
print(Function.apply(x, w).sum().item(), torch.rand(1).item())
"""


def looked_at(seen: Callable[..., list[Any]], forward: str, backward: str) -> HandWrittenBackward:
    """What the run says of such a function."""
    [event] = seen(SCRIPT.format(forward=forward, backward=backward), HandWrittenBackward, "gradcheck")
    assert isinstance(event, HandWrittenBackward)
    return event


@pytest.mark.parametrize(
    ("forward", "right", "wrong"),
    [
        ("x @ w.t()", "None, grad.t() @ x", "None, -grad.t() @ x"),
        ("(x @ w.t()).exp()", "None, (grad * (x @ w.t()).exp()).t() @ x", "None, (x @ w.t()).exp().t() @ x"),
        ("(x.mean() * w.norm()).reshape(1)", "None, grad * x.mean() * w / w.norm()", "None, grad * w"),
    ],
)
def test_a_gradient_of_matrices_is_told_from_the_right_one(
    seen: Callable[..., list[Any]], forward: str, right: str, wrong: str
) -> None:
    first = looked_at(seen, forward, right)
    assert (first.argument, first.compared) == ("", ("w",))
    assert looked_at(seen, forward, wrong).argument == "w"


@pytest.mark.parametrize(
    ("forward", "backward", "because"),
    [
        ("w.sign() * x[:3]", "None, grad", "its result does not depend"),
        ("w.clamp(-1, 1) + x.sum()", "None, 3 * grad", "its backward may be any"),
        ("w * torch.rand_like(w)", "None, grad", "it draws random numbers"),
        ("(w * w + 0 * x[:3]).float()", "None, grad", "it does not compute in float64"),
        ("w * w", "None, grad", "its result does not depend on one of its inputs"),
        ("w * w + 0 * x[:3] + print() if False else w * w", "None, grad", "it does more than compute"),
    ],
)
def test_what_may_be_on_purpose_is_not_compared(
    seen: Callable[..., list[Any]], forward: str, backward: str, because: str
) -> None:
    event = looked_at(seen, forward, backward)
    assert (event.argument, event.compared) == ("", ())
    assert event.because.startswith(because)


def test_what_the_script_computes_and_draws_stays_as_it_is(observe: Callable[..., Outcome]) -> None:
    script = SCRIPT.format(forward="x @ w.t()", backward="None, grad.t() @ x")
    assert observe(script, "gradcheck").output == observe(script).output
