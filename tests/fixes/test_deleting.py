"""`with` blocks of which only what is in them is left, and arguments that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

HEAD = """\
import torch
from torch import nn
from torch.profiler import profile
from torch.utils.data import DataLoader, TensorDataset

net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.rand(64, 2)), batch_size=8, shuffle=True)
for epoch in range(10):
    for (x,) in loader:
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            (
                "        with torch.autograd.detect_anomaly():  # why?\n"
                "            # the loss\n"
                "            loss = net(x).square().mean()\n\n"
                "            loss.backward()\n"
                "        optimizer.step()\n"
            ),
            "        # the loss\n        loss = net(x).square().mean()\n\n        loss.backward()\n        optimizer.step()\n",
        ),
        (
            (
                "        with torch.enable_grad(), torch.autograd.detect_anomaly():\n"
                "            net(x).square().mean().backward()\n"
                "        optimizer.step()\n"
            ),
            "        with torch.enable_grad():\n            net(x).square().mean().backward()\n        optimizer.step()\n",
        ),
        (
            (
                "        with torch.autograd.detect_anomaly(), torch.enable_grad():\n"
                "            net(x).square().mean().backward()\n"
                "        optimizer.step()\n"
            ),
            "        with torch.enable_grad():\n            net(x).square().mean().backward()\n        optimizer.step()\n",
        ),
    ],
    ids=["alone", "last", "first"],
)
def test_what_is_under_a_debug_mode_goes_on_without_it(mended: Mended, before: str, after: str) -> None:
    assert mended(HEAD + before, "TDR903") == HEAD + after


PROFILED = """\
import torch
from torch import nn
from torch.profiler import profile

net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with profile() as prof:
    for epoch in range(10):
        for number in range(100):
            optimizer.zero_grad()
            net(torch.rand(4, 2)).square().mean().backward()
            optimizer.step()
            prof.step()
{}
print("done")
"""


def test_what_only_tells_of_a_profile_goes_with_it(mended: Mended) -> None:
    fixed = mended(PROFILED.format('print(prof.key_averages())\nprof.export_chrome_trace("trace.json")'), "TDR903")
    assert "prof" not in fixed
    assert fixed.endswith('        optimizer.step()\nprint("done")\n')


@pytest.mark.parametrize("use", ["table = prof.key_averages()", "if epoch:\n    prof.export_chrome_trace('a')"])
def test_a_profile_that_is_used_otherwise_stays(mended: Mended, use: str) -> None:
    assert mended(PROFILED.format(use), "TDR903") == PROFILED.format(use)
