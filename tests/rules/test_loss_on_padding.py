from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import PaddedTargets
from torch_doctor_rules.loss.loss_on_padding import LossOnPadding

if TYPE_CHECKING:
    from torch_doctor.trace import Tri

    from .conftest import Script

LOSS = "criterion(scores, tags)"


def padded(script: Script, *, counted: Tri, fill: str = "0", text: str = LOSS) -> PaddedTargets:
    """A loss gets targets with padding in them."""
    return script.add(
        PaddedTargets,
        text,
        name="criterion",
        target="tags",
        counted=counted,
        padded_at=script.at("pad_sequence(tags)"),
        fill=fill,
        settings_at=script.at("nn.CrossEntropyLoss()"),
    )


def test_padding_that_counts_is_reported_with_where_it_is_filled_in(script: Script) -> None:
    padded(script, counted=True)
    [finding] = script.findings(LossOnPadding)
    assert [step.site for step in finding.trail] == [script.at("pad_sequence(tags)")]


def test_the_fix_ignores_what_is_filled_in_where_the_loss_is_built(script: Script) -> None:
    padded(script, counted=True, fill="3")
    [finding] = script.findings(LossOnPadding)
    [edit] = finding.edits
    assert (edit.site, edit.name, edit.value) == (script.at("nn.CrossEntropyLoss()"), "ignore_index", "3")  # type: ignore[union-attr]


def test_a_number_that_the_source_does_not_give_is_not_filled_into_a_fix(script: Script) -> None:
    padded(script, counted=True, fill="")
    [finding] = script.findings(LossOnPadding)
    assert not finding.edits


def test_the_labels_of_a_model_with_a_loss_of_its_own_are_to_be_changed(script: Script) -> None:
    script.add(PaddedTargets, "model(words)", name="model", target="labels", counted=True, within=True)
    [finding] = script.findings(LossOnPadding)
    assert "-100" in finding.help
    assert not finding.edits


def test_labels_that_one_place_pads_have_one_cause_in_training_and_evaluation(script: Script) -> None:
    at = script.at("tokenizer(texts, padding=True)")
    for text in ("model(words)", "model(valid_words)"):
        script.add(PaddedTargets, text, name="model", target="labels", counted=True, within=True, padded_at=at)
    assert len({finding.cause for finding in script.findings(LossOnPadding)}) == 1


def test_a_loss_that_nothing_learns_from_is_a_score(script: Script) -> None:
    script.add(PaddedTargets, "model(words)", name="model", target="labels", counted=True, trains=False)
    [finding] = script.findings(LossOnPadding)
    assert "distorts the score" in finding.message


def test_padding_that_is_left_out_or_may_be_is_right(script: Script) -> None:
    padded(script, counted=False)
    padded(script, counted=None, text="criterion(scores, labels)")
    assert script.found(LossOnPadding) == []


def test_one_loss_in_training_and_evaluation_has_one_cause(script: Script) -> None:
    padded(script, counted=True)
    padded(script, counted=True, text="criterion(scores, valid_tags)")
    assert len({finding.cause for finding in script.findings(LossOnPadding)}) == 1
