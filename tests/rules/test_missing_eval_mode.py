from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, scan
from torch_doctor.trace import Source, TensorFact
from torch_doctor_rules.evaluation.missing_eval_mode import MissingEvalMode

if TYPE_CHECKING:
    from .conftest import Script

VALIDATION = ["model(v)"]
SWITCHES_BACK = Path(__file__).parents[2] / "fixtures" / "TDR401" / "bad_forward_switches_back.py"


def train(script: Script, model: int) -> None:
    for _ in script.loop():
        script.backward(of=[script.forward(model)])


def test_validation_after_training(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        train(script, model)
        for _ in script.loop("for v, w in val_loader"):
            script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == VALIDATION


def test_only_the_first_forward_of_a_pass_is_reported(script: Script) -> None:
    encoder, decoder = script.model("encoder"), script.model("decoder")
    for _ in script.loop():
        script.backward(of=[script.forward(encoder, "encoder(x)"), script.forward(decoder, "decoder(h)")])
    for _ in script.loop("for v, w in val_loader"):
        script.forward(encoder, "encoder(v)", grad=False)
        for _ in script.loop("for t in range(10)"):
            script.forward(decoder, "decoder(h)", grad=False)
    assert script.found(MissingEvalMode) == ["encoder(v)"]


def test_train_where_eval_is_meant(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.mode(model, "model.train()")
    for _ in script.loop("for v, w in val_loader"):
        script.loss(script.forward(model, "model(v)", grad=False))
    assert script.found(MissingEvalMode) == VALIDATION


def test_inference_with_loaded_weights(script: Script) -> None:
    model = script.model()
    script.load(model)
    for _ in script.loop("for v in test_loader"):
        script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == VALIDATION


def test_a_whole_split_at_once(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.forward(model, "model(v)", grad=False, inputs=Source.DATA)
    assert script.found(MissingEvalMode) == VALIDATION


def test_a_whole_split_in_the_epoch_that_trains_on_another(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        script.backward(of=[script.forward(model, inputs=Source.DATA)])
        script.forward(model, "model(v)", inputs=Source.DATA)
    assert script.found(MissingEvalMode) == VALIDATION


def test_the_phase_that_does_not_train(script: Script) -> None:
    model = script.model()
    for phase in script.loop("for phase in phases", plain=True):
        for _ in script.loop():
            out = script.forward(model)
            if phase == 1:
                script.backward(of=[out])
    assert script.found(MissingEvalMode) == ["model(x)"]


def test_synthetic_data_that_comes_from_elsewhere(script: Script) -> None:
    model = script.model()
    train(script, model)
    noise = TensorFact(source=Source.NOISE, operation_at=script.at("data = torch.randn(100, 4)"))
    script.forward(model, "model(v)", grad=False, inputs=noise)
    assert script.found(MissingEvalMode) == VALIDATION


@pytest.mark.parametrize("facts", [{"sensitive": False}, {"sensitive": None}, {"training": False}, {"training": None}])
def test_a_mode_that_does_not_matter_or_is_not_known_is_silent(script: Script, facts: dict[str, bool | None]) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in val_loader"):
        script.forward(
            model, "model(v)", grad=False, sensitive=facts.get("sensitive", True), training=facts.get("training", True)
        )
    assert script.found(MissingEvalMode) == []


def test_a_model_that_nobody_trains_is_silent(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for v, w in val_loader"):
        script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == []


def test_what_goes_into_a_training_loss_is_training(script: Script) -> None:
    student, teacher = script.model("student"), script.model("teacher")
    script.load(teacher)
    for _ in script.loop():
        target = script.forward(teacher, "teacher(x)", grad=False)
        script.backward(of=[script.forward(student)], through_detach=[target])
    assert script.found(MissingEvalMode) == []


def test_what_goes_out_of_sight_may_go_backward(script: Script) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in other_loader"):
        script.escaped(to="finish", forwards=[script.forward(model, "model(v)")])
    assert script.found(MissingEvalMode) == []


def test_the_last_pass_of_a_shifted_loop_is_training(script: Script) -> None:
    model = script.model()
    out = script.forward(model)
    for _ in script.loop():
        script.backward(of=[out])
        out = script.forward(model)
    assert script.found(MissingEvalMode) == []


def test_monte_carlo_dropout_is_on_purpose(script: Script) -> None:
    dropout = script.model("dropout")
    model = script.model(parts=[dropout])
    train(script, model)
    script.mode(model)
    script.mode(dropout, "m.train()", whole=False)
    for _ in script.loop("for v, w in val_loader"):
        script.loss(script.forward(model, "model(v)", grad=False))
    assert script.found(MissingEvalMode) == []


def test_recalibrating_batch_norm_is_on_purpose(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.mode(model, "model.train()")
    for _ in script.loop("for v, w in train_loader"):
        script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == []


def test_smoke_forwards_are_silent(script: Script) -> None:
    model = script.model()
    train(script, model)
    on_the_spot = TensorFact(source=Source.NOISE, operation_at=script.at("model(v)"))
    script.forward(model, "model(v)", grad=False, inputs=on_the_spot)
    assert script.found(MissingEvalMode) == []


def test_a_generator_that_is_trained_on_noise_may_be_sampled(script: Script) -> None:
    model = script.model()
    noise = TensorFact(source=Source.NOISE, operation_at=script.at("noise = torch.randn(64, 100)"))
    for _ in script.loop():
        script.backward(of=[script.forward(model, "generator(noise)", inputs=noise)])
        script.forward(model, "generator(fixed)", grad=False, inputs=noise)
    assert script.found(MissingEvalMode) == []


def test_a_first_look_before_training_is_silent(script: Script) -> None:
    model = script.model()
    script.forward(model, "model(v)", grad=False)
    train(script, model)
    assert script.found(MissingEvalMode) == []


def test_a_second_forward_in_a_training_step_is_silent(script: Script) -> None:
    model = script.model()
    for _ in script.loop():
        script.backward(of=[script.forward(model)])
        script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == []


def test_an_eval_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.not_called("model.eval", "module", model)
    for _ in script.loop("for v, w in val_loader"):
        script.forward(model, "model(v)", grad=False)
    assert script.found(MissingEvalMode) == []


def test_the_trail_leads_to_the_pass_that_switches_back() -> None:
    [finding] = scan(Options(paths=(SWITCHES_BACK,), rules=(MissingEvalMode(),))).findings
    lines = SWITCHES_BACK.read_text(encoding="utf-8").splitlines()
    notes = {step.note: lines[step.site.row - 1].strip() for step in finding.trail}
    assert notes["its own forward pass switches it back to training mode here"] == "self.train()"
    assert not any("stays in it" in note for note in notes)
    assert finding.help == "remove `self.train()`, and let the caller set the mode"
