"""Shapes that annotations of jaxtyping and torchtyping state are those of the parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

SCRIPT = Path("/nowhere/model.py")
MODEL = """
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torchtyping import TensorType

class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(32, 4)

    def forward(self, x: {annotation}):
        {change}
        return self.head(x)
"""
SPLIT = "rows, steps, width = x.shape\n        x = x.view(steps, rows, width)"


def _found(annotation: str, change: str) -> list[str]:
    """The codes of the findings in a model whose input has this annotation."""
    source = MODEL.format(annotation=annotation, change=change).lstrip("\n").encode()
    rules = tuple(rule for rule in all_rules() if rule.code == "TDR317")
    report = scan(Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: source}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    "annotation",
    ['Float[Tensor, "rows steps 32"]', 'Shaped[Tensor, "b t d"]', 'TensorType["rows", "steps", 32]'],
)
def test_a_reshape_across_stated_axes_is_found(annotation: str) -> None:
    assert _found(annotation, SPLIT) == ["TDR317"]


@pytest.mark.parametrize("change", ["x = x.transpose(0, 1)", "x = x.view(x.shape[0], -1, 32)"])
def test_an_arrangement_that_keeps_stated_axes_is_right(change: str) -> None:
    assert _found('Float[Tensor, "rows steps 32"]', change) == []


@pytest.mark.parametrize("annotation", ['Float[Tensor, "rows *steps 32"]', "Tensor", 'Float[Array, "rows _ 32"]'])
def test_nothing_is_known_of_dimensions_of_an_unknown_number(annotation: str) -> None:
    assert _found(annotation, "x = x.view(-1, 32)") == []
