from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import Retention
from torch_doctor_rules.graph.graph_kept_in_container import GraphKeptInContainer
from torch_doctor_rules.graph.loss_accumulated_with_graph import LossAccumulatedWithGraph

if TYPE_CHECKING:
    from torch_doctor.rule import Rule
    from torch_doctor.trace import Retained

    from .conftest import Script

ALL = pytest.mark.parametrize(
    ("rule", "how"),
    [
        (LossAccumulatedWithGraph, Retention.ACCUMULATED),
        (GraphKeptInContainer, Retention.APPENDED),
        (GraphKeptInContainer, Retention.STORED),
        (GraphKeptInContainer, Retention.CONCATENATED),
    ],
)


def train(script: Script, how: Retention, header: str = "for x, y in loader", **facts: Any) -> list[Retained]:
    """A training loop that keeps something of every batch."""
    model = script.model()
    kept: list[Retained] = []
    retain = facts.pop("retain_graph", False)
    for _ in script.loop(header):
        out = script.forward(model)
        script.backward(of=[out], retain_graph=retain)
        kept.append(script.keep(how=how, of=[out], carries=tuple(kept), **facts))
    return kept


@ALL
def test_every_batch_adds_a_graph(script: Script, rule: type[Rule], how: Retention) -> None:
    train(script, how)
    assert script.found(rule) == ["total += loss"]


@ALL
def test_a_loop_over_epochs_that_trains_counts_as_batches(script: Script, rule: type[Rule], how: Retention) -> None:
    train(script, how, "for epoch in range(100)")
    assert script.found(rule) == ["total += loss"]


@ALL
def test_evaluation_with_graphs(script: Script, rule: type[Rule], how: Retention) -> None:
    model = script.model()
    kept: list[Retained] = []
    for _ in script.loop("for v, w in val_loader"):
        kept.append(script.keep(how=how, of=[script.forward(model)], carries=tuple(kept)))
    assert script.found(rule) == ["total += loss"]


@ALL
def test_what_is_returned_is_only_a_leftover_when_its_graph_is_spent(
    function: Script, rule: type[Rule], how: Retention
) -> None:
    kept = train(function, how)
    function.escaped(to="the caller", retained=kept, returned=True)
    assert function.found(rule) == ["total += loss"]


@ALL
def test_what_is_returned_may_go_backward(function: Script, rule: type[Rule], how: Retention) -> None:
    kept = train(function, how, retain_graph=True)
    function.escaped(to="the caller", retained=kept, returned=True)
    assert function.found(rule) == []


@ALL
def test_what_goes_out_of_sight_may_go_backward(script: Script, rule: type[Rule], how: Retention) -> None:
    model = script.model()
    kept: list[Retained] = []
    for _ in script.loop():
        kept.append(script.keep(how=how, of=[script.forward(model)], carries=tuple(kept)))
    script.escaped(to="optimize", retained=kept)
    assert script.found(rule) == []


@ALL
def test_what_goes_backward_itself_is_right(script: Script, rule: type[Rule], how: Retention) -> None:
    model = script.model()
    kept: list[Retained] = []
    for _ in script.loop():
        kept.append(script.keep(how=how, of=[script.forward(model)], carries=tuple(kept)))
    script.backward(model, retained=kept)
    assert script.found(rule) == []


@ALL
@pytest.mark.parametrize("facts", [{"graph": False}, {"graph": None}, {"bounded": True}])
def test_numbers_and_bounded_holders_are_right(
    script: Script, rule: type[Rule], how: Retention, facts: dict[str, Any]
) -> None:
    train(script, how, **facts)
    assert script.found(rule) == []


@ALL
def test_what_is_emptied_for_every_batch_is_right(script: Script, rule: type[Rule], how: Retention) -> None:
    model = script.model()
    for _ in script.loop():
        out = script.forward(model)
        first = script.keep("losses.append(a)", how=how, of=[out])
        script.keep("losses.append(b)", how=how, of=[out], carries=[first])
    assert script.found(rule) == []


@ALL
def test_a_loop_over_time_steps_is_right(script: Script, rule: type[Rule], how: Retention) -> None:
    model = script.model()
    for _ in script.loop():
        kept: list[Retained] = []
        for _ in script.loop("for t in range(10)"):
            kept.append(script.keep(how=how, of=[script.forward(model)], carries=tuple(kept)))
    assert script.found(rule) == []


@ALL
def test_layers_inside_a_forward_are_right(script: Script, rule: type[Rule], how: Retention) -> None:
    kept: list[Retained] = []
    for _ in script.loop("for layer in self.layers"):
        kept.append(script.keep(how=how, carries=tuple(kept)))
    assert script.found(rule) == []


def test_a_sum_on_an_object_may_go_backward_in_another_method(function: Script) -> None:
    model = function.model()
    kept: list[Retained] = []
    for _ in function.loop():
        kept.append(function.keep(of=[function.forward(model)], carries=tuple(kept), holder="self.total"))
    assert function.found(LossAccumulatedWithGraph) == []


def test_a_sum_that_is_logged_somewhere_is_still_a_leftover(script: Script) -> None:
    kept = train(script, Retention.ACCUMULATED)
    script.escaped(to="log", retained=kept)
    assert script.found(LossAccumulatedWithGraph) == ["total += loss"]


def test_a_list_that_is_handed_on_may_be_emptied(script: Script) -> None:
    kept = train(script, Retention.APPENDED)
    script.escaped(to="flush", retained=kept)
    assert script.found(GraphKeptInContainer) == []


def test_recurrent_state_is_another_bug(script: Script) -> None:
    model = script.model()
    kept: list[Retained] = []
    for _ in script.loop():
        out = script.forward(model)
        script.backward(of=[out])
        state = script.keep("self.hidden = h", how=Retention.STORED, of=[out], carries=tuple(kept), inside=tuple(kept))
        kept = [state]
    assert script.found(GraphKeptInContainer) == []
