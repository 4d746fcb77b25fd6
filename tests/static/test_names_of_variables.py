"""What lies among the variables of a file or a function under a name that nobody knows is not known either."""

from __future__ import annotations

import pytest

from tests.said import said


@pytest.mark.parametrize("names", ["globals()", "locals()", "vars()"])
def test_a_model_looked_up_by_its_name_may_have_a_graph(names: str) -> None:
    source = f"""
import sys

import torch
from models import Large, Small

model = {names}[sys.argv[1]]().to("cpu")
loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
"""
    (loss,) = said(source, "loss `")
    assert "without a graph);" not in loss.partition("target")[0]
