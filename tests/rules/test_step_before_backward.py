from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor_rules.update.step_before_backward import StepBeforeBackward

if TYPE_CHECKING:
    from .conftest import Script

TOO_EARLY = ["optimizer.step()"]


def test_a_step_between_clearing_and_backward(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.zero_grad(optimizer)
        script.step(optimizer)
        script.backward(model)
    assert script.found(StepBeforeBackward) == TOO_EARLY


def test_a_first_step_without_any_gradients(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.step(optimizer)
        script.zero_grad(optimizer)
        script.backward(model)
    assert script.found(StepBeforeBackward) == TOO_EARLY


def test_clearing_at_the_end_of_the_iteration_before(function: Script) -> None:
    model = function.model()
    optimizer = function.optimizer(model)
    for _ in function.loop():
        function.step(optimizer)
        function.backward(model)
        function.zero_grad(optimizer)
    assert function.found(StepBeforeBackward) == TOO_EARLY


def test_a_loop_shifted_by_one_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    script.backward(model)
    for _ in script.loop():
        script.step(optimizer)
        script.zero_grad(optimizer)
        script.backward(model)
    assert script.found(StepBeforeBackward) == []


def test_the_callers_of_a_function_may_have_gone_backward(function: Script) -> None:
    model = function.model()
    optimizer = function.optimizer(model)
    for _ in function.loop():
        function.step(optimizer)
        function.zero_grad(optimizer)
        function.backward(model)
    assert function.found(StepBeforeBackward) == []


def test_the_usual_order_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.zero_grad(optimizer)
        script.backward(model)
        script.step(optimizer)
    assert script.found(StepBeforeBackward) == []


def test_where_gradients_are_cleared_before_the_step_that_is_reported(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.zero_grad(optimizer)
        script.step(optimizer)
    assert script.found(StepBeforeBackward) == []


def test_a_step_at_the_top_behind_a_condition_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        with script.when(script.decision()):
            script.step(optimizer)
            script.zero_grad(optimizer)
        script.backward(model)
    assert script.found(StepBeforeBackward) == []


def test_a_backward_out_of_sight_may_come_first(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.escaped(to="compute_gradients", modules=[model])
        script.step(optimizer)
        script.backward(model)
    assert script.found(StepBeforeBackward) == []


def test_closures_run_before_their_step(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.step(optimizer, closure=True)
        script.backward(model)
    assert script.found(StepBeforeBackward) == []
