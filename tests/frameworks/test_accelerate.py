"""What is said of accelerate and of adapters, and, where these are installed, what they do."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.static.libraries.accelerate import ACCELERATE, EXACT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WINDOWS = """
import json, sys, torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def gradients(**settings):
    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, **settings)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=1)
    prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    found = []
    for (x,) in loader:
        with accelerator.accumulate(prepared):
            accelerator.backward(prepared(x).sum())
            found.append([model.weight.grad.sum().item(), accelerator.sync_gradients])
            optimizer.step()
            optimizer.zero_grad()
    return accelerator, prepared, model, found


accelerator, prepared, model, bare = gradients()
_, _, _, window = gradients(gradient_accumulation_steps=2)
print("SEEN", json.dumps({
    "methods": [name for name in json.loads(sys.argv[1]) if hasattr(accelerator, name)],
    "bare": bare,
    "window": window,
    "unwrapped": accelerator.unwrap_model(prepared) is model,
    "alone": isinstance(accelerator.prepare(nn.Linear(1, 1)), nn.Module),
    "several": isinstance(accelerator.prepare(nn.Linear(1, 1), nn.Linear(1, 1)), tuple),
    "even": accelerator.even_batches,
}))
"""
ADAPTERS = """
import json, sys, torch
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def flags(model):
    own = {p.requires_grad for n, p in model.named_parameters() if "lora_" in n}
    base = {p.requires_grad for n, p in model.named_parameters() if "lora_" not in n}
    return [sorted(own), sorted(base)]


base = Net()
model = get_peft_model(base, LoraConfig(r=2, target_modules=["first"]))
seen = {"put in": flags(model), "same": model.base_model.model is base}
model.save_pretrained("adapter")
seen["loaded"] = flags(PeftModel.from_pretrained(Net(), "adapter"))
seen["trainable"] = flags(PeftModel.from_pretrained(Net(), "adapter", is_trainable=True))
seen["inference"] = flags(get_peft_model(Net(), LoraConfig(r=2, target_modules=["first"], inference_mode=True)))
seen["head"] = flags(get_peft_model(Net(), LoraConfig(r=2, target_modules=["first"], modules_to_save=["last"])))
late = get_peft_model(Net(), LoraConfig(r=2, target_modules=["first"]))
seen["late"] = flags(prepare_model_for_kbit_training(late, use_gradient_checkpointing=False))
merged = model.merge_and_unload()
seen["merged"] = [merged is base, any("lora_" in name for name, _ in merged.named_parameters())]
print("SEEN", json.dumps(seen))
"""
SCHEDULED = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

epochs, window = 4, {window}
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=window{extra})
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
rows = TensorDataset(torch.randn(512, 8), torch.randint(0, 3, (512,)))
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=16, shuffle=True))
steps = {steps}
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
schedule = {schedule}
for epoch in range(epochs):
    for x, y in loader:
        with accelerator.accumulate(model):
            accelerator.backward(nn.functional.cross_entropy(model(x), y))
            optimizer.step()
            {step}
            optimizer.zero_grad()
"""
TOO_LONG = {
    "window": "4",
    "extra": "",
    "steps": "epochs * len(loader)",
    "schedule": "accelerator.prepare(schedule)",
    "step": "schedule.step()",
}
UPDATES = "epochs * len(loader) // window"
LONG_ENOUGH = [
    {"steps": UPDATES},
    {"steps": "epochs * -(-len(loader) // window)"},
    {"steps": UPDATES, "step": "if accelerator.sync_gradients:\n                schedule.step()"},
    {"window": "1"},
    {"schedule": "schedule"},
    {"extra": ", step_scheduler_with_optimizer=False"},
]


def _seen(script: Path, *args: str) -> Any:
    run = subprocess.run(
        [sys.executable, script, *args], capture_output=True, text=True, check=True, cwd=script.parent
    ).stdout
    return json.loads(next(line for line in run.splitlines() if line.startswith("SEEN"))[5:])


@pytest.mark.frameworks("accelerate")
def test_an_accelerator_does_what_the_table_says(write: Callable[..., Path]) -> None:
    seen = _seen(write("windows.py", WINDOWS), json.dumps(sorted(ACCELERATE.methods)))
    missing = set(ACCELERATE.methods) - set(seen["methods"])
    assert missing <= {"skip_first_batches"}  # a function of the package, too
    assert seen["bare"] == [[2.0, True]] * 4  # no loss is divided, and each step clears
    assert seen["window"] == [[1.0, False], [2.0, True]] * 2
    assert (seen["unwrapped"], seen["alone"], seen["several"], seen["even"]) == (True, True, True, True)
    assert set(ACCELERATE.methods) >= EXACT


@pytest.mark.frameworks("peft")
def test_adapters_freeze_and_train_what_the_table_says(write: Callable[..., Path]) -> None:
    seen = _seen(write("adapters.py", ADAPTERS))
    assert seen["put in"] == seen["trainable"] == [[True], [False]]
    assert seen["loaded"] == seen["inference"] == seen["late"] == [[False], [False]]
    assert seen["head"] == [[True], [False, True]]
    assert seen["same"] is True
    assert seen["merged"] == [True, False]


def test_a_schedule_counts_the_updates_of_windows(run: Any, write: Any) -> None:
    write("train.py", SCHEDULED.format(**TOO_LONG))
    told = run("scan", "train.py", "--isolated").out
    assert "TDR123" in told
    assert "`schedule` steps every 4 batches, but `steps` counts batches" in told


@pytest.mark.parametrize("right", LONG_ENOUGH)
def test_a_schedule_that_is_as_long_as_its_steps_is_not_reported(run: Any, write: Any, right: dict[str, str]) -> None:
    write("train.py", SCHEDULED.format(**TOO_LONG | right))
    assert run("scan", "train.py", "--isolated", "--output-format", "json").json == []


@pytest.mark.frameworks("accelerate")
def test_a_run_confirms_that_a_schedule_counts_batches(run: Any, write: Any) -> None:
    write("train.py", SCHEDULED.format(**TOO_LONG))
    told = run("scan", "train.py", "--isolated", "--probe").out
    assert "confirmed: it steps every 4 batches, an epoch has 32 batches, and the schedule has 128 steps" in told
