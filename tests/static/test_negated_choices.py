"""What a negated test chose is known again where a later test decides the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCRIPT = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--loss", default="ce")
args = parser.parse_args()
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{chosen}
for _ in range(8):
    optimizer.zero_grad()
    scores, y = model(torch.randn(8, 4)), torch.randint(0, 3, (8,))
    loss = loss_fn({given}, y) if args.loss == "ce" else loss_fn(scores.log_softmax(1), y)
    loss.backward()
    optimizer.step()
"""
CHOSEN = {
    "branch": 'if args.loss != "ce":\n    loss_fn = nn.NLLLoss()\nelse:\n    loss_fn = nn.CrossEntropyLoss()',
    "expression": 'loss_fn = nn.NLLLoss() if not args.loss == "ce" else nn.CrossEntropyLoss()',
    "flag": 'nll = not (args.loss == "ce")\nif nll:\n    loss_fn = nn.NLLLoss()\nelse:\n    loss_fn = nn.CrossEntropyLoss()',
    "helper": """
def pick(args):
    if args.loss != "ce":
        return nn.NLLLoss()
    return nn.CrossEntropyLoss()

loss_fn = pick(args)
""",
    "item": """
table = {}
if args.loss != "ce":
    table["loss"] = nn.NLLLoss()
else:
    table["loss"] = nn.CrossEntropyLoss()
loss_fn = table["loss"]
""",
}


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize(
    ("given", "found"), [("scores", []), ("scores.softmax(1)", ["TDR201"])], ids=["right", "wrong"]
)
def test_the_loss_of_a_negated_choice_is_the_one_that_was_chosen(
    chosen: str, given: str, found: list[str], write: Callable[..., Path]
) -> None:
    path = write("train.py", SCRIPT.format(chosen=chosen, given=given))
    rules = tuple(rule for rule in all_rules() if rule.code.startswith("TDR2"))
    assert [finding.code for finding in scan(Options(paths=(path,), rules=rules)).findings] == found
