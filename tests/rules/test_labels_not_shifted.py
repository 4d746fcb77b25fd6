from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import TokensCompared
from torch_doctor_rules.loss.labels_not_shifted import LabelsNotShifted

if TYPE_CHECKING:
    from .conftest import Script

LOSS = "criterion(scores, ids)"


def compared(script: Script, ahead: int) -> TokensCompared:
    """A loss looks so many places ahead."""
    return script.add(
        TokensCompared,
        LOSS,
        name="criterion",
        target="ids",
        ahead=ahead,
        model="model",
        given_at=script.at("scores = model(ids)"),
    )


def test_a_place_that_is_compared_with_itself_is_reported_with_where_the_model_got_it(script: Script) -> None:
    event = compared(script, 0)
    [finding] = script.findings(LabelsNotShifted)
    assert "copy" in finding.message
    assert [step.site for step in finding.trail] == [event.given_at]


def test_labels_that_are_shifted_twice_have_a_message_of_their_own(script: Script) -> None:
    compared(script, 2)
    [finding] = script.findings(LabelsNotShifted)
    assert "twice" in finding.message


def test_the_next_token_is_right(script: Script) -> None:
    compared(script, 1)
    assert script.found(LabelsNotShifted) == []
