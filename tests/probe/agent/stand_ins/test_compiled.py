"""Scripts that compile run under the probe as they run without it: the code as it is written, and nothing of ours in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

# not the farm: there the compiler of torch is loaded from the start
pytestmark = pytest.mark.usefixtures("records")

Run = Any
Write = Any

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
rows, labels = torch.randn(16, 4), torch.tensor([0, 1] * 8)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
{compiled}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


{decorated}
def step(rows, labels):
    {cleared}
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    return loss


for _ in range(3):
    loss = step(rows, labels)
print("the loss:", loss.item())
"""
MODELS = {
    "torch.compile": 'model = torch.compile(model, fullgraph=True)._orig_mod\nmodel.compile(backend="eager")',
    "dynamo.optimize": 'import torch._dynamo as dynamo\nmodel = dynamo.optimize("aot_eager", nopython=True)(model)',
    "jit.script": "model = torch.jit.script(model)",
    "jit.ScriptModule": """
class Scripted(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.last = nn.Linear(8, 2)

    @torch.jit.script_method
    def forward(self, x):
        return self.last(nn.functional.dropout(self.layers(x), 0.1, self.training))

model = Scripted()
""",
    "jit.script of a class": """
@torch.jit.script
def halved(number: float) -> float:
    return number / 2

@torch.jit.script
class Rate:
    def __init__(self, number: float):
        self.number = halved(number)
""",
    "jit.trace": "model = torch.jit.trace(model.eval(), rows).train()",
    "export": """
torch.export.export(model, (rows,))
torch.export.export(model, (rows,), strict=True)
assert torch._dynamo.explain(model)(rows).graph_break_count == 0
""",
}
STEPS = {
    "torch.compile": '@torch.compile(backend="eager")',
    "dynamo.optimize": '@__import__("torch._dynamo")._dynamo.optimize("eager")',
}


@pytest.fixture
def probed(run: Run, write: Write) -> Callable[..., Any]:
    """Probes the script with a line that compiles its model, or its step."""

    def outcome(compiled: str = "", decorated: str = "", cleared: str = "optimizer.zero_grad()") -> Any:
        write("train.py", SCRIPT.format(compiled=compiled, decorated=decorated, cleared=cleared))
        return run("scan", "train.py", "--probe", "--isolated", "--probe-output", "--ignore", "TDR8")

    return outcome


@pytest.mark.parametrize("compiled", MODELS.values(), ids=list(MODELS))
def test_a_compiled_model_trains_under_the_probe(probed: Callable[..., Any], compiled: str) -> None:
    outcome = probed(compiled)
    assert "reached 3 optimizer steps" in outcome.err
    assert "the loss: " in outcome.err
    assert "fails" not in outcome.err
    assert "an instrument failed" not in outcome.err
    assert outcome.status == 0


@pytest.mark.parametrize("decorated", STEPS.values(), ids=list(STEPS))
def test_a_compiled_step_is_seen_as_it_is_written(probed: Callable[..., Any], decorated: str) -> None:
    outcome = probed(decorated=decorated, cleared="pass")
    assert "reached 3 optimizer steps" in outcome.err
    assert "uncompiled code instead of `torch.compile`" in outcome.err
    assert "TDR101" in outcome.out
    assert "confirmed" in outcome.out
    assert "an instrument failed" not in outcome.err


PER_ROW = """
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
rows, labels = torch.randn(16, 4), torch.tensor([0, 1] * 8)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(weights, row, label):
    return nn.functional.cross_entropy(functional_call(model, weights, (row[None],)), label[None])


for _ in range(2):
    weights = {name: each.detach() for name, each in model.named_parameters()}
    gradients = vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, rows, labels)
    for name, each in model.named_parameters():
        each.grad = gradients[name].mean(0)
    optimizer.step()
print("norm:", sum(each.norm().item() for each in gradients.values()))
"""


def test_nobody_reads_values_of_a_function_that_is_mapped_over_rows(run: Run, write: Write) -> None:
    write("train.py", PER_ROW)
    outcome = run("scan", "train.py", "--probe", "--isolated", "--probe-output", "--ignore", "TDR8")
    assert "norm: " in outcome.err
    assert "reached 2 optimizer steps" in outcome.err
    assert "an instrument failed" not in outcome.err
    assert outcome.status == 0
