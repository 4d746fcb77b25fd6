"""What operations keep of what is known of a tensor: by what they do to its numbers, however they are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from tests.said import said
from torch_doctor.static.tables.functions import METHODS
from torch_doctor.static.tables.kinds import OF_ONE, OF_TWO, WITH_A_NUMBER, Effect
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(6, 3)
scale = nn.Parameter(torch.ones(3))
weight = nn.Parameter(torch.ones(3, 4))
T = float(input())
graph = torch.eye(4)
x = torch.randn(4, 6)
loader = DataLoader(TensorDataset(x, torch.randint(0, 3, (4,))), batch_size=2)
for _, y in loader:
    l = model(x)
    m = model(x + 1)
    p = l.softmax(dim=1)
    q = m.softmax(dim=1)
    s = torch.sigmoid(l)
    lp = l.log_softmax(dim=1)
    mask = l > 0
"""
LOGITS, PROBABILITIES, BOUNDED, LABELS = "logits", "probabilities", "bounded by a sigmoid", "labels"

KEPT = [
    (LOGITS, "graph @ l|torch.mm(graph, l)|graph.matmul(l)|torch.einsum('ij,jk->ik', graph, l)|l @ weight"),
    (
        LOGITS,
        "l / T|l.div(T)|torch.div(l, T)|l / 2|0.5 * l|l.mul(other=2.0)|l * scale|l / scale|-l|torch.neg(l)|l - 1|3 - l",
    ),
    (LOGITS, "l + m|l - m|torch.add(l, m)|l.sub(m)|l + torch.randn_like(l)|l.sum(1)|l.mean(1)|torch.lerp(l, m, 0.5)"),
    (LOGITS, "l.clamp(-5, 5)|torch.clamp(l, max=5)|l.clip(-1, 2)|torch.where(mask, l, -1e9)|l.masked_fill(mask, -1e9)"),
    (
        LOGITS,
        "l.t()|l[:, 0]|l[0]|l.squeeze()|l.view(-1)|l.repeat(2, 1)|l.unsqueeze(1).expand(4, 2, 3)|l.index_select(0, y)",
    ),
    (LOGITS, "l.topk(2).values|l.topk(2)[0]|torch.topk(l, 2)[0]|l.sort(dim=1).values|l.max(1)[0]|torch.max(l, m)"),
    (
        PROBABILITIES,
        "p.clamp(1e-6, 1 - 1e-6)|torch.clamp(p, min=1e-6)|torch.clamp(input=p, min=1e-6)|p.clamp_min(1e-6)",
    ),
    (
        PROBABILITIES,
        "p / T|p / 2|p * 0.5|p.div(T)|(p + q) / 2|0.5 * (p + q)|0.3 * p + 0.7 * q|p + 1e-8|torch.stack([p, q]).mean(0)",
    ),
    (
        PROBABILITIES,
        "p.squeeze()|p[:, 1]|p.topk(2).values|p.max(dim=1).values|p.masked_fill(mask, 0)|torch.nan_to_num(p)|p.float()",
    ),
    (BOUNDED, "s.clamp(0.01, 0.99)|1 - s|1 - s.clamp(min=0.1)|s.squeeze(0)|(s + s) / 2|s.unsqueeze(0).repeat(2, 1, 1)"),
    (
        LABELS,
        "y|y.long()|y.float()|y.to(torch.int32)|y.squeeze()|y.view(-1, 1)|y.unsqueeze(1).expand(2, 3)|y[:1]|y.repeat(2)",
    ),
    (
        LABELS,
        "y - 1|y + 1|y % 2|y // 2|y.clamp(0, 1)|y == 1|y.eq(1).float()|(y > 0).long()|torch.where(y < 0, 0, y)|y.cpu()",
    ),
    (LABELS, "l.argmax(1)|l.topk(2).indices|l.topk(2)[1]|l.max(1).indices|torch.sort(l)[1].squeeze()"),
]
LOST = [
    "l.clamp(0, 1)|l.clamp(T, 0.5)|l.long()|p.long()|torch.clamp(l, min=0, max=T)|l * m|l / m|1 / l|l ** 2|l.abs()|l.exp()",
    "F.normalize(l)",
    "p * q|p * 20|p / 0.05|-p|p - 0.5|2 * p - 1|p @ q|p ** 2|p.sum(1)|p * T|1 - 2 * p|1 - (p + q)|T - p",
    "s + 0.5|s - 0.5|s * s|lp.mean(0)|lp / T|lp + 1|lp.clamp(min=-5)|y * 2|y / 2|y == y|l == m|y.float().mean()",
]


def kind(expression: str, *before: str) -> str:
    """What the trace says of the numbers of an expression that is given to a loss; "" where it says nothing."""
    lines = "".join(f"    {line}\n" for line in (*before, f"F.mse_loss({expression}, x)"))
    event = said(HEAD + lines, "loss `")[-1]
    told = event.split("gets `")[1].split("` (", 1)[1].split(", ")[0] if "` (" in event else ""
    return told if told in {known.value for known in Kind} else ""


def each(groups: list[str]) -> list[str]:
    return [expression for group in groups for expression in group.split("|")]


@pytest.mark.parametrize(("told", "expression"), [(told, each_) for told, group in KEPT for each_ in group.split("|")])
def test_an_operation_keeps_what_numbers_mean(told: str, expression: str) -> None:
    assert kind(expression) == told


@pytest.mark.parametrize("expression", each(LOST))
def test_an_operation_that_may_give_other_numbers_keeps_nothing(expression: str) -> None:
    assert kind(expression) == ""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("p.clamp_(1e-6, 1)", PROBABILITIES),
        ("p.mul_(0.5)", PROBABILITIES),
        ("p.mul_(q)", ""),
        ("p.squeeze_()", PROBABILITIES),
        ("p.copy_(s)", BOUNDED),
        ("p.zero_()", ""),
        ("torch.sigmoid(l, out=p)", BOUNDED),
        ("torch.add(l, m, out=p)", LOGITS),
        ("p /= 2", PROBABILITIES),
        ("p -= 1", ""),
    ],
)
def test_a_tensor_that_changes_in_place_means_what_it_holds_then(before: str, told: str) -> None:
    assert kind("p", before) == told


DRAWS = torch.Generator()  # the diagonal of scores that are drawn anew may have one sign only
NUMBERS = {
    Kind.LOGITS: lambda: torch.randn(40, 6, generator=DRAWS.manual_seed(1)) * 8,
    Kind.PROBABILITIES: lambda: torch.randn(40, 6, generator=DRAWS.manual_seed(1)).softmax(1),
    Kind.BOUNDED: lambda: torch.rand(40, 6, generator=DRAWS.manual_seed(1)),
    Kind.LABELS: lambda: torch.randint(0, 9, (40, 6), generator=DRAWS.manual_seed(1)),
}
ARGUMENTS = {
    Effect.CLIPPED: (-5.0, 5.0),
    Effect.ADDED: (0.25,),
    Effect.SUBTRACTED: (0.25,),
    Effect.MULTIPLIED: (0.25,),
    Effect.DIVIDED: (4.0,),
}


def holds(means: Kind, tensor: torch.Tensor) -> bool:
    """Whether numbers are such as the rules take them for."""
    if means is Kind.LOGITS:
        return bool(tensor.min() < 0 and tensor.max() > 1)
    if means is Kind.LABELS:
        return not tensor.is_floating_point() or bool((tensor == tensor.round()).all())
    return bool(tensor.min() >= 0 and tensor.max() <= 2)


ELSEWHERE = {"cuda", "xpu", "cfloat", "to_sparse", "type"}  # on another device, or in another layout
SINGLE = [
    (name, means)
    for name, known in sorted(METHODS.items())
    if known.kind is None and known.result == "tensor" and known.scalar is False
    if not known.in_place and not known.operands and name not in ELSEWHERE
    for means in NUMBERS
    if means in OF_ONE.get(known.effect, ())
    or (means in WITH_A_NUMBER.get(known.effect, ()) and means is not Kind.LABELS)
]


@pytest.mark.parametrize(("name", "means"), SINGLE)
def test_what_a_method_is_said_to_keep_it_keeps(name: str, means: Kind) -> None:
    known, tensor = METHODS[name], NUMBERS[means]()
    given = ARGUMENTS.get(known.effect, ())
    if name == "clamp_min":
        given = given[:1]
    try:
        out = getattr(tensor, name)(*given)
    except (TypeError, RuntimeError, ValueError, AttributeError, NotImplementedError):
        pytest.skip("it needs more than the tensor, and test_every_operation calls it")
    assert isinstance(out, torch.Tensor)
    assert out.numel() == 0 or holds(means, out)


@pytest.mark.parametrize(
    ("effect", "means"), [(effect, means) for effect, kinds in OF_TWO.items() for means in sorted(kinds, key=str)]
)
def test_what_two_tensors_keep_they_keep(effect: Effect, means: Kind) -> None:
    calls: dict[Effect, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
        Effect.ADDED: torch.add,
        Effect.SUBTRACTED: torch.sub,
        Effect.MERGED: torch.maximum,
    }
    out = calls[effect](NUMBERS[means](), NUMBERS[means]().flip(0))
    assert holds(means, out)
