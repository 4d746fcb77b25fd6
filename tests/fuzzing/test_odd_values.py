"""Numbers that are none or too large, and texts that only look like numbers, wherever a script may use them."""

from __future__ import annotations

import pytest

from tests.fuzzing.scanning import scanned

HEAD = """
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
VALUES = [
    "1e999",
    "-1e999",
    "1e999 - 1e999",
    "10**400",
    "9" * 400,
    "10**400 * 1.0",
    "10**10**10",
    "1 << 10**9",
    "'a' * 10**10",
    "[0] * 10**10",
    "1 // 0",
    "'{²}'.format(1)",
    "'{" + "9" * 5000 + "}'.format(1)",
    "getattr(model, '²')",
    "'%d' % 'x'",
]
USES = [
    "x = {}\n",
    "for i in np.arange(0.0, {}):\n    model(x).mean().backward()\n    optimizer.step()\n",
    "for i in range({}):\n    model(x).mean().backward()\n    optimizer.step()\n",
    "(model(x).mean() * ({})).backward()\n",
    "nn.init.constant_(model.weight, {})\nnn.init.normal_(model.bias, {}, {})\n",
    "for i, b in enumerate(loader):\n    if i % ({}) == 0:\n        model(b).mean().backward()\n    if i > ({}):\n        break\n",
    "y = torch.zeros(3, {}).view({}, -1)[{}].repeat({})\nz = nn.Conv2d({}, 3, 1)(y[:{}]).softmax(dim={})\n",
]


@pytest.mark.parametrize("use", USES)
def test_values_that_no_number_can_hold_end_no_run(use: str) -> None:
    scanned(
        {f"{place}.py": (HEAD + use.replace("{}", value)).encode() for place, value in enumerate(VALUES)}, twice=False
    )


def test_a_module_whose_name_is_longer_than_a_file_may_be_called_is_not_there() -> None:
    name = "a" * 5_000
    scanned({"train.py": f"import torch\nimport {name}.b\nfrom .{name} import c\nfrom . import {name}\n".encode()})
