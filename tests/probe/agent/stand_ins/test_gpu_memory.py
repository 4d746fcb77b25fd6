"""The memory of the GPU that the CPU stands in for is its own, told by runs of scripts that ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

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


OPERATIONS = """
import torch
import torch.nn.functional as F
from torch import nn

a, b, i = torch.randn(4, 3).cuda(), torch.randn(4, 3, device="cuda"), torch.tensor([1, 2]).to("cuda:0")
model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.LayerNorm(4)).cuda()
lstm, attention, words = nn.LSTM(3, 5).cuda(), nn.MultiheadAttention(4, 2).cuda(), nn.Embedding(7, 3).cuda()
model(a).sum().backward()
results = [
    a + b, 1 + a, a * 2, a / b, -a, a**2, a @ b.T, torch.bmm(a[None], b.T[None]), torch.einsum("ij,kj->ik", a, b),
    a.mean(), a.sum(0), a.std(0), a.norm(), a.argmax(1), a.max(1)[0], a.topk(2)[1], a.sort(1)[0], a.cumsum(0), i.unique(),
    torch.cat([a, b]), torch.stack([a, b]), a.chunk(2)[0], torch.split(a, 2)[1], a.unbind()[0], a.repeat(2, 1), a.roll(1),
    a[i], a[a > 0], torch.where(a > 0, a, b), a.gather(1, i[None].expand(2, 2)), a.flip(0), a.tril(), a[0].expand(4, 3),
    a.clone(), (a + 0).detach(), (a + 1).view(-1), (a + b).T, a.double(), a.long(), a.round(), a.exp(), a.clamp(0),
    a > b, a.eq(b), (a > 0).any(), a.clone().add_(b), a.clone().fill_(1), F.softmax(a, 1), F.gelu(a), F.dropout(a),
    torch.zeros_like(a), torch.randn_like(a), torch.full_like(a, 2), F.one_hot(i, 4), F.pad(a, (1, 1)),
    F.interpolate(a[None], 5), F.layer_norm(a, (3,)), torch.cdist(a, b), torch.fft.fft(a).real, torch.linalg.svd(a)[1],
    torch.bernoulli(a.sigmoid()), torch.multinomial(a.softmax(1), 1), F.mse_loss(a, b), F.cross_entropy(a[:2], i),
    model(a).detach(), lstm(a)[0].detach(), lstm(a)[1][0].detach(), words(i).detach(), model[0].weight.grad,
    attention(model(a), model(a), model(a))[0].detach(),
]
for number, result in enumerate(results):
    try:
        result.numpy()
    except TypeError:
        result.cpu().numpy()
    else:
        raise AssertionError(f"result {number} can be read where it is")
here = torch.randn(4, 3)
for result in (here + 1, here @ here.T, (a.cpu() + here), torch.zeros_like(here), F.softmax(here, 1), here[here > 0]):
    result.numpy()
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


def test_what_is_computed_on_the_gpu_lies_there(ending: Callable[[str], str]) -> None:
    assert ending(OPERATIONS).count("fails") == 0


@pytest.mark.parametrize("reading", ["weights.detach().numpy()", "np.asarray(weights.data[0])"])
def test_what_lies_on_the_gpu_is_read_as_no_array(reading: str, ending: Callable[[str], str]) -> None:
    assert "TypeError: can't convert cuda:0 device type tensor to numpy" in ending(READS.format(reading=reading))
    assert "fails" not in ending(READS.format(reading=reading.replace("weights", "weights.cpu()")))
