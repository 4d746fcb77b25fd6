"""What goes out of sight may be otherwise afterwards: one place says so for calls, context managers and decorators."""

from __future__ import annotations

import pytest

from tests.said import said

HEAD = """
import torch
from torch import nn
from unseen import contexts, prepare

model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
x = torch.randn(2, 4)
"""


def forwards(source: str) -> list[str]:
    """What the trace says of the forwards."""
    return said(HEAD + source, "forward")


def modes(source: str) -> list[bool]:
    """Of each forward, whether the trace says that it runs in training mode."""
    return ["training mode" in line for line in forwards(source)]


def test_a_new_model_is_in_training_mode() -> None:
    assert modes("model(x)") == [True]


@pytest.mark.parametrize("given", ["model", "[model]", "net=model", "{'net': model}", "model[1]"])
def test_the_mode_of_what_a_call_gets_is_unknown_after_it(given: str) -> None:
    assert modes(f"prepare({given})\nmodel(x)") == [False]


def test_the_mode_is_known_again_once_it_is_set() -> None:
    assert modes("prepare(model)\nmodel.train()\nmodel(x)") == [True]


def test_a_call_that_does_not_get_the_model_leaves_its_mode() -> None:
    assert modes("prepare(x)\nmodel(x)") == [True]


def test_a_context_manager_that_gets_the_model_may_set_its_mode_at_both_ends() -> None:
    assert modes("with contexts.of(model):\n    model.train()\n    model(x)\nmodel(x)") == [True, False]


def test_whether_autograd_records_is_unknown_within_a_context_manager_and_known_after_it() -> None:
    within, after = forwards("with contexts.quiet():\n    model(x)\nmodel(x)")
    assert "autograd on" not in within
    assert "autograd on" in after


@pytest.mark.parametrize("context", ["open('log.txt')", "torch.profiler.profile()", "torch.device('cpu')"])
def test_a_context_manager_of_a_known_library_leaves_autograd(context: str) -> None:
    assert all("autograd on" in line for line in forwards(f"with {context}:\n    model(x)"))


def test_the_body_of_a_decorated_function_runs_nobody_knows_how() -> None:
    (line,) = forwards("@prepare\ndef run(net):\n    return net(x)\n\nrun(model)")
    assert "training mode" not in line
    assert "autograd on" not in line


def test_a_decorator_of_a_known_library_changes_nothing() -> None:
    (line,) = forwards("import functools\n@functools.lru_cache\ndef run(net):\n    return net(x)\n\nrun(model)")
    assert "autograd on" in line


@pytest.mark.parametrize(
    ("call", "known"), [("contexts.record(False)", False), ("contexts.Net(pretrained=True)", True)]
)
def test_a_switch_out_of_sight_may_be_that_of_autograd_and_a_setting_by_name_is_not(call: str, *, known: bool) -> None:
    (line,) = forwards(f"{call}\nmodel(x)")
    assert ("autograd on" in line) is known
