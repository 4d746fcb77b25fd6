"""What one arm of a branch does is unknown to the other arm."""

from __future__ import annotations

import textwrap

import pytest

from tests.said import said

MODELS = """
import torch
from torch import nn
model, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
other = torch.optim.SGD(model.parameters(), lr=0.1)

def grow():
    optimizer.add_param_group({"params": head.parameters()})

loss = head(model(torch.randn(2, 4))).sum()
"""
GROWS = """optimizer.add_param_group({"params": head.parameters()})"""


def steps(script: str) -> list[str]:
    """What the steps of `MODELS` followed by a script update."""
    return said(MODELS + textwrap.dedent(script), "step `")


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        if flag():
            optimizer.step()
        else:
            {GROWS}
        """,
        """
        if flag():
            grow()
        else:
            optimizer.step()
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
            else:
                optimizer.step()
        train(flag())
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
                return
            optimizer.step()
        train(flag())
        """,
        """
        grow() if flag() else optimizer.step()
        """,
        f"""
        if flag():
            pass
        elif flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        for _ in range(3):
            if flag():
                {GROWS}
                break
            optimizer.step()
        """,
        f"""
        if flag():
            for _ in range(3):
                {GROWS}
        else:
            optimizer.step()
        """,
        """
        if flag():
            other.add_param_group({"params": head.parameters()})
            optimizer.step()
        else:
            other.step()
        """,
    ],
)
def test_parameters_that_one_arm_adds_are_not_updated_in_the_other(script: str) -> None:
    assert steps(script)
    assert not any("`head`" in line for line in steps(script))


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        optimizer.step()
        """,
        f"""
        if flag():
            pass
        else:
            {GROWS}
        optimizer.step()
        """,
        f"""
        try:
            {GROWS}
        except ValueError:
            print()
        optimizer.step()
        """,
        f"""
        for _ in range(3):
            optimizer.step()
            if flag():
                {GROWS}
        """,
    ],
)
def test_what_is_executed_after_both_arms_knows_what_either_did(script: str) -> None:
    assert "`model`, `head`" in steps(script)[-1]


DEVICES = """
import sys, time
import accelerate
import torch
from torch import nn
flag = len(sys.argv) > 1
model = nn.Linear(4, 4).cuda()
other = nn.Linear(4, 4).cuda()
x = torch.randn(2, 4).to("cpu")
"""


MEETS = "model(x)"


@pytest.mark.parametrize(
    ("arm", "meetings"), [("torch.set_default_device('cuda')", 1), ("accelerate.Accelerator()", 1), ("other(x)", 2)]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_model_meets_its_input_whatever_the_other_arm_does(arm: str, meetings: int, first: bool) -> None:
    one, two = (arm, MEETS) if first else (MEETS, arm)
    script = f"{DEVICES}if flag:\n    {one}\nelse:\n    {two}\n"
    assert len(said(script, "on the CPU beside")) == meetings


def test_what_either_arm_has_set_is_known_after_them() -> None:
    script = f"{DEVICES}if flag:\n    torch.set_default_device('cuda')\n{MEETS}\n"
    assert not said(script, "on the CPU beside")


@pytest.mark.parametrize("wait", ["model(x).sum().item()", "print(f'{model(x)}')", "(model(x) > 0).nonzero()"])
def test_calls_that_wait_in_one_arm_are_not_between_the_readings_of_the_other(wait: str) -> None:
    begin, end = "start = time.time()", "print(time.time() - start)"
    script = f"{DEVICES}{begin}\nif flag:\n    {wait}\nelse:\n    {end}\n"
    assert said(script, "measure a time")
    assert not said(script, "may wait")
    assert said(f"{script}{end}\n", "may wait")


def test_gradients_cleared_in_one_arm_make_no_optimizer_in_the_other() -> None:
    thing = "thing = somewhere.make()"
    script = f"import sys, torch, somewhere\nflag = len(sys.argv) > 1\n{thing}\nif flag:\n    thing.zero_grad()\n"
    assert not said(f"{script}else:\n    thing.step()\n", "step `thing`")
    assert said(f"{script}thing.step()\n", "step `thing`")


LIGHTNING = """
import torch
import sys
import pytorch_lightning as pl
flag = len(sys.argv) > 1

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

model = Model()
"""


def test_a_framework_drives_a_module_in_each_arm() -> None:
    fits = "pl.Trainer().fit(model)"
    script = f"{LIGHTNING}if flag:\n    {fits}\nelse:\n    {fits}\n"
    assert len(said(script, "call training_step")) == 2
    assert len(said(f"{LIGHTNING}{fits}\n{fits}\n", "call training_step")) == 1
