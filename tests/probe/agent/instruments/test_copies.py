"""Copies of models of any form: they answer as the model does, and leave it alone."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune, spectral_norm, weight_norm

from torch_doctor.probe.agent.instruments import copies

if TYPE_CHECKING:
    from collections.abc import Callable


class Keeper(nn.Module):
    """Keeps what it computed, deep inside."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList([layer])
        self.kept: dict[str, Any] = {}

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            rows = layer(rows)
        self.kept["last"] = [(rows,)]
        return rows


class Last(nn.Module):
    """The last output of a recurrent layer with a norm of its own."""

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.lstm = norm(nn.LSTM(4, 4, batch_first=True), "weight_hh_l0")

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.lstm(rows.unsqueeze(1))[0][:, -1]
        return output


def pruned() -> nn.Module:
    """A layer without some of its weights."""
    layer: nn.Module = prune.l1_unstructured(nn.Linear(4, 4), "weight", 0.5)  # type: ignore[no-untyped-call]
    return layer


FORMS: dict[str, Callable[[], nn.Module]] = {
    "weight norm by hooks": lambda: weight_norm(nn.Linear(4, 4)),
    "spectral norm by hooks": lambda: spectral_norm(nn.Linear(4, 4)),
    "weight norm": lambda: parametrizations.weight_norm(nn.Linear(4, 4)),
    "spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 4)),
    "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(4, 4)),
    "pruned": pruned,
    "nested": lambda: nn.Sequential(Keeper(weight_norm(nn.Linear(4, 4))), nn.Dropout(0.0)),
    "in a wrapper": lambda: nn.DataParallel(Keeper(weight_norm(nn.Linear(4, 4)))),
    "a recurrent layer": lambda: Last(weight_norm),
    "a recurrent layer, spectral": lambda: Last(spectral_norm),
    "lazy, before its first forward": lambda: nn.Sequential(nn.LazyLinear(4), weight_norm(nn.Linear(4, 4))),
}


@pytest.mark.parametrize("trained", [False, True], ids=["before a forward", "after an update"])
@pytest.mark.parametrize("make", FORMS.values(), ids=list(FORMS))
def test_a_copy_answers_as_the_model_does_and_leaves_it_alone(make: Callable[[], nn.Module], trained: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model, rows = make(), torch.randn(3, 4)
        if trained:
            model(rows).sum().backward()
            torch.optim.SGD(model.parameters(), lr=0.1).step()
            model(rows)
        torch.manual_seed(1)
        twin = copies.duplicate(torch, model)
        torch.manual_seed(1)
        expected = copies.duplicate(torch, model).eval()(rows)
        torch.manual_seed(1)
        assert torch.equal(twin.eval()(rows), expected)
        if trained:
            before = {name: each.clone() for name, each in model.state_dict().items()}
            twin.train()(rows).sum().backward()
            torch.optim.SGD(twin.parameters(), lr=1.0).step()
            after = model.state_dict()
            assert all(torch.equal(value, after[name]) for name, value in before.items())
            assert torch.equal(model.eval()(rows), expected)


def test_what_the_script_copies_meanwhile_is_refused_as_ever() -> None:
    class Curious:
        def __deepcopy__(self, _: Any) -> str:
            with pytest.raises(RuntimeError, match="deepcopy"):
                copy.deepcopy(torch.ones(1, requires_grad=True) * 2)
            return "asked"

    assert copies.duplicate(torch, [Curious()]) == ["asked"]
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(torch.ones(1, requires_grad=True) * 2)


def test_instruments_copy_models_in_one_way_only() -> None:
    root = Path(copies.__file__).parent
    plain = {
        path.name
        for folder in (root, root.parent / "checkup")
        for path in folder.rglob("*.py")
        if "copy.deepcopy(" in path.read_text()
    }
    assert plain == {"copies.py", "round_trip.py"}  # the latter copies numbers and words that a constructor got
