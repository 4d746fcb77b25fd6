from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import BranchKind
from torch_doctor_rules.evaluation.train_mode_not_restored import TrainModeNotRestored

if TYPE_CHECKING:
    from .conftest import Script

SWITCH = ["model.eval()"]


def train(script: Script, model: int, *, training: bool | None, text: str = "model(x)") -> None:
    for _ in script.loop():
        script.backward(of=[script.forward(model, text, training=training)])


def test_an_epoch_after_validation_in_evaluation_mode(script: Script) -> None:
    model = script.model()
    for epoch in script.loop("for epoch in range(2)"):
        train(script, model, training=epoch == 1)
        script.mode(model)
    assert script.found(TrainModeNotRestored) == SWITCH


def test_validation_in_mid_epoch(script: Script) -> None:
    model = script.model()
    for batch in script.loop():
        script.backward(of=[script.forward(model, training=True if batch == 1 else None)])
        with script.when(script.decision(BranchKind.PERIODIC)):
            script.mode(model)
    assert script.found(TrainModeNotRestored) == SWITCH


def test_validation_at_the_top_of_the_epoch(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        script.mode(model)
        script.forward(model, "model(v)", training=False, grad=False)
        train(script, model, training=False)
    assert script.found(TrainModeNotRestored) == SWITCH


def test_a_mode_that_is_restored_is_right(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        script.mode(model, "model.train()")
        train(script, model, training=True)
        script.mode(model)
    assert script.found(TrainModeNotRestored) == []


def test_a_mode_that_may_be_restored_is_silent(script: Script) -> None:
    model = script.model()
    for epoch in script.loop("for epoch in range(2)"):
        with script.when(script.decision()):
            script.mode(model, "model.train()")
        train(script, model, training=True if epoch == 1 else None)
        script.mode(model)
    assert script.found(TrainModeNotRestored) == []


def test_who_gets_the_model_may_restore_it(script: Script) -> None:
    model = script.model()
    for epoch in script.loop("for epoch in range(2)"):
        train(script, model, training=epoch == 1)
        script.mode(model)
        script.escaped(to="evaluate", modules=[model])
    assert script.found(TrainModeNotRestored) == []


def test_training_in_evaluation_mode_from_the_start_is_on_purpose(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        script.mode(model)
        train(script, model, training=False)
    assert script.found(TrainModeNotRestored) == []


def test_frozen_parts_and_teachers_stay_in_evaluation_mode(script: Script) -> None:
    backbone, teacher = script.model("backbone"), script.model("teacher")
    model = script.model(parts=[backbone])
    for _ in script.loop("for epoch in range(2)"):
        for _ in script.loop():
            target = script.forward(teacher, "teacher(x)", training=False, grad=False)
            script.backward(of=[script.forward(model)], through_detach=[target])
        script.mode(backbone, "model.backbone.eval()", whole=False)
        script.mode(teacher, "teacher.eval()")
    assert script.found(TrainModeNotRestored) == []


def test_a_model_that_does_not_care_is_silent(script: Script) -> None:
    model = script.model()
    for epoch in script.loop("for epoch in range(2)"):
        script.backward(of=[script.forward(model, training=epoch == 1, sensitive=False)])
        script.mode(model)
    assert script.found(TrainModeNotRestored) == []


def test_evaluation_after_the_loop_is_right(script: Script) -> None:
    model = script.model()
    train(script, model, training=True)
    script.mode(model)
    script.forward(model, "model(v)", training=False, grad=False)
    assert script.found(TrainModeNotRestored) == []


def test_a_train_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    for epoch in script.loop("for epoch in range(2)"):
        script.not_called("model.train", "module", model)
        train(script, model, training=epoch == 1)
        script.mode(model)
    assert script.found(TrainModeNotRestored) == []
