from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import GaveUp, Source
from torch_doctor_rules.evaluation.missing_no_grad import MissingNoGrad

if TYPE_CHECKING:
    from .conftest import Script

VALIDATION = ["model(v)"]


def train(script: Script, model: int) -> None:
    for _ in script.loop():
        script.backward(of=[script.forward(model)])


def test_validation_that_records_graphs(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        train(script, model)
        for _ in script.loop("for v, w in val_loader"):
            script.forward(model, "model(v)", training=False)
    assert script.found(MissingNoGrad) == VALIDATION


def test_one_caller_without_no_grad_is_enough(script: Script) -> None:
    model = script.model()
    train(script, model)
    for grad, line in ((False, "evaluate(val)"), (True, "evaluate(test)")):
        with script.call(line):
            for _ in script.loop("for v, w in loader"):
                script.forward(model, "model(v)", grad=grad)
    assert script.found(MissingNoGrad) == VALIDATION


def test_a_whole_split_in_evaluation_mode(script: Script) -> None:
    model = script.model()
    for _ in script.loop("for epoch in range(2)"):
        script.mode(model, "model.train()")
        script.backward(of=[script.forward(model, inputs=Source.DATA)])
        script.mode(model)
        script.forward(model, "model(v)", training=False, inputs=Source.DATA)
    assert script.found(MissingNoGrad) == VALIDATION


def test_an_accuracy_after_the_update(script: Script) -> None:
    model = script.model()
    for _ in script.loop():
        script.backward(of=[script.forward(model)])
        script.forward(model, "model(v)")
    assert script.found(MissingNoGrad) == VALIDATION


@pytest.mark.parametrize(("grad", "trainable"), [(False, True), (None, True), (True, False)])
def test_without_a_sure_graph_it_is_silent(script: Script, *, grad: bool | None, trainable: bool) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in val_loader"):
        script.forward(model, "model(v)", grad=grad, trainable=trainable)
    assert script.found(MissingNoGrad) == []


def test_gradients_of_inputs_are_a_use_of_the_graph(script: Script) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in val_loader"):
        script.backward(of=[script.forward(model, "model(v)")], inputs_only=True)
    assert script.found(MissingNoGrad) == []


def test_a_backward_behind_a_flag_is_a_use_of_the_graph(script: Script) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in other_loader"):
        out = script.forward(model, "model(v)")
        with script.when(script.decision()):
            script.backward(of=[out])
    assert script.found(MissingNoGrad) == []


def test_teachers_are_used_by_the_loss(script: Script) -> None:
    student, teacher = script.model("student"), script.model("teacher")
    script.load(teacher)
    for _ in script.loop():
        target = script.forward(teacher, "teacher(x)")
        script.backward(of=[script.forward(student)], through_detach=[target])
    assert script.found(MissingNoGrad) == []


def test_smoke_forwards_are_silent(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.forward(model, "model(torch.randn(1, 4))", inputs=Source.NOISE)
    script.forward(model, "model(v)", inputs=Source.LOADER)
    script.forward(model, "model(w)", inputs=Source.UNKNOWN)
    assert script.found(MissingNoGrad) == []


def test_a_whole_split_without_evaluation_mode_is_silent(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.forward(model, "model(v)", inputs=Source.DATA)
    assert script.found(MissingNoGrad) == []


def test_what_the_caller_gets_may_go_backward(function: Script) -> None:
    model = function.model()
    function.load(model)
    outs = [function.forward(model, "model(v)") for _ in function.loop("for v in loader")]
    function.escaped(to="the caller", forwards=outs, outputs=outs, returned=True)
    assert function.found(MissingNoGrad) == []


def test_numbers_that_the_caller_gets_have_no_graph(function: Script) -> None:
    model = function.model()
    function.load(model)
    outs = [function.forward(model, "model(v)") for _ in function.loop("for v in loader")]
    function.escaped(to="the caller", forwards=outs, returned=True)
    assert function.found(MissingNoGrad) == ["model(v)"]


def test_a_loss_that_may_use_it_unseen_is_silent(script: Script) -> None:
    model, head = script.model(), script.model("head")
    script.load(model)
    for _ in script.loop():
        script.forward(model, "model(v)")  # a hook takes its features
        script.backward(head, model, of=[script.forward(head, "head(x)")])
    assert script.found(MissingNoGrad) == []


def test_where_the_witness_stopped_it_is_silent(script: Script) -> None:
    model = script.model()
    train(script, model)
    for _ in script.loop("for v, w in val_loader"):
        script.forward(model, "model(v)")
        script.add(GaveUp, "...", reason="too deep")
    assert script.found(MissingNoGrad) == []


def test_a_context_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    train(script, model)
    script.not_called("torch.no_grad", "torch")
    for _ in script.loop("for v, w in val_loader"):
        script.forward(model, "model(v)")
    assert script.found(MissingNoGrad) == []
