"""What is saved is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import RoundTripped

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
import io, torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, 2)
        {start}
    def forward(self, x):
        if self.training:
            {train}
        return self.layer(x + {use})
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(1 + torch.rand(8, 4)).sum().backward()
    optimizer.step()
before = torch.get_rng_state()
torch.save({saved}, "model.pt")
assert torch.equal(before, torch.get_rng_state())
assert model.training
"""
MEAN = "self.mean = x.detach().mean(dim=0)"


@pytest.mark.parametrize(
    ("start", "train", "use", "lost"),
    [
        ("self.mean = torch.zeros(4)", MEAN, "self.mean", ("mean",)),
        ("self.mean = [torch.zeros(4)]", "self.mean[0] = x.detach().mean(dim=0)", "self.mean[0]", ("mean[0]",)),
        ("self.register_buffer('mean', torch.zeros(4), persistent=False)", MEAN, "self.mean", ("mean",)),
        ("self.mean = torch.randn(4)", "pass", "self.mean", ("mean",)),
        ("self.register_buffer('mean', torch.zeros(4))", MEAN, "self.mean", ()),
        ("self.mean = torch.ones(4)", "pass", "self.mean", ()),
        ("self.mean = torch.zeros(4)", MEAN, "0", ()),
        ("self.register_buffer('mean', torch.randn(4))", "pass", "torch.randn_like(x)", ()),
    ],
)
def test_what_is_not_in_the_file_is_named_where_it_matters(
    seen: Callable[..., list[Any]], start: str, train: str, use: str, lost: tuple[str, ...]
) -> None:
    script = SCRIPT.format(start=start, train=train, use=use, saved="model.state_dict()")
    (trip,) = seen(script, RoundTripped, "round_trip")
    assert trip.lost == lost
    assert (trip.difference > 0) == bool(lost)


@pytest.mark.parametrize(
    ("saved", "trips"),
    [
        ("{'a': {'model': model.state_dict()}, 'epoch': 3}", 1),
        ("{'module.' + k: v for k, v in model.state_dict().items()}", 1),
        ("{k: v.clone() for k, v in model.state_dict().items()}", 1),
        ("{k: v + 1 for k, v in model.state_dict().items()}", 0),
        ("model.layer.state_dict()", 0),
        ("[1, 2]", 0),
    ],
)
def test_a_state_is_known_by_its_values(seen: Callable[..., list[Any]], saved: str, trips: int) -> None:
    script = SCRIPT.format(start="pass", train="pass", use="0", saved=saved)
    assert len(seen(script, RoundTripped, "round_trip")) == trips
