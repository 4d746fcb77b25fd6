"""Which statements the source alone shows to compute a tensor in vain."""

from __future__ import annotations

import textwrap

import pytest

from tests.said import said

SCRIPT = """
import contextlib
import time
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import softplus

{before}

model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
buffer = torch.zeros(8, 4)
items = [torch.rand(4), torch.rand(4)]
for step in range(3):
    x = torch.randn(8, 4)
    out = model(x)
{inside}
    loss = (out * x - buffer).pow(2).mean() + sum(items).sum()
    loss.backward()
{after}
    optimizer.step()
    optimizer.zero_grad()
"""


def lost(inside: str = "pass", before: str = "", after: str = "pass") -> list[str]:
    """The results that are lost by statements before the backward pass and after it."""
    code = SCRIPT.format(before=before, inside=textwrap.indent(inside, "    "), after=textwrap.indent(after, "    "))
    found = {line.partition("compute `")[2].partition("`;")[0] for line in said(code, "the result is discarded")}
    return sorted(found)


@pytest.mark.parametrize(
    "statement",
    [
        "out.squeeze(1)",
        "out.masked_fill(x > 0, 0.0)",
        "out.float()",
        "F.relu(out)",
        "softplus(out)",
        "F.normalize(out, dim=1)",
        "torch.clamp(out, 0, 1)",
        "out.transpose(0, 1).contiguous()",
        "F.relu(out).mul(0.5)",
        "buffer.mul(0.9).add(0.1)",
    ],
)
def test_a_tensor_that_is_used_further_was_meant_to_change(statement: str) -> None:
    assert lost(statement) == [statement]


@pytest.mark.parametrize(
    "statement",
    [
        "p.grad.clamp(-1, 1)",
        "torch.clamp(p.grad, -1, 1)",
        "p.data.clamp(-1, 1)",
        "p.grad.data.mul(0.5)",
        "p.clamp(-1, 1)",
    ],
)
@pytest.mark.parametrize("over", ["for p in model.parameters():", "for _, p in model.named_parameters():"])
def test_gradients_and_parameters_are_used_by_the_step(statement: str, over: str) -> None:
    assert lost(after=f"{over}\n    {statement}") == [statement]


def test_the_items_of_a_list_are_used_with_it() -> None:
    assert lost("for item in items:\n    item.clamp(0, 1)") == ["item.clamp(0, 1)"]
    assert lost("for item in torch.rand(3, 4):\n    item.clamp(0, 1)") == []


@pytest.mark.parametrize(
    "statement",
    [
        "out.relu_()",
        "F.relu(out, inplace=True)",
        "F.relu(out, True)",
        "torch.clamp(out, 0, 1, out=buffer)",
        "out.retain_grad()",
        "out.register_hook(print)",
        "out.cpu()",
        "out.sum()",
        "out.argmax(1)",
        "out.eq(x)",
        "out.max(dim=1)",
        "torch.cat([out, x])",
        "F.cosine_similarity(out, x)",
        "torch.zeros(3)",
        "F.batch_norm(out, buffer[0], buffer[1], training=True)",
        "assert out.squeeze(1)",
        "nn.ReLU()(out)",
        "model(out)",
    ],
)
def test_in_place_operations_questions_and_modules_lose_nothing(statement: str) -> None:
    assert lost(statement) == []


@pytest.mark.parametrize(
    "block",
    [
        "y = x + 1\ny.squeeze()",
        "y = x + 1\ny.squeeze()\ny = 2",
        "try:\n    out.view(-1)\nexcept RuntimeError:\n    pass",
        "with contextlib.suppress(RuntimeError):\n    out.view(-1)",
        "for _ in range(20):\n    out.relu()",
        "for _ in range(20):\n    out.relu()\n    torch.exp(x)",
    ],
)
def test_what_nothing_reads_and_what_tries_or_repeats_an_operation_is_no_loss(block: str) -> None:
    assert lost(block) == []


@pytest.mark.parametrize("context", ["torch.no_grad()", "torch.autocast('cpu')", "open('log') as log"])
def test_contexts_that_catch_nothing_do_not_matter(context: str) -> None:
    assert lost(f"with {context}:\n    out.squeeze(1)") == ["out.squeeze(1)"]


MEASURED = """
def run(y):
    start = {clock}
    for i in range(5):
        z = y * i
        y.relu()
    {train}
    return y.mean(), {clock} - start, z

run(torch.rand(3, requires_grad=True))
"""


def test_who_reads_a_clock_and_does_not_train_measures() -> None:
    assert lost(before=MEASURED.format(clock="time.time()", train="pass")) == []
    assert lost(before=MEASURED.format(clock="time.time()", train="y.sum().backward()")) == ["y.relu()"]
    assert lost(before=MEASURED.format(clock="len('')", train="pass")) == ["y.relu()"]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("a = torch.rand(3)\na.reshape(3, 1)\nprint(a)", []),
        ("def show():\n    a = torch.rand(3)\n    a.reshape(3, 1)\n    print(a)\n\nshow()", []),
        ("def half(a):\n    a.mul(0.5)\n    return a\n\nhalf(torch.rand(3))", ["a.mul(0.5)"]),
        ("def keep(state):\n    state.detach()\n    return state", []),
        ("def keep(state):\n    state.clamp(0, 1)\n    return state.unsqueeze(0)", []),
        ("a = torch.rand(3)\n\ndef half(b):\n    a.mul(0.5)\n    return a + b\n\nhalf(torch.rand(3))", []),
    ],
)
def test_only_tensors_for_certain_in_code_that_does_something_with_them(code: str, wanted: list[str]) -> None:
    assert lost(before=code) == wanted
