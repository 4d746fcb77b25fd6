"""Instruments that read the number of a loss, which has a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")
FIXTURES = Path(__file__).parents[5] / "fixtures"
STRICT = "import warnings\nwarnings.simplefilter('error')\n"
OWN = """
from types import SimpleNamespace
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, 8), nn.Linear(8, 20)

    def forward(self, tokens, labels):
        logits = self.out(self.embed(tokens))
        kept = labels != -100
        picked = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        return SimpleNamespace(loss=-(picked * kept).sum() / kept.sum(), logits=logits)

torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    words = pad_sequence([torch.randint(1, 20, (n,)) for n in (3, 5, 8, 4)], batch_first=True)
    answer = model(words, labels=words)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "status"),
    [
        ("answer.loss / 2", 1),
        ("nn.functional.cross_entropy(answer.logits.mT, words, ignore_index=0)", 0),
        ("nn.functional.cross_entropy(answer.logits.mT, words, ignore_index=0) + 0 * answer.loss", 0),
    ],
)
def test_the_loss_that_a_model_computes_itself_counts_where_gradients_come_back_to_it(
    run: Any, write: Callable[..., Any], loss: str, status: int
) -> None:
    write("train.py", OWN.replace("{loss}", loss))
    outcome = run("scan", "train.py", "--probe", "--isolated", "--select", "TDR217")
    assert outcome.status == status, outcome.out
    assert ("confirmed" in outcome.out) is bool(status)
    assert "failed" not in outcome.err


@pytest.mark.parametrize("name", ["TDR217/bad_index_of_a_vocabulary.py", "TDR218/bad_recurrent.py"])
def test_the_script_gets_no_warning_of_it(run: Any, write: Callable[..., Any], name: str) -> None:
    write("train.py", STRICT + (FIXTURES / name).read_text(encoding="utf-8"))
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "confirmed" in outcome.out
    assert "instrument failed" not in outcome.err
    assert "fails" not in outcome.err
