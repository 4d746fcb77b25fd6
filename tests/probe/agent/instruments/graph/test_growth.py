"""Graphs that stay alive, and who holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import MemoryGrew

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
import heapq, itertools, torch
from collections import deque
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for step in range(20):
    out = model(torch.randn(4, 3))
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {line}
"""
ROW = SCRIPT.count("\n", 0, SCRIPT.index("{line}")) + 1


@pytest.mark.parametrize(
    ("before", "line", "holder"),
    [
        ("kept = []", "heapq.heappush(kept, (step, out))", "kept"),
        ("kept = {}", "kept.update(dict.fromkeys([step], loss))", "kept"),
        ("kept = deque()", "kept.extendleft(itertools.repeat(out, 2))", "kept"),
        ("total = torch.zeros(())", "total = torch.add(total, loss)", "total"),
    ],
)
def test_what_keeps_the_graph_of_every_pass_is_named_at_its_line(
    seen: Callable[..., list[Any]], before: str, line: str, holder: str
) -> None:
    (grew,) = seen(SCRIPT.format(before=before, line=line), MemoryGrew, "growth")
    assert (grew.holder, grew.site.row) == (holder, ROW)
    assert grew.alive == grew.passes == 6


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("kept = []", "heapq.heappush(kept, (step, out.detach()))"),
        ("kept = deque(maxlen=9)", "kept.extendleft([out])"),
        ("kept = []", "heapq.heappush(kept, (step, out)); len(kept) > 50 and kept.pop()"),
        ("kept = []", "kept = [*kept, out]; kept = kept[-50:]"),
        ("kept = {}", "kept.update(dict.fromkeys([step % 3], loss))"),
        ("kept = []", "heapq.heappush(kept, (step, out))\n    if step == 15: kept, best = [], 0"),
        ("kept = []", "heapq.heappush(kept, (step, out))\n    if len(kept) > 15: kept = []"),
        ("total = torch.zeros(())", "total = torch.add(total, loss)\n    if step > 15: total = total.detach()"),
        ("pass", "keep = [out, loss]"),
    ],
)
def test_what_lets_go_is_not_told(seen: Callable[..., list[Any]], before: str, line: str) -> None:
    assert seen(SCRIPT.format(before=before, line=line), MemoryGrew, "growth") == []


def test_the_lines_of_the_script_are_no_longer_followed_when_one_was_found(seen: Callable[..., list[Any]]) -> None:
    script = SCRIPT.format(before="kept = []", line="heapq.heappush(kept, (step, out))")
    assert seen(script + "import sys\nassert sys.gettrace() is None\n", MemoryGrew, "growth")
