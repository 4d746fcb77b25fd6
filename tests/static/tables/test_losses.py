"""The table of losses against torch itself."""

from __future__ import annotations

import importlib
import inspect

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn

from torch_doctor.static.tables.losses import ANY, LOSSES, functional_of
from torch_doctor.trace.words import Kind

NAMES = sorted(name for name in LOSSES if name.startswith("torch.") and name != ANY)
FUNCTIONS = [name for name in NAMES if name.startswith("torch.nn.functional.")]
NO_LOSSES = frozenset({"torch.nn.AdaptiveLogSoftmaxWithLoss"})


def _found(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_loss_of_torch_is_declared() -> None:
    modules = {f"torch.nn.{name}" for name in vars(nn) if name.endswith("Loss")} - NO_LOSSES
    functions = {
        f"torch.nn.functional.{name}"
        for name in vars(F)
        if ("loss" in name or "entropy" in name or name == "kl_div") and inspect.isroutine(getattr(F, name))
    }
    assert modules | functions | {"torch.nn.NLLLoss2d"} == set(NAMES)


def test_every_module_has_its_function() -> None:
    modules = {name for name in NAMES if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional.")}
    assert functional_of.keys() == modules - {"torch.nn.NLLLoss2d"}
    for module, function in functional_of.items():
        assert LOSSES[function].expects is LOSSES[module].expects


@pytest.mark.parametrize("name", NAMES)
def test_positions_and_names(name: str) -> None:
    loss = LOSSES[name]
    found = _found(name)
    call = inspect.getattr_static(found, "forward") if isinstance(found, type) else found
    parameters = list(inspect.signature(call).parameters)  # type: ignore[arg-type]
    if isinstance(found, type):
        parameters.remove("self")
    assert parameters[loss.input] == loss.input_name
    if loss.target is not None:
        assert parameters[loss.target] == loss.target_name


@pytest.mark.parametrize("name", [name for name in NAMES if name != "torch.nn.NLLLoss2d"])  # takes what NLLLoss takes
def test_default_reduction(name: str) -> None:
    parameters = inspect.signature(_found(name)).parameters  # type: ignore[arg-type]
    assert parameters["reduction"].default == LOSSES[name].reduction_default


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if LOSSES[name].symmetric])
def test_symmetric_losses_are(name: str) -> None:
    one, other = torch.randn(3, 4), torch.randn(3, 4)
    call = getattr(F, name.rpartition(".")[2])
    assert torch.equal(call(one, other), call(other, one))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if LOSSES[name].classes])
def test_losses_of_classes_take_indices(name: str) -> None:
    call = getattr(F, name.rpartition(".")[2])
    first = (torch.randn(5, 8), torch.randn(4, 8)) if "linear" in name else (torch.randn(5, 4),)
    assert call(*first, torch.tensor([0, 1, 2, 3, 0])).ndim == 0


def test_what_they_expect() -> None:
    scores = torch.randn(6, 4) * 3
    target = torch.tensor([0, 1, 2, 3, 0, 1])
    yes = (torch.randn(6, 4) > 0).float()
    # Those that expect log-probabilities or bounded numbers are the plain formula; those that expect scores apply it.
    assert LOSSES["torch.nn.NLLLoss"].expects is Kind.LOG_PROBABILITIES
    assert torch.allclose(F.nll_loss(F.log_softmax(scores, 1), target), F.cross_entropy(scores, target))
    assert LOSSES["torch.nn.BCELoss"].expects is Kind.BOUNDED
    bounded = F.binary_cross_entropy(torch.sigmoid(scores), yes)
    assert torch.allclose(bounded, F.binary_cross_entropy_with_logits(scores, yes), atol=1e-5)
    with pytest.raises(RuntimeError):
        F.binary_cross_entropy(scores, yes)
    assert torch.allclose(F.multilabel_soft_margin_loss(scores, yes), F.binary_cross_entropy_with_logits(scores, yes))
