from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import GaveUp
from torch_doctor_rules.update.missing_backward import MissingBackward

if TYPE_CHECKING:
    from .conftest import Script

NOTHING_TO_APPLY = ["optimizer.step()"]


def test_a_loss_that_never_goes_backward(function: Script) -> None:
    model = function.model()
    optimizer = function.optimizer(model)
    for _ in function.loop():
        function.loss(function.forward(model))
        function.step(optimizer)
    assert function.found(MissingBackward) == NOTHING_TO_APPLY


def test_a_loss_by_hand_is_known_by_the_clearing(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.zero_grad(optimizer)
        script.forward(model)
        script.step(optimizer)
    assert script.found(MissingBackward) == NOTHING_TO_APPLY


def test_the_backward_of_another_model_does_not_help(script: Script) -> None:
    generator, critic = script.model("generator"), script.model("critic")
    g_optimizer, d_optimizer = script.optimizer(generator), script.optimizer(critic)
    for _ in script.loop():
        fake = script.forward(generator)
        script.backward(of=[script.forward(critic)], through_detach=[fake])
        script.step(d_optimizer, "d_optimizer.step()")
        script.loss(fake)
        script.step(g_optimizer, "g_optimizer.step()")
    assert script.found(MissingBackward) == ["g_optimizer.step()"]


def test_gradients_that_are_only_returned_do_not_help(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        out = script.forward(model)
        script.loss(out)
        script.backward(of=[out], through="autograd.grad")
        script.step(optimizer)
    assert script.found(MissingBackward) == NOTHING_TO_APPLY


def test_a_schedule_that_is_only_plotted_is_right(script: Script) -> None:
    optimizer = script.optimizer(script.model())
    for _ in script.loop("for epoch in range(100)"):
        script.step(optimizer)
    assert script.found(MissingBackward) == []


def test_any_backward_of_the_model_is_enough(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        out = script.forward(model)
        script.loss(out)
        with script.when(script.decision()):
            script.backward(of=[out])
        script.step(optimizer)
    assert script.found(MissingBackward) == []


def test_who_gets_the_output_may_go_backward(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        out = script.forward(model)
        script.loss(out)
        script.escaped(to="backprop", forwards=[out])
        script.step(optimizer)
    assert script.found(MissingBackward) == []


def test_gradients_by_hand_may_be_set(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.loss(script.forward(model))
        script.add(
            type(script.zero_grad(optimizer)),
            "p.grad = g",
            target=0,
            name="p.grad",
            modules=frozenset([model]),
            whole=True,
        )
        script.step(optimizer)
    assert script.found(MissingBackward) == []


def test_closures_go_backward_themselves(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.loss(script.forward(model))
        script.backward(model)
        script.step(optimizer, closure=True)
    assert script.found(MissingBackward) == []


def test_a_closure_in_sight_that_never_goes_backward_is_none(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.loss(script.forward(model))
        script.step(optimizer, closure=True)
    assert script.found(MissingBackward) == ["optimizer.step()"]


def test_where_the_witness_stopped_anything_may_follow(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.loss(script.forward(model))
        script.step(optimizer)
    script.add(GaveUp, "...", reason="budget")
    assert script.found(MissingBackward) == []


def test_a_backward_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.loss(script.forward(model))
        script.not_called("loss.backward", "tensor")
        script.step(optimizer)
    assert script.found(MissingBackward) == []
