"""Where tensors would be, if there were a GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch_doctor.trace import DevicesMet, MoveLost

if TYPE_CHECKING:
    from collections.abc import Callable

START = """
import copy, io, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
a, b = torch.randn(3, 4, device=device), torch.randn(3, 4)
"""

MEETINGS = [
    "a + b",
    "b + a",
    "a.mul_(b)",
    "torch.cat([a, b])",
    "torch.where(a > 0, a, b)",
    "model(b)",
    "F.cross_entropy(model(a), torch.tensor([0, 1, 1]))",
    "F.mse_loss(a.detach(), b)",
    "F.embedding(torch.tensor([0, 1]), model.weight)",
    "F.conv1d(b[None], torch.randn(1, 3, 2).cuda())",
    "a.cpu() + a",
    "a + torch.zeros(3, 4, device='cpu')",
    "a.masked_fill(b > 0, 0.0)",
    "copy.deepcopy(model)(b)",
    "nn.Linear(4, 2)(a)",
    "(a.numel() * b) @ a.T",
    "a + b.double()",
]
FINE = [
    "a + b.to(device)",
    "a + b.to(a.device)",
    "a + b.to(a)",
    "a + b.type_as(a)",
    "a.cpu() + b",
    "a + 1",
    "a * torch.tensor(2.0)",
    "a[torch.tensor([0, 2])]",
    "a[torch.tensor([True, False, True])]",
    "b.copy_(a)",
    "a.copy_(b)",
    "a + torch.zeros_like(a)",
    "a + a.new_ones(4)",
    "a + torch.arange(4, device=a.device)",
    "a + (b.cuda() if a.is_cuda else b)",
    "a + (b.cuda() if a.device.type == 'cuda' else b)",
    "a + torch.full((4,), 1.0).cuda(non_blocking=True)",
    "copy.deepcopy(model).cpu()(b)",
    "copy.deepcopy(model)(a)",
    "nn.Linear(4, 2).to(a.device)(a)",
    "nn.DataParallel(model)(b)",
    "a + nn.Parameter(torch.zeros(4, device=device))",
    "a.detach().cpu().numpy()",
    "a.tolist()",
    "print(a, a.device)",
    "torch.tensor([each.sum() for each in a]) + b[:, 0]",
    "nn.LSTM(4, 2).to(device)(a)",
    "model.load_state_dict({k: v.cpu() for k, v in model.state_dict().items()})",
    "torch.optim.Adam(model.parameters()).step()",
    "model(a).sum().backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "torch.utils.checkpoint.checkpoint(model, a.requires_grad_(), use_reentrant=False).sum().backward()",
]


MOVES = [
    ("b.to(device)", True),
    ("b.cuda()", True),
    ("a.to(device)", False),
    ("b.to(torch.float64)", False),
    ("b.to('cpu')", False),
    ("model.to(device)", False),
    ("torch.zeros(1).cuda()", False),
    ("c = b.cuda()", False),
    ("model.weight.detach().to(device)", False),
]


def script(expressions: list[str]) -> str:
    """A line for each, with a tensor of its own on the CPU."""
    return START + "".join(f"b = torch.randn(3, 4); {expression}\n" for expression in expressions)


def lines_of(events: list[Any], expressions: list[str]) -> list[str]:
    """The expressions at which the events are."""
    first = START.count("\n") + 1
    return [expressions[event.site.row - first] for event in events]


def test_what_fails_on_a_gpu_is_proved_on_fake_tensors(seen: Callable[..., list[Any]]) -> None:
    met = seen(script(MEETINGS), DevicesMet, "device")
    assert lines_of(met, MEETINGS) == MEETINGS
    for each in met:
        assert each.elements > 0
        assert re.search("same device|two different devices", each.proof)


def test_what_a_gpu_takes_is_no_meeting(seen: Callable[..., list[Any]]) -> None:
    assert lines_of(seen(script(FINE), DevicesMet, "device"), FINE) == []


def test_a_move_is_lost_where_a_tensor_with_a_name_stays(seen: Callable[..., list[Any]]) -> None:
    statements = [statement for statement, _ in MOVES]
    lost = [statement for statement, is_lost in MOVES if is_lost]
    assert lines_of(seen(script(statements), MoveLost, "device"), statements) == lost


def test_each_place_that_gives_tensors_is_blamed_once(seen: Callable[..., list[Any]]) -> None:
    loop = f"{START}\nfor _ in range(3):\n    model(b).sum().backward()\n    F.mse_loss(b, a)\n"
    assert len(seen(loop, DevicesMet, "device")) == 1


def test_a_script_that_asks_for_no_gpu_is_run_once(observe: Callable[..., Any]) -> None:
    plain = "import torch\nprint('run')\ntorch.nn.Linear(2, 1)(torch.randn(3, 2)).sum().backward()\n"
    assert observe(plain, "device").output == "run\n"


def test_the_second_run_does_not_add_to_the_first(observe: Callable[..., Any]) -> None:
    done = observe(f"{START}\nprint('cuda:', torch.cuda.is_available())\nmodel(b)\n", "device")
    assert done.output == "cuda: False\n"
    assert done.trace.of(DevicesMet)[0].index == len(done.trace.events) - 1
