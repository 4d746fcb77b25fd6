from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor_rules.update.grad_cleared_before_step import GradClearedBeforeStep

if TYPE_CHECKING:
    from .conftest import Script

CLEARED = ["optimizer.zero_grad()"]


def test_clearing_between_backward_and_step(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.zero_grad(optimizer)
        script.step(optimizer)
    [finding] = script.findings(GradClearedBeforeStep)
    assert finding.message == "gradients of `loss` are cleared before `optimizer.step()`, so nothing is applied"
    assert script.found(GradClearedBeforeStep) == CLEARED


def test_clearing_after_every_micro_batch(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        for _ in script.loop("for chunk in range(4)"):
            script.backward(model)
            script.zero_grad(optimizer)
        script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == CLEARED


def test_clearing_behind_the_guard_of_the_step(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        with script.when(script.decision()):
            script.zero_grad(optimizer)
            script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == CLEARED


def test_an_optimizer_of_unknown_parameters(function: Script) -> None:
    model = function.model()
    optimizer = function.optimizer(known=False)
    for _ in function.loop():
        function.backward(model)
        function.zero_grad(optimizer)
        function.step(optimizer)
    assert function.found(GradClearedBeforeStep) == CLEARED


def test_the_usual_orders_are_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for a in first"):
        script.zero_grad(optimizer)
        script.backward(model)
        script.step(optimizer)
    for _ in script.loop("for b in second"):
        script.backward(model)
        script.step(optimizer)
        script.zero_grad(optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_another_optimizer_may_be_cleared_in_between(script: Script) -> None:
    generator, critic = script.model("generator"), script.model("critic")
    g_optimizer, d_optimizer = script.optimizer(generator), script.optimizer(critic)
    for _ in script.loop():
        script.zero_grad(d_optimizer, "d_optimizer.zero_grad()")
        script.backward(critic, text="d_loss.backward()")
        script.zero_grad(g_optimizer, "g_optimizer.zero_grad()")
        script.step(d_optimizer)
        script.backward(generator, critic, text="g_loss.backward()")
        script.step(g_optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_another_backward_may_come_in_between(script: Script) -> None:
    actor, critic = script.model("actor"), script.model("critic")
    actor_optimizer, critic_optimizer = script.optimizer(actor), script.optimizer(critic)
    for _ in script.loop():
        script.backward(actor, critic, text="actor_loss.backward()")
        script.zero_grad(critic_optimizer)
        script.backward(critic, text="critic_loss.backward()")
        script.step(actor_optimizer)
        script.step(critic_optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_gradients_may_be_assigned_in_between(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.zero_grad(optimizer)
        script.backward(model, text="p.grad = surgery", through="assigned")
        script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_a_batch_that_is_skipped_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        bad = script.decision()
        with script.when(bad):
            script.zero_grad(optimizer)
        with script.when(bad, arm=False):
            script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_a_clear_that_need_not_come_with_the_step_is_silent(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        with script.when(script.decision()):
            script.zero_grad(optimizer)
        script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_what_goes_out_of_sight_may_be_filled_again(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        out = script.forward(model)
        script.backward(model, of=[out])
        script.zero_grad(optimizer)
        script.escaped(to="second_order", forwards=[out])
        script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == []


def test_a_shifted_loop_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    script.backward(model)
    for _ in script.loop():
        script.step(optimizer)
        script.zero_grad(optimizer)
        script.backward(model)
    script.step(optimizer)
    assert script.found(GradClearedBeforeStep) == []
