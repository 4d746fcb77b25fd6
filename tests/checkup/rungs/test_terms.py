"""What a checkup says of the terms of a loss, and what it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.checkup.conftest import TRAINING, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "terms"
VAE = """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.spread = nn.Linear(16, 8), nn.Linear(8, 4), nn.Linear(8, 4)
        self.decoder = nn.Linear(4, 16)

    def forward(self, x):
        hidden = self.encoder(x).relu()
        mean, spread = self.mean(hidden), self.spread(hidden)
        return self.decoder(mean + torch.randn_like(mean) * (0.5 * spread).exp()), mean, spread

model = Net()
optimizer = torch.optim.Adam(model.parameters())
for step in range(20):
    x = torch.randn(32, 16)
    out, mean, spread = model(x)
    reconstruction = F.mse_loss(out, x)
    divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).mean()
    sparsity = (out.detach().abs() > 0.5).float().mean()
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_terms_of_about_one_size_are_shown(climb: Climb) -> None:
    rung = climb(VAE.replace("{loss}", "reconstruction + divergence"), RUNG)
    assert (rung.status, rung.next) == ("shown", "")
    assert rung.reason.startswith("in the first update, `loss`: the largest term is `reconstruction` in ")
    assert " of 4 modules; gradients are 0.0" in rung.reason
    (plot,) = rung.plots
    assert (plot.kind, plot.names, plot.y_log) == ("bars", ["encoder", "mean", "spread", "decoder"], True)
    assert {series.label: series.y[3] is None for series in plot.series} == {
        "reconstruction": False,
        "divergence": True,
    }
    assert [each is None for each in values(rung, "model.decoder")] == [False, True]


def test_terms_that_change_nothing_are_named(climb: Climb) -> None:
    rung = climb(VAE.replace("{loss}", "reconstruction + 1e-7 * divergence + 0.0 * mean.mean() + sparsity"), RUNG)
    assert rung.status == "shown"
    assert "`sparsity` reaches no parameter" in rung.reason
    assert "`0.0 * mean.mean()` has a gradient of zero" in rung.reason
    assert "`1e-07 * divergence` has less than 0.01% of the largest gradient in every module" in rung.reason
    assert rung.next.startswith("check the weights of these terms")


def test_a_term_that_alone_reaches_a_module_is_not_small(climb: Climb) -> None:
    rung = climb(VAE.replace("{loss}", "1e-7 * reconstruction + divergence"), RUNG)
    assert "less than" not in rung.reason


def test_a_loss_of_one_term_is_shown_by_module(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "shown"
    assert "the largest term" not in rung.reason
    assert [plot.names for plot in rung.plots] == [["0", "2"]]


def test_what_was_not_measured_is_told_with_the_reason(climb: Climb) -> None:
    hooked = VAE.replace("{loss}", "reconstruction + divergence").replace(
        "    optimizer.zero_grad()", "    out.register_hook(lambda given: given)\n    optimizer.zero_grad()"
    )
    rung = climb(hooked, RUNG)
    assert (rung.status, rung.reason) == ("skipped", "`loss`: a tensor has a hook, which would be called more often")
