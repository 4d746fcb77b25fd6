"""What nobody in sight gives is what it is used as, then what it is annotated, then what its name says."""

from __future__ import annotations

import pytest

from tests.said import said

LOSS = """
import torch
from torch import nn

class Loss(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)

    def forward(self, outputs, target):
        target = target * self.mean
        return (outputs - {use}).abs().mean()
"""


@pytest.mark.parametrize("use", ["target.clamp(max=1.0)", "target.unsqueeze(0)", "target.float()", "target.detach()"])
def test_what_only_tensors_have_makes_a_tensor(use: str) -> None:
    assert said(LOSS.format(use=use), "use `self.mean` of Loss, a plain tensor")


def test_what_may_be_a_number_stays_unknown() -> None:
    assert not said(LOSS.format(use="target"), "use `self.mean`")


TRAIN = """
import torch
from torch import nn
from typing import Optional

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, width), nn.Dropout(0.5), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)

class Other(nn.Module):
    def forward(self, x):
        return x

def run(f, c, o, batches):
    for x, y in batches:
        o.zero_grad()
        loss = c(f(x.to("cpu")), y)
        loss.backward()
        o.step()
"""


def test_uses_alone_tell_a_model_its_loss_and_its_optimizer() -> None:
    lines = said(TRAIN)
    assert any("forward `f` ()" in line for line in lines)
    assert any("loss `c` (modules.loss._Loss)" in line for line in lines)
    assert any("step `o`: updates `f`" in line for line in lines)
    assert any("take a batch from `batches`" in line for line in lines)


@pytest.mark.parametrize("annotation", ["Net", "'Net'", "Optional[Net]", "Net | None"])
def test_an_annotation_tells_which_class_a_model_has(annotation: str) -> None:
    assert said(TRAIN.replace("run(f,", f"run(f: {annotation},"), "forward `f` (Net)")


def test_a_list_of_models_is_none() -> None:
    script = TRAIN.replace("run(f,", "run(f: list[Net],")
    assert not said(script, "forward `f` (Net)")


def test_a_model_is_of_the_only_class_that_can_be_one() -> None:
    head, _, tail = TRAIN.partition("class Other")
    script = head + tail.partition("return x\n")[2]
    assert said(script, "forward `f` (Net)")
    assert not said(script.replace('f(x.to("cpu"))', "f(**x)"), "forward `f` (Net)")
    assert not said(script.replace('f(x.to("cpu"))', "f(x, y, y)"), "forward `f` (Net)")
    assert not said(script.replace("o.step()", "o.step(); f.generate(x)"), "forward `f` (Net)")


CALLED = """
import torch
from elsewhere import ask

def evaluate(model, loader):
    for x, _ in loader:
        print(model(x.to("cpu")).argmax(1))
    model.eval()
"""


CALLER = """
class Hooked(ask("Base")):
    @ask
    def run(self):
        raise NotImplementedError
        evaluate(self.model, self.loader)
"""


def test_a_function_that_nobody_calls_begins_with_autograd_on() -> None:
    assert said(CALLED, "autograd on")


def test_of_a_function_that_the_file_calls_out_of_sight_nobody_knows_how_it_begins() -> None:
    assert not said(CALLED + CALLER, "autograd on")
