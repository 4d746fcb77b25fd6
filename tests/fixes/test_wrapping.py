"""What is kept with its graph is detached inside of whatever it is put into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

TRAINING = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log, rows, scores = {{}}, [], torch.empty(0, 1)
for step in range(100):
    out = model(torch.rand(4, 2))
    loss = out.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('log[step] = {"loss": loss, "step": step}', 'log[step] = {"loss": loss.detach(), "step": step}'),
        ("log[step] = [step, loss]", "log[step] = [step, loss.detach()]"),
        ("rows = rows + [loss]", "rows = rows + [loss.detach()]"),
        ("rows += [loss]", "rows += [loss.detach()]"),
        ("rows.extend([loss])", "rows.extend([loss.detach()])"),
        ("rows = [*rows, loss]", "rows = [*rows, loss.detach()]"),
        ("rows.insert(0, loss)", "rows.insert(0, loss.detach())"),
        ("scores = torch.cat([scores, out])", "scores = torch.cat([scores, out.detach()])"),
        ("scores = torch.cat((scores, out), dim=0)", "scores = torch.cat((scores, out.detach()), dim=0)"),
    ],
)
def test_what_is_kept_is_detached_where_it_stands(mended: Mended, before: str, after: str) -> None:
    assert mended(TRAINING.format(before), "TDR502") == TRAINING.format(after)


@pytest.mark.parametrize(
    "before",
    [
        "log[step] = [loss, loss]",
        "log[step] = {'loss': loss, 'out': out}",
        "rows = rows + [loss] * 2",
        "rows += [loss, out]",
    ],
)
def test_where_several_things_have_a_graph_nothing_is_changed(mended: Mended, before: str) -> None:
    assert mended(TRAINING.format(before), "TDR502") == TRAINING.format(before)
