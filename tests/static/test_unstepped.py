"""A scheduler that a library gets may be stepped by it; one that only the script has is stepped by the script or never."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torch_doctor.scan import Options, scan
from torch_doctor_rules.update.scheduler_never_stepped import SchedulerNeverStepped

SCRIPT = Path("/nowhere/train.py")
DATA = """
import torch
from torch import nn

data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(9)]
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
"""
LOOP = """
for epoch in range(5):
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        {step}
    {end}
"""


def is_found(source: str) -> bool:
    """Whether TDR132 is found in a script that begins with the data."""
    text = (DATA + textwrap.dedent(source)).encode()
    found = scan(
        Options(paths=(SCRIPT,), rules=(SchedulerNeverStepped(),), overlay={SCRIPT: text}, names={SCRIPT: SCRIPT.name})
    )
    assert not found.errors, found.errors
    return bool(found.findings)


def loop(before: str, *, step: str = "optimizer.step()", end: str = "pass") -> str:
    """A training loop behind something."""
    return textwrap.dedent(before) + LOOP.format(step=step, end=end)


HANDED = [
    "import deepspeed\nengine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=scheduler)",
    "from ignite.engine import Engine, Events\nEngine(print).add_event_handler(Events.EPOCH_COMPLETED, scheduler)",
    "from somewhere import Runner\nrunner = Runner(callbacks=[scheduler])",
    "import transformers\ntransformers.Trainer(model, train_dataset=data, optimizers=(optimizer, scheduler)).train()",
]


def test_accelerate_steps_no_scheduler_that_it_prepares() -> None:
    assert is_found(loop("from accelerate import Accelerator\nscheduler = Accelerator().prepare(scheduler)"))


@pytest.mark.parametrize("handed", HANDED)
def test_a_library_may_step_a_scheduler_that_it_gets(handed: str) -> None:
    assert not is_found(loop(handed))


@pytest.mark.parametrize(
    "before",
    [
        "print(scheduler)",
        "assert isinstance(scheduler, object)",
        "state = scheduler.state_dict()",
        "parts = [scheduler]",
        "parts = {'scheduler': scheduler}",
        "import timm.scheduler\nscheduler = timm.scheduler.StepLRScheduler(optimizer, 5)",
    ],
)
def test_who_only_looks_at_a_scheduler_does_not_step_it(before: str) -> None:
    assert is_found(loop(before))


def test_a_scaler_steps_the_optimizer_alone() -> None:
    assert is_found(loop("scaler = torch.amp.GradScaler()", step="scaler.step(optimizer)\n        scaler.update()"))
    assert not is_found(loop("", end="scheduler.step()"))
