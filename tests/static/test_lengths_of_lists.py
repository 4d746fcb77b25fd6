"""How many items a list has that a loop fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

LOOPS = {
    "while": "while not env.done:\n    rows.append(torch.zeros(7))\n",
    "for": "for step in range(env.steps):\n    rows.append(torch.zeros(7))\n",
    "insert": "for step in env:\n    rows.insert(0, torch.zeros(7))\n",
    "function": "def keep(row):\n    rows.append(row)\nfor step in env:\n    keep(torch.zeros(7))\n",
    "in another loop": "for epoch in env:\n    for step in (1, 2):\n        rows.append(torch.zeros(7))\n",
}
BESIDES = {
    "two lines": "rows.append(torch.zeros(7))\nrows.append(torch.zeros(7))\n",
    "a new list": "for step in env:\n    rows = []\n    rows.append(torch.zeros(7))\n    rows.append(torch.zeros(7))\n",
}


def rows(run: Run, write: Callable[..., Path], filling: str) -> list[str]:
    write("train.py", f"import torch\nenv = make()\nrows = []\n{filling}stacked = torch.stack(rows)\n")
    found = run("trace", "--shapes", "train.py", "--output-format", "json").json
    (stacked,) = {tuple(each["axes"]) for each in found if each["name"] == "stacked"}
    return list(stacked)


@pytest.mark.parametrize("filling", LOOPS.values(), ids=LOOPS)
def test_a_loop_may_fill_a_list_any_number_of_times(run: Run, write: Callable[..., Path], filling: str) -> None:
    assert rows(run, write, filling) == ["s0", "7"]


@pytest.mark.parametrize("filling", BESIDES.values(), ids=BESIDES)
def test_what_is_added_once_is_counted(run: Run, write: Callable[..., Path], filling: str) -> None:
    assert rows(run, write, filling) == ["2", "7"]
