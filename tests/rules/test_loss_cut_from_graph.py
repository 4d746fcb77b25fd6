from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from msgspec.structs import replace

from torch_doctor.trace import GraphCut, Kind, LeafMade, TensorFact
from torch_doctor_rules.update.loss_cut_from_graph import LossCutFromGraph

if TYPE_CHECKING:
    from torch_doctor.trace import Backward, Forward, Tri

    from .conftest import Script

LEAF = 77


class Rebuilt(NamedTuple):
    forward: Forward
    cut: GraphCut
    made: LeafMade
    backward: Backward


def cut_graph(script: Script, of: Forward, how: str, kind: Kind = Kind.LOSS) -> GraphCut:
    indices = frozenset((of.index,))
    value = TensorFact(kind=kind, graph=True, forwards=indices, graph_forwards=indices)
    return script.add(GraphCut, f"cut by {how}", how=how, value=value)


def rebuilt(script: Script, how: str = "detach", kind: Kind = Kind.LOSS, *, leaf: Tri = True) -> Rebuilt:
    """A loss without a history goes backward."""
    forward = script.forward(script.model())
    cut = cut_graph(script, forward, how, kind)
    value = TensorFact(cuts=frozenset((cut.index,)))
    made = script.add(LeafMade, "loss = torch.tensor(...)", leaf=LEAF, value=value)
    backward = script.backward(through_detach=[forward])
    loss = replace(backward.loss, leaf=leaf)
    backward = script.trace.replace(backward, modules=frozenset((LEAF,)), loss=loss)
    return Rebuilt(forward, cut, made, backward)


def test_a_loss_that_is_a_new_tensor_is_reported_where_its_graph_ended(script: Script) -> None:
    found = rebuilt(script)
    [finding] = script.findings(LossCutFromGraph)
    assert finding.site == found.cut.site
    assert finding.message == "`detach` cuts `loss` off from the model: `backward()` reaches no parameter"
    assert finding.trail[-1].site == found.backward.site


def test_of_numbers_the_fault_is_where_they_become_a_tensor(script: Script) -> None:
    found = rebuilt(script, "item")
    [finding] = script.findings(LossCutFromGraph)
    assert finding.site == found.made.site


@pytest.mark.parametrize(("how", "reported"), [("argmax", 1), (">", 1), ("detach", 0), ("numpy", 0)])
def test_a_loss_of_new_tensors_is_wrong_where_these_are_decisions(script: Script, how: str, reported: int) -> None:
    rebuilt(script, how, Kind.UNKNOWN, leaf=False)
    assert len(script.findings(LossCutFromGraph)) == reported


def test_what_goes_backward_by_itself_too_is_right(script: Script) -> None:
    found = rebuilt(script)
    script.backward(of=[found.forward])
    assert script.found(LossCutFromGraph) == []


def test_a_loss_that_reaches_other_parameters_is_right(script: Script) -> None:
    found = rebuilt(script)
    script.trace.replace(found.backward, modules=found.backward.modules | {script.model("head")})
    assert script.found(LossCutFromGraph) == []


def test_a_loss_without_a_graph_raises(script: Script) -> None:
    forward = script.forward(script.model())
    cut = cut_graph(script, forward, "argmax", Kind.LOGITS)
    backward = script.backward(through_detach=[forward], whole=False)
    script.trace.replace(backward, loss=replace(backward.loss, graph=False, cuts=frozenset((cut.index,))))
    [finding] = script.findings(LossCutFromGraph)
    assert finding.message == "`argmax` cuts `loss` off from the model: `backward()` raises an error"
    script.trace.replace(forward, trainable=None)
    assert script.found(LossCutFromGraph) == []
