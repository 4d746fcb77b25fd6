"""A decorator that only registers functions is executed for the first of them, and not for hundreds."""

from __future__ import annotations

from tests.said import said

_CHECKS = "\n".join(f"    checked = function.__name__ + '{number}'" for number in range(120))
REGISTRY = f"""
import torch
from torch import nn

SEEN = []


def register(function):
{_CHECKS}
    SEEN.append('a model')
    return function

"""


def models(count: int) -> str:
    """As many functions that the decorator registers."""
    return "\n\n".join(
        f"@register\ndef model_{number}():\n    return nn.Linear(4, {number})" for number in range(1, count)
    )


def test_many_registered_functions_leave_steps_for_what_comes_after_them() -> None:
    script = f"{REGISTRY}{models(120)}\n\nnet = model_119()\nnet.eval()\n"
    assert said(script, "evaluation mode") == ["switch `net` to evaluation mode"]


def test_what_is_registered_after_the_first_functions_is_unknown() -> None:
    script = f"{REGISTRY}{models(40)}\n\nnet = nn.Linear(4, 1)\nif 'another model' in SEEN:\n    net.eval()\n"
    assert len(said(script, "evaluation mode")) == 1


def test_a_decorator_that_wraps_is_executed_for_each_function() -> None:
    wrapping = REGISTRY.replace("return function\n", "return lambda: function().eval()\n")
    assert said(f"{wrapping}{models(40)}\n\nnet = model_39()\n", "evaluation mode")
