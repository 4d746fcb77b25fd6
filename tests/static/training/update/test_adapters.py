from __future__ import annotations

import pytest

from tests.said import said

MODEL = """
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
model = get_peft_model(net, LoraConfig(r=4, target_modules=["0", "2"]{settings}))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
    optimizer.zero_grad()
    {body}
    loss.backward()
    optimizer.step()
"""
LOSS = "loss = nn.functional.cross_entropy(model(x), y)"


def adapters(body: str = LOSS, settings: str = "") -> list[str]:
    return [
        line.strip().partition(" ")[2].strip()
        for line in said(MODEL.format(body=body, settings=settings))
        if " its base " in line
    ]


def test_peft_freezes_what_it_adapts() -> None:
    assert adapters() == ["adapter peft.get_peft_model trains, its base is frozen"]


@pytest.mark.parametrize("settings", [", modules_to_save=['2']", ", bias='all'", ", **options"])
def test_settings_may_leave_more_to_train(settings: str) -> None:
    assert "its base may train" in adapters(settings=settings)[0]


def test_settings_for_inference_freeze_the_adapter() -> None:
    assert "adapter peft.get_peft_model is frozen" in adapters(settings=", inference_mode=True")[0]


def test_a_forward_in_which_the_adapter_is_disabled_trains_nothing() -> None:
    body = f"with model.disable_adapter():\n        {LOSS}"
    assert adapters(body)[0].endswith("(disabled)")


def test_a_reference_without_the_adapter_beside_the_loss_is_no_matter() -> None:
    without = "with torch.no_grad(), model.disable_adapter():\n        reference = model(x)"
    body = f"{without}\n    {LOSS} + (model(x) - reference).mean()"
    assert not adapters(body)[0].endswith("(disabled)")
