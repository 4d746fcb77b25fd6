from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import BranchKind, Kind
from torch_doctor_rules.loss.log_softmax_before_cross_entropy import LogSoftmaxBeforeCrossEntropy
from torch_doctor_rules.loss.softmax_before_cross_entropy import SoftmaxBeforeCrossEntropy

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

    from .conftest import Script

SOFTMAX = "F.softmax(x)"
BOTH = pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (SoftmaxBeforeCrossEntropy, Kind.PROBABILITIES),
        (LogSoftmaxBeforeCrossEntropy, Kind.LOG_PROBABILITIES),
    ],
)


@BOTH
@pytest.mark.parametrize("loss", ["torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"])
def test_what_the_loss_does_itself_is_reported_where_it_is_done_before(
    script: Script, rule: type[Rule], kind: Kind, loss: str
) -> None:
    model = script.model()
    for _ in script.loop():
        script.loss(script.forward(model), kind=kind, operation_at=script.at(SOFTMAX), loss=loss)
    assert script.found(rule) == [SOFTMAX]
    [finding] = script.findings(rule)
    notes = [step.note for step in finding.trail]
    assert "softmax is applied here" in notes[0]
    assert notes[1:] == [
        "`model` is created here",
        "`model` is called here",
        f"its output reaches {loss.rpartition('.')[2]} here",
    ]


@BOTH
def test_scores_are_right(script: Script, rule: type[Rule], kind: Kind) -> None:
    others = [
        other for other in (Kind.LOGITS, Kind.UNKNOWN, Kind.PROBABILITIES, Kind.LOG_PROBABILITIES) if other is not kind
    ]
    for other in others:
        script.loss(script.forward(script.model()), kind=other, operation_at=script.at(SOFTMAX))
    assert script.found(rule) == []


@BOTH
def test_other_losses_are_right(script: Script, rule: type[Rule], kind: Kind) -> None:
    out = script.forward(script.model())
    for loss in ("torch.nn.NLLLoss", "torch.nn.BCELoss", "torch.nn.BCEWithLogitsLoss", "FocalLoss"):
        script.loss(out, kind=kind, operation_at=script.at(SOFTMAX), loss=loss)
    assert script.found(rule) == []


@BOTH
def test_a_softmax_behind_a_flag_is_right(script: Script, rule: type[Rule], kind: Kind) -> None:
    out = script.forward(script.model())
    flag = script.decision(BranchKind.FLAG)
    with script.when(flag):
        script.loss(out, kind=kind, operation_at=script.at(SOFTMAX))
    with script.when(flag, arm=False):
        script.loss(out, kind=Kind.LOGITS)
    assert script.found(rule) == []


@BOTH
def test_the_distance_of_two_distributions_is_right(script: Script, rule: type[Rule], kind: Kind) -> None:
    script.loss(kind=kind, operation_at=script.at(SOFTMAX), graph=False)
    assert script.found(rule) == []


@BOTH
def test_where_it_was_made_must_be_known(script: Script, rule: type[Rule], kind: Kind) -> None:
    script.loss(script.forward(script.model()), kind=kind)
    assert script.found(rule) == []
