"""Statements leave blocks and pass by others, states leave their graphs, and models are called wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

HEAD = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    x = torch.rand(4, 2)
    optimizer.zero_grad()
"""
RECURRENT = """\
import torch
from torch import nn

torch.manual_seed(0)
rnn, head = nn.LAYER(3, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
BEGIN
for step in range(6):
    x = torch.rand(5, 4, 3)
    CALL
    loss = head(out).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
INITIAL = """\
def begin():
    return torch.zeros(1, 4, 8), torch.zeros(1, 4, 8)


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = rnn

    def forward(self, x, state):
        return self.rnn(x, state)


both = Both()
state = begin()"""
DISTRIBUTED = """\
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
net = nn.Linear(2, 1)
wrapped = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
for step in range(6):
    loss = wrapped(torch.rand(4, 2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_what_follows_a_backward_pass_leaves_the_block_with_it(mended: Mended) -> None:
    block = (
        "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = model(x).square().mean()\n"
        '        # now backward\n        loss.backward(\n        )\n        text = """a\n        b"""\n\n'
        "        print(loss.item(), text)  # shown\n    optimizer.step()\n"
    )
    after = block.replace("        loss.backward(\n        )\n        text", "    loss.backward(\n    )\n    text")
    assert mended(HEAD + block, "TDR806") == HEAD + after.replace("        print", "    print")


@pytest.mark.parametrize(
    "rest",
    ["print(model(x).sum().item())", "print(float(x[0] @ x[1]))", "torch.mm(x, x.T)", "update(x)"],
    ids=["a forward pass", "a product of matrices", "a function of torch", "a forward pass elsewhere"],
)
def test_a_block_stays_that_is_for_what_follows_as_well(rest: str, mended: Mended) -> None:
    block = "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = model(x).square().mean()\n"
    head = HEAD.replace("for step", "def update(x):\n    print(model(x).sum().item())\n\n\nfor step")
    text = f"{head}{block}        loss.backward()\n        {rest}\n    optimizer.step()\n"
    assert mended(text, "TDR806") == text


def test_a_block_with_another_context_stays(mended: Mended) -> None:
    block = "    with torch.autocast('cpu', dtype=torch.bfloat16), open('log.txt', 'a') as log:\n"
    text = f"{HEAD}{block}        loss = model(x).square().mean()\n        loss.backward()\n    optimizer.step()\n"
    assert mended(text, "TDR806") == text


@pytest.mark.parametrize(
    ("layer", "begin", "call", "detached"),
    [
        ("LSTM", "state = None", "out, state = rnn(x, state)",
         "if state is not None:\n        state = tuple(part.detach() for part in state)"),
        ("GRU", "state = torch.zeros(1, 4, 8)", "out, state = rnn(x, state)", "state = state.detach()"),
        ("LSTM", "h = c = torch.zeros(1, 4, 8)", "out, (h, c) = rnn(x, (h, c))", "h, c = h.detach(), c.detach()"),
        ("GRU", "state = torch.zeros(1, 4, 8)", "out, state = rnn(x, state * 1)", ""),
        ("LSTM", INITIAL, "out, state = both(x, state)", "state = tuple(part.detach() for part in state)"),
    ],
    ids=["none at first", "a tensor", "a tuple that is written out", "given in another form", "what a function returns"],
)  # fmt: skip
def test_a_state_is_detached_as_what_it_is(layer: str, begin: str, call: str, detached: str, mended: Mended) -> None:
    text = RECURRENT.replace("LAYER", layer).replace("BEGIN", begin).replace("CALL", call)
    assert mended(text, "TDR504") == text.replace(call, f"{detached}\n    {call}" if detached else call)


def test_a_model_is_moved_before_it_is_wrapped_by_the_name_that_it_has_there(mended: Mended) -> None:
    moved = "wrapped = wrapped.to(torch.float64)\n"
    text = DISTRIBUTED.replace("optimizer =", f"{moved}optimizer =").replace("4, 2", "4, 2, dtype=torch.float64")
    assert mended(text, "TDR812") == text.replace(moved, "").replace(
        "wrapped =", "net = net.to(torch.float64)\nwrapped ="
    )


def test_a_model_is_not_moved_to_a_device_that_is_chosen_later(mended: Mended) -> None:
    text = HEAD.replace("for step", "device = 'cuda'\nmodel.to(device)\nfor step")
    text += "    model(x.to(device)).sum().backward()\n    optimizer.step()\n"
    assert mended(text, "TDR804") == text
    early = text.replace("device = 'cuda'\n", "").replace("\nmodel =", "\ndevice = 'cuda'\nmodel =")
    assert mended(early, "TDR804") == early.replace("model.to(device)\n", "").replace(
        "optimizer =", "model.to(device)\noptimizer =", 1
    )


@pytest.mark.parametrize("bypassed", ["net", "wrapped.module"])
def test_the_wrapper_is_called(bypassed: str, mended: Mended) -> None:
    text = DISTRIBUTED.replace("loss = wrapped(", f"loss = {bypassed}(")
    assert mended(text, "TDR811") == DISTRIBUTED


def test_a_wrapper_that_the_function_cannot_see_is_not_called(mended: Mended) -> None:
    text = DISTRIBUTED.replace("wrapped = nn", "def wrap(net):\n    inner = nn").replace(
        "(net)\nopt", "(net)\n    return inner\n\n\nwrapped = wrap(net)\nopt"
    )
    text = text.replace("loss = wrapped(", "loss = net(")
    assert mended(text, "TDR811") == text
