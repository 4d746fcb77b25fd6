"""A fix that changes what goes into a loss is offered only where nothing else depends on these values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.mending import with_proposals
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

CODES = ("TDR201", "TDR202", "TDR203", "TDR204", "TDR205")
SCRIPT = """\
import copy
import logging

import mystery
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.distributions import Categorical
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(256, 8), {labels}
loader = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, {outputs})

    def forward(self, x):
        return {activation}


class Accuracy:
    def __init__(self, threshold=0.5):
        self.threshold = threshold
        self.hits = 0

    def update(self, scores, target):
        self.hits += ((scores > self.threshold) == target).sum().item()


def accuracy(scores, target):
    return ((scores >= 0.5) == target).float().mean().item()


def top(output, target, ks=(1,)):
    _, pred = output.topk(max(ks), 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).float().sum(0) for k in ks]


def outputs(net):
    for xb, yb in val:
        yield net(xb), yb


model = Net()
criterion = nn.{loss}()
optimizer = torch.optim.Adam(model.parameters())
metric = Accuracy()
buffer = torch.zeros(56, {outputs})
for epoch in range(3):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val:
            out = model(xb)
            {read}
    print(epoch, hits)
"""
SIGMOID = {
    "labels": "torch.randint(0, 2, (256, 1)).float()",
    "outputs": 1,
    "activation": "torch.sigmoid(self.fc(x))",
    "loss": "BCEWithLogitsLoss",
}
SOFTMAX = {
    "labels": "torch.randint(0, 3, (256,))",
    "outputs": 3,
    "activation": "torch.softmax(self.fc(x), dim=1)",
    "loss": "CrossEntropyLoss",
}
NLL = {**SOFTMAX, "loss": "NLLLoss"}
SCORES = {**SIGMOID, "activation": "self.fc(x)", "loss": "BCELoss"}
ANY = [
    "print(out)",
    'print(f"{out}")',
    'print("%s" % out)',
    'logging.info("scores %s", out)',
    "hits += out.mean().item()",
    "hits += mystery.score(out, yb)",
    "mystery.serve(model)",
    'torch.onnx.export(model, xb, "model.onnx")',
    'torch.save(out, "outputs.pt")',
    'np.savetxt("outputs.txt", out.numpy())',
    "buffer[: len(out)] = out",
    "hits += F.mse_loss(out, model(xb + 1)).item()",
    "hits += ((out + model(xb + 1)) / 2).argmax(1).sum().item()",
    "hits += torch.stack([out, model(xb + 1)]).mean(0).argmax(1).sum().item()",
    "hits += sum(net(xb) for net in (model, copy.deepcopy(model))).argmax(1).sum().item()",
    "hits += out.topk(1).values.sum().item()",
    "hits += (out.clamp(0.01, 0.99)[:, 0] > 0.5).sum().item()",
    "hits += sum(int(row[0] > 0.5) for row in out)",
    "hits += int(out[0, 0].item() > 0.5)",
    "hits += sum(scores[0] > 0.5 for scores in out.tolist())",
    "hits += sum((scores[:, 0] > 0.5).sum() for scores, _ in outputs(model))",
    "model.last = out; hits += (model.last > 0.5).sum().item()",
    'hits += ({"scores": out}["scores"] > 0.5).sum().item()',
    "hits += -(out * out.log()).sum().item()",
]
OF_A_SIGMOID = [
    "hits += accuracy(out, yb)",
    "metric.update(out, yb)",
    "hits += (out.round() == yb).sum().item()",
    "hits += ((out.squeeze(1).cpu() > metric.threshold) == yb[:, 0]).sum().item()",
    "hits += ((out.numpy() > 0.5) == yb.numpy()).sum()",
    "hits += torch.bernoulli(out).sum().item()",
    "hits += ((out - yb) ** 2).mean().item()",
    "hits += ((out - 0.5 > 0) == yb).sum().item()",
    "hits += (out + 0.5).long().sum().item()",
]
OF_A_SOFTMAX = [
    "hits += (out.max(1).values > 0.9).sum().item()",
    "hits += out.argmax(0).sum().item()",
    "hits += out[range(len(yb)), yb].sum().item()",
    'hits += roc_auc_score(yb.numpy(), out.numpy(), multi_class="ovr")',
    "hits += torch.multinomial(out, 1).sum().item()",
    "hits += Categorical(out).sample().sum().item()",
    "hits += F.nll_loss(torch.log(out), yb).item()",
]
HARMLESS = [
    "pass",
    'torch.save(model, "model.pt")',
    'torch.save(model.state_dict(), "model.pt")',
    "hits += criterion(out, yb).item()",
    "hits += len(out) + out.shape[0] + out.size(1)",
]
HARMLESS_ORDER = [
    "hits += (out.argmax(1) == yb).sum().item()",
    "hits += (out.detach().cpu().argmax(dim=-1).numpy() == yb.numpy()).sum()",
    "_, predicted = torch.max(out.data, 1); hits += (predicted == yb).sum().item()",
    "hits += (out.max(1).indices == yb).sum().item()",
    "hits += (np.argmax(out.cpu().numpy(), axis=1) == yb.numpy()).sum()",
    "hits += (out.numpy().argmax(axis=1) == yb.numpy()).sum()",
    "hits += top(out, yb)[0]",
]


@pytest.fixture
def offered(folder: Path) -> Callable[..., tuple[bool, str]]:
    """Whether the fix of the only finding in a script that reads its outputs so is offered, and its help."""

    def found(model: dict[str, object], read: str) -> tuple[bool, str]:
        script = folder / "train.py"
        script.write_text(SCRIPT.format(**model, read=read))
        options = Options(paths=(script,), rules=tuple(rule for rule in all_rules() if rule.code in CODES))
        (finding,) = with_proposals(scan(options), options).findings
        return finding.fix is not None, finding.help

    return found


@pytest.mark.parametrize(
    ("model", "read"),
    [
        *((SIGMOID, read) for read in (*ANY, *OF_A_SIGMOID)),
        *((SOFTMAX, read) for read in (*ANY, *OF_A_SOFTMAX)),
    ],
)
def test_no_fix_changes_what_something_else_reads(
    model: dict[str, object], read: str, offered: Callable[..., tuple[bool, str]]
) -> None:
    fixed, remedy = offered(model, read)
    assert not fixed
    assert "(line " in remedy


@pytest.mark.parametrize(
    ("model", "read"),
    [
        *((SIGMOID, read) for read in (*HARMLESS, "hits += roc_auc_score(yb.numpy(), out.numpy())")),
        *((SOFTMAX, read) for read in (*HARMLESS, *HARMLESS_ORDER)),
        *((NLL, read) for read in (*HARMLESS, *HARMLESS_ORDER, "hits += out.argmax(0).sum().item()")),
        *((SCORES, read) for read in (*HARMLESS, "hits += ((out > 0) == yb).sum().item()")),
        (SCORES, "hits += ((torch.sigmoid(out) > 0.5) == yb).sum().item()"),
    ],
)
def test_a_fix_is_offered_where_the_result_is_the_same(
    model: dict[str, object], read: str, offered: Callable[..., tuple[bool, str]]
) -> None:
    fixed, remedy = offered(model, read)
    assert fixed
    assert "line" not in remedy


@pytest.mark.parametrize(
    ("model", "read"),
    [
        (NLL, "hits += (out[:, 1] > 0.3).sum().item()"),
        (NLL, "hits += -(out * out.log()).sum().item()"),
        (SCORES, "hits += accuracy(out, yb)"),
        (SCORES, "hits += (out.round() == yb).sum().item()"),
        (SCORES, "hits += ((out.numpy() > 0.5) == yb.numpy()).sum()"),
    ],
)
def test_no_other_loss_is_offered_where_probabilities_are_read(
    model: dict[str, object], read: str, offered: Callable[..., tuple[bool, str]]
) -> None:
    fixed, remedy = offered(model, read)
    assert not fixed
    assert "(line " in remedy


def test_a_fix_is_withheld_where_another_file_reads_the_values(
    folder: Path, write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    source = SCRIPT.format(**SIGMOID, read="pass")
    start, end = source.index("class Net"), source.index("class Accuracy")
    write("net.py", f"import torch\nfrom torch import nn\n\n\n{source[start:end]}".rstrip() + "\n")
    write("train.py", source[:start] + source[end:].replace("model = Net()", "from net import Net\n\nmodel = Net()", 1))
    write(
        "predict.py",
        "import torch\nfrom net import Net\n\nmodel = Net()\nmodel.load_state_dict(torch.load('model.pt'))\n"
        "model.eval()\nwith torch.no_grad():\n    print((model(torch.randn(4, 8)) > 0.5).tolist())\n",
    )
    before = (folder / "net.py").read_text()
    result = run(
        "scan", "--isolated", "--no-cache", "-j", "1", "--select", "TDR204", "--fix", "--unsafe-fixes", str(folder)
    )
    assert (folder / "net.py").read_text() == before
    assert "fix for TDR204 not applied: predict.py:8:12 would receive logits instead of probabilities" in result.err
    (folder / "predict.py").unlink()
    run("scan", "--isolated", "--no-cache", "-j", "1", "--select", "TDR204", "--fix", "--unsafe-fixes", str(folder))
    assert "return self.fc(x)" in (folder / "net.py").read_text()


def test_a_fix_is_withheld_where_a_function_reads_the_values_that_nobody_calls(
    folder: Path, run: Callable[..., Outcome]
) -> None:
    script = folder / "train.py"
    source = SCRIPT.format(**SIGMOID, read="pass") + "\n\ndef predict(x):\n    return model(x) > 0.5\n"
    script.write_text(source)
    result = run(
        "scan", "--isolated", "--no-cache", "-j", "1", "--select", "TDR204", "--fix", "--unsafe-fixes", str(script)
    )
    assert script.read_text() == source
    assert "would receive logits instead of probabilities" in result.err


LIGHTNING = """\
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc(x))

    def training_step(self, batch, index):
        x, y = batch
        return F.binary_cross_entropy_with_logits(self(x), y)

    def {hook}(self, batch, index):
        x, y = batch
        {body}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


loader = DataLoader(TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64, 1)).float()), batch_size=32)
trainer = L.Trainer(max_epochs=1)
trainer.fit(Net(), loader, loader)
{after}
"""
LOSS = 'self.log("loss", F.binary_cross_entropy_with_logits(self(x), y))'


@pytest.mark.parametrize(
    ("hook", "body", "after", "expected"),
    [
        ("validation_step", LOSS, "", True),
        ("validation_step", 'self.log("accuracy", ((self(x) > 0.5) == y).float().mean())', "", False),
        ("validation_step", 'return {"scores": self(x)}', "", False),
        ("predict_step", "return self(x)", "", False),
        ("validation_step", LOSS, "print(trainer.predict(Net(), loader))", False),
    ],
)
def test_what_a_trainer_gets_is_read(folder: Path, hook: str, body: str, after: str, expected: bool) -> None:
    script = folder / "train.py"
    script.write_text(LIGHTNING.format(hook=hook, body=body, after=after))
    options = Options(paths=(script,), rules=tuple(rule for rule in all_rules() if rule.code == "TDR204"))
    (finding,) = with_proposals(scan(options), options).findings
    assert (finding.fix is not None) is expected


def test_what_a_forward_that_nobody_calls_returns_beside_its_loss_is_read(folder: Path) -> None:
    script = folder / "model.py"
    script.write_text(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Classifier(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(8, 3)\n\n"
        "    def forward(self, x, labels):\n        scores = torch.softmax(self.fc(x), dim=1)\n"
        "        loss = F.cross_entropy(scores, labels)\n        return loss, scores\n"
    )
    options = Options(paths=(script,), rules=tuple(rule for rule in all_rules() if rule.code == "TDR201"))
    (finding,) = with_proposals(scan(options), options).findings
    assert finding.fix is None
    assert "line 11 uses them" in finding.help
