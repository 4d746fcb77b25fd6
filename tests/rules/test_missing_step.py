from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ZeroGrad
from torch_doctor_rules.update.missing_step import MissingStep

if TYPE_CHECKING:
    from .conftest import Script

IN_VAIN = ["loss.backward()"]


def test_an_optimizer_that_never_steps(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model, name="adam")
    for _ in script.loop():
        script.zero_grad(optimizer)
        script.backward(model)
    assert script.found(MissingStep) == IN_VAIN
    assert script.findings(MissingStep)[0].message == "`adam` never steps, so the gradients of `loss` are not applied"


def test_one_of_two_optimizers_that_never_steps(script: Script) -> None:
    encoder, decoder = script.model("encoder"), script.model("decoder")
    first = script.optimizer(encoder)
    script.optimizer(decoder)
    for _ in script.loop():
        script.backward(encoder, decoder)
        script.step(first)
    assert script.found(MissingStep) == IN_VAIN


def test_an_optimizer_of_a_part(script: Script) -> None:
    head = script.model("head")
    model = script.model(parts=[head])
    script.optimizer(head)
    for _ in script.loop():
        script.backward(model)
    assert script.found(MissingStep) == IN_VAIN


def test_a_step_anywhere_is_enough(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        with script.when(script.decision()):
            script.step(optimizer)
    assert script.found(MissingStep) == []


def test_updates_by_hand_are_steps(script: Script) -> None:
    model = script.model()
    script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.step_by_hand(model)
    assert script.found(MissingStep) == []


def test_who_gets_the_optimizer_may_step_it(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.escaped(to="Trainer", optimizers=[optimizer])
    assert script.found(MissingStep) == []


def test_who_got_the_optimizer_before_the_passes_does_not_step_it_in_them(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    script.escaped(to="Logger", optimizers=[optimizer])
    for _ in script.loop():
        script.backward(model)
    assert script.found(MissingStep) == ["loss.backward()"]


def test_a_thread_that_got_the_optimizer_before_the_passes_may_step_it_in_them(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    script.escaped(to="Thread", optimizers=[optimizer], stays=True)
    for _ in script.loop():
        script.backward(model)
    assert script.found(MissingStep) == []


def test_a_step_of_unknown_parameters_may_be_it(script: Script) -> None:
    model = script.model()
    script.optimizer(model)
    other = script.optimizer(known=False)
    for _ in script.loop():
        script.backward(model)
        script.step(other)
    assert script.found(MissingStep) == []


def test_outside_a_loop_nothing_is_trained(script: Script) -> None:
    model = script.model()
    script.optimizer(model)
    script.backward(model)
    assert script.found(MissingStep) == []


def test_an_attribute_may_be_stepped_by_unseen_callers(function: Script) -> None:
    model = function.model()
    function.optimizer(model, name="self.optimizer")
    for _ in function.loop():
        function.backward(model)
    assert function.found(MissingStep) == []


def test_a_local_optimizer_is_nobody_elses(function: Script) -> None:
    model = function.model()
    function.optimizer(model, name="optimizer")
    for _ in function.loop():
        function.backward(model)
    assert function.found(MissingStep) == IN_VAIN


def test_gradients_of_inputs_need_no_step(script: Script) -> None:
    model = script.model()
    script.optimizer(model)
    for _ in script.loop():
        script.backward(model, inputs_only=True)
    assert script.found(MissingStep) == []


def test_a_step_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.not_called("optimizer.step", "optimizer", optimizer)
    assert script.found(MissingStep) == []


def test_an_optimizer_out_of_sight_may_wrap_it(script: Script) -> None:
    model = script.model()
    script.optimizer(model)
    for _ in script.loop():
        script.add(ZeroGrad, "larc.zero_grad()", target=0, name="larc", modules=frozenset(), whole=False)
        script.backward(model)
    assert script.found(MissingStep) == []
