"""Imports that a fix leaves without use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

NET = """\
import torch
from torch import nn
{imports}

net = nn.Linear(2, 3)
{body}
loss = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    optimizer.zero_grad()
    loss({applied}(net(torch.rand(4, 2)), dim=1), torch.randint(0, 3, (4,))).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from torch.nn.functional import relu, softmax", "from torch.nn.functional import relu"),
        ("from torch.nn.functional import softmax, relu", "from torch.nn.functional import relu"),
        ("from torch.nn.functional import gelu, softmax, relu", "from torch.nn.functional import gelu, relu"),
        (
            "from torch.nn.functional import (\n    relu,\n    softmax,\n)",
            "from torch.nn.functional import (\n    relu,\n)",
        ),
        ("from torch.nn.functional import relu, gelu, softmax as soft", "from torch.nn.functional import relu, gelu"),
    ],
)
def test_a_name_beside_others_is_taken_out_of_its_import(mended: Mended, before: str, after: str) -> None:
    applied = "soft" if " as soft" in before else "softmax"
    body = "print(relu, gelu)" if "gelu" in before else "print(relu)"
    text = NET.format(imports=before, body=body, applied=applied)
    wanted = NET.format(imports=after, body=body, applied="@").replace(
        "@(net(torch.rand(4, 2)), dim=1)", "net(torch.rand(4, 2))"
    )
    assert mended(text, "TDR201") == wanted


def test_the_row_goes_when_two_findings_have_taken_its_names(mended: Mended) -> None:
    text = """\
import torch
from torch import nn
from torch.nn.init import constant, normal

net = nn.Linear(2, 3)
normal(net.weight)
constant(net.bias, 0.0)
"""
    fixed = mended(text, "TDR807")
    assert "normal_(net.weight)" in fixed
    assert "import constant" not in fixed
    assert "import normal" not in fixed
