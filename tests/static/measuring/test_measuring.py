"""Dtypes and shapes as the source shows them, against those that torch gives: what is said to be known is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from torch_doctor.rule import Level, Rule
from torch_doctor.scan import Options, scan
from torch_doctor.trace import Kind, LossCalled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.trace import TensorFact, Trace

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split
x = torch.randn(4, 6)
y = torch.randint(0, 3, (4,))
image = torch.rand(2, 3, 8, 8)
rows = torch.randperm(4)
n = x.size(0)
batch, columns = x.shape
"""


class Listener(Rule):
    """Keeps what losses got."""

    code, name, level, witness = "TDR999", "listener", Level.ERROR, "S"

    def __init__(self) -> None:
        self.heard: list[LossCalled] = []

    def check(self, trace: Trace) -> Iterator[Finding]:
        self.heard += trace.of(LossCalled)
        return iter(())


@pytest.fixture
def seen(write: Callable[..., Path]) -> Callable[[str], list[LossCalled]]:
    """What the losses of a script got."""

    def losses(text: str) -> list[LossCalled]:
        listener = Listener()
        report = scan(Options(paths=(write("train.py", HEAD + text),), rules=(listener,)))
        assert report.errors == []
        return listener.heard

    return losses


def fits(fact: TensorFact, tensor: torch.Tensor) -> bool:
    """Whether everything that is said of the tensor is right."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    named = fact.dtype in ("", dtype) or (fact.dtype == "floating" and tensor.is_floating_point())
    if fact.shape is None:
        return named
    sizes = fact.shape[1:] if fact.shape[:1] == ("...",) else fact.shape
    real = tuple(tensor.shape)[-len(sizes) :] if sizes else tuple(tensor.shape)
    return named and len(real) == len(sizes) and all(a is None or a == b for a, b in zip(sizes, real, strict=True))


KNOWN = [
    *("x", "y", "x.float()", "y.long()", "x.double()", "y.to(torch.float32)", "y.type(torch.FloatTensor)", "y.bool()"),
    *("x.view(-1)", "x.view(n, -1)", "x.view(batch, 2, 3)", "x.reshape(2, -1)", "x.view(x.shape)", "image.flatten(1)"),
    *("x.unsqueeze(1)", "x.unsqueeze(-1)", "x[:, :1].squeeze(1)", "x.unsqueeze(0).squeeze()", "y[:, None]", "x[None]"),
    *("x[0]", "x[:, 0]", "x[..., 0]", "x[:2]", "x[rows]", "x[-1]", "x[1:3, 2]", "image[:, 1:2]", "x[:, -2:]"),
    *("x.t()", "x.T", "x.transpose(0, 1)", "image.permute(0, 2, 3, 1)", "image.transpose(1, -1)"),
    *("x.sum()", "x.sum(1)", "x.mean(dim=-1, keepdim=True)", "x.mean((0, 1))", "y.sum()", "x.norm(dim=1)", "x.std(0)"),
    *("x.argmax(1)", "x.argmax(dim=1, keepdim=True)", "x.max(1)[0]", "x.max(1)[1]", "x.max(1).values", "x.amax(-1)"),
    *("x + y[:, None]", "x * 2", "y * 2", "y * 0.5", "y / 2", "x - x.mean(0)", "x ** 2", "y > 1", "x == x", "2 - x"),
    *("torch.cat([x, x])", "torch.cat([x, x], dim=1)", "torch.stack([x, x])", "torch.stack([x, x], dim=-1)"),
    *("torch.zeros(3, 4)", "torch.ones((2, 3), dtype=torch.long)", "torch.full((2,), 0.5)", "torch.arange(5)"),
    *("torch.linspace(0, 1, 7)", "torch.zeros_like(y)", "torch.ones_like(y, dtype=torch.float)", "x.new_zeros(2, 3)"),
    *("torch.tensor([1, 2, 3])", "torch.tensor([[1.0], [2.0]])", "torch.tensor(2.5)", "torch.tensor([True, False])"),
    *("torch.LongTensor([1, 2])", "torch.FloatTensor(2, 3)", "torch.randint(5, (2, 2))", "torch.randint(1, 5, (3,))"),
    *("F.one_hot(y, 3)", "F.one_hot(y, 3).float()", "F.softmax(x, dim=1)", "torch.sigmoid(x)", "F.relu(x)", "x.abs()"),
    *("x @ x.t()", "torch.matmul(x, torch.randn(6, 2))", "x.mv(torch.randn(6))", "x.gather(1, y[:, None])"),
    *("nn.Linear(6, 2)(x)", "nn.Conv2d(3, 5, 3)(image)", "nn.MaxPool2d(2)(image)", "nn.AdaptiveAvgPool2d(1)(image)"),
    *("nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))(x)", "nn.Flatten()(image)", "nn.Embedding(3, 7)(y)"),
    *("nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))(image)",),
    *("nn.GRU(6, 5, batch_first=True)(x.unsqueeze(1))[0]", "nn.LSTM(6, 5, bidirectional=True)(x.unsqueeze(0))[0]"),
    *("x.expand(4, 6)", "y.view(-1, 1).expand(-1, 6)", "x.view_as(x)", "y.type_as(x)", "y.to(x.dtype)", "x.clone()"),
    *("torch.normal(0.0, 1.0, (2, 3))", "torch.normal(x, 1.0)", "torch.Tensor([1, 2])", "torch.Tensor(2, 3)"),
    *("torch.tensor([int('3'), 2])", "torch.tensor(float('3'))", "torch.tensor([0, 1] * 30)"),
    *("x[x > 0]", "x[x[:, 0] > 0]", "x[:, torch.randperm(6)]", "x[:, [0, 2]]", "x[..., rows]", "x[rows, rows]"),
    *("image[0, rows[:1]]", "image[:, rows[:2] % 2, 0]", "x[None, :, rows]", "x[rows[:, None], rows]", "x[rows][:, y]"),
    *("torch.where(x > 0, x, 0.0)", "x.clamp(min=0)", "x.chunk(2, dim=1)[0]", "x.unbind(1)[0]", "x.detach()"),
]


@pytest.mark.parametrize("expression", KNOWN)
def test_what_is_known_of_a_tensor_is_what_torch_makes_of_it(
    expression: str, seen: Callable[[str], list[LossCalled]]
) -> None:
    names = {"torch": torch, "nn": nn, "F": F}
    exec(HEAD.replace("from torch.utils", "#"), names)  # noqa: S102 - the lines above
    tensor = eval(expression, names)  # noqa: S307 - as above
    [loss] = seen(f"F.mse_loss({expression}, x)")
    assert fits(loss.input, tensor), (loss.input.dtype, loss.input.shape)


def test_most_of_it_is_known(seen: Callable[[str], list[LossCalled]]) -> None:
    losses = seen("\n".join(f"F.mse_loss({expression}, x)" for expression in KNOWN))
    assert len(losses) == len(KNOWN)
    vague = [loss.input.name for loss in losses if loss.input.shape is None or loss.input.dtype == ""]
    assert len(vague) < len(KNOWN) / 12, vague


@pytest.mark.parametrize(
    "expression",
    [
        "unknown(x)",
        "x.view(*sizes)",
        "x[unknown]",
        "x[0, :, unknown]",
        "x.to(unknown)",
        "torch.tensor(unknown)",
        "x.squeeze(unknown)",
        "x.expand(6)",
    ],
)
def test_what_depends_on_what_is_not_known_is_not_known(
    expression: str, seen: Callable[[str], list[LossCalled]]
) -> None:
    [loss] = seen(f"from elsewhere import sizes, unknown\nF.mse_loss({expression}, x)")
    assert loss.input.shape is None or loss.input.dtype == ""


def test_a_batch_is_as_long_as_its_loader_makes_it(seen: Callable[[str], list[LossCalled]]) -> None:
    loop = """
first, _ = random_split(TensorDataset(x, y), [3, 1])
for a, b in DataLoader(first, batch_size=2):
    F.mse_loss(a, b)
for a, b in DataLoader(Subset(TensorDataset(x, y), [0, 1])):
    F.mse_loss(a, b)
for a, b in DataLoader(first, batch_size=2, collate_fn=print):
    F.mse_loss(a, b)
"""
    shapes = {(loss.input.shape, loss.target.dtype) for loss in seen(loop)}
    assert shapes == {(("batch", 6), "int64"), ((1, 6), "int64"), (None, "")}


def test_an_item_of_a_projects_data_set_tells_what_a_batch_holds(seen: Callable[[str], list[LossCalled]]) -> None:
    text = """
class Pairs(Dataset):
    def __init__(self):
        self.rows = torch.randn(9, 5)

    def __getitem__(self, index):
        self.asked = index
        return {"row": self.rows[index], "label": index % 3, "weight": 0.5, "kind": int(self.kinds[index])}

for batch in DataLoader(Pairs(), batch_size=3):
    F.mse_loss(batch["row"], batch["weight"])
    F.mse_loss(batch["kind"], batch["row"])
"""
    first, second = seen(text)[:2]
    assert (second.input.shape, second.input.dtype, second.input.kind) == (("batch",), "int64", Kind.LABELS)
    assert (first.input.shape, first.target.shape, first.target.dtype) == (("batch", 5), ("batch",), "float64")
    assert second.target.shape == ("batch", 5)


def test_a_shape_that_two_paths_leave_differently_is_not_known(seen: Callable[[str], list[LossCalled]]) -> None:
    [loss] = seen("import sys\nz = x.sum(1)\nif len(sys.argv) > 1:\n    z = x\nF.mse_loss(z, x)")
    assert loss.input.shape in (None, ("...", None))
    assert loss.input.dtype == "float32"


def test_a_shape_that_is_changed_in_place_is_changed_for_all_its_names(seen: Callable[[str], list[LossCalled]]) -> None:
    losses = seen("z = torch.zeros(4)\nalias = z\nz.unsqueeze_(1)\nF.mse_loss(z, x)\nF.mse_loss(alias, x)")
    assert [loss.input.shape for loss in losses] == [(4, 1), (4, 1)]
