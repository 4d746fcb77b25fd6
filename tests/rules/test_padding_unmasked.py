from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import PaddingRead
from torch_doctor_rules.data.padding_unmasked import PaddingUnmasked

if TYPE_CHECKING:
    from .conftest import Script

CALL = "model(words)"


def read(script: Script, *, reads: bool = True, by: str = "LSTM") -> PaddingRead:
    """A model gets padded sequences."""
    return script.add(
        PaddingRead,
        CALL,
        name="model",
        reads=reads,
        by=by,
        read_at=script.at(f"self.layer(x)  # {by}"),
        padded_at=script.at("pad_sequence(words)"),
    )


def test_the_trail_leads_from_where_it_is_padded_to_the_layer_that_reads_it(script: Script) -> None:
    event = read(script)
    [finding] = script.findings(PaddingUnmasked)
    assert [step.site for step in finding.trail] == [event.padded_at, event.read_at]


def test_attention_wants_a_mask_and_a_recurrent_layer_lengths(script: Script) -> None:
    read(script, by="MultiheadAttention")
    [finding] = script.findings(PaddingUnmasked)
    assert "key_padding_mask" in finding.help


def test_padding_that_changes_nothing_is_right(script: Script) -> None:
    read(script, reads=False)
    assert script.found(PaddingUnmasked) == []
