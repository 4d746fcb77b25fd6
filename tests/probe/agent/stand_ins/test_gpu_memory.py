"""The memory of the GPU that the CPU stands in for is its own, told by runs of scripts that ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm")

COPIES = """
import copy
import numpy as np
import torch
from torch import nn

def shared(one, other):
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()

rows = torch.randn(4, 3)
there = rows.to("cuda")
assert not shared(there, rows) and there.cuda() is there and there.to("cuda:0") is there
here = there.cpu()
assert not shared(here, there) and here.cpu() is here and here.numpy().shape == (4, 3)
assert not shared(there[:2].to("cpu"), there) and not shared(there.to(torch.device("cpu")), there)
assert rows.numpy() is not None and not shared(torch.as_tensor(rows, device="cuda"), rows)
assert not shared(rows.type(torch.cuda.FloatTensor), rows) and torch.as_tensor(there, device="cpu").numpy() is not None

model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
before, weight = model.state_dict(), model[0].weight
model.cuda()
assert weight is model[0].weight and not shared(before["0.weight"], weight) and weight.is_leaf
kept = {key: value.cpu() for key, value in model.state_dict().items()}
assert not any(shared(value, dict(model.state_dict())[key]) for key, value in kept.items())
assert shared(model.state_dict()["0.weight"], weight)
output = model(there)
assert output.cuda() is output and not shared(output.detach().cpu(), output)
output.cpu().sum().backward()
assert weight.grad is not None
learned = torch.zeros(3, requires_grad=True, device="cuda")
assert learned.is_leaf and learned.to("cuda") is learned and learned.to(there.device) is learned
model.cpu()
assert model[0].weight.detach().numpy().shape == (2, 3) and shared(model.state_dict()["0.weight"].cpu(), weight)
"""
READS = """
import numpy as np
import torch
weights = torch.nn.Linear(3, 2).to("cuda").weight
{reading}
"""


@pytest.fixture
def ending(run: Callable[..., Any], write: Callable[..., Any]) -> Callable[[str], str]:
    """Probes a script; gives what is said of how it ended."""

    def ended(script: str) -> str:
        write("train.py", script)
        return str(run("scan", "train.py", "--probe", "--isolated").err)

    return ended


def test_moves_between_the_cpu_and_the_gpu_copy_and_other_moves_do_not(ending: Callable[[str], str]) -> None:
    assert "fails" not in ending(COPIES)


@pytest.mark.parametrize("reading", ["weights.detach().numpy()", "np.asarray(weights.data[0])"])
def test_what_lies_on_the_gpu_is_read_as_no_array(reading: str, ending: Callable[[str], str]) -> None:
    assert "TypeError: can't convert cuda:0 device type tensor to numpy" in ending(READS.format(reading=reading))
    assert "fails" not in ending(READS.format(reading=reading.replace("weights", "weights.cpu()")))
