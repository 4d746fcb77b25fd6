from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import BranchKind, GaveUp
from torch_doctor_rules.update.missing_zero_grad import MissingZeroGrad

if TYPE_CHECKING:
    from .conftest import Script

NEVER_CLEARED = ["loss.backward()"]


def test_a_loop_that_never_clears_is_reported_once(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for epoch in range(2)"):
        for _ in script.loop():
            script.backward(model)
            script.step(optimizer)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_clearing_once_per_epoch_is_not_enough(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for epoch in range(2)"):
        script.zero_grad(optimizer)
        for _ in script.loop():
            script.backward(model)
            script.step(optimizer)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_clearing_another_model_is_not_enough(script: Script) -> None:
    encoder, decoder = script.model("encoder"), script.model("decoder")
    first, second = script.optimizer(encoder), script.optimizer(decoder)
    for _ in script.loop():
        script.zero_grad(second)
        script.backward(encoder, decoder)
        script.step(first)
        script.step(second)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_accumulation_that_is_never_cleared(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        with script.when(script.decision(BranchKind.PERIODIC)):
            script.step(optimizer)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_updates_by_hand_count_as_steps(script: Script) -> None:
    weights = script.model("w")
    for _ in script.loop():
        script.backward(weights)
        script.step_by_hand(weights)
    [finding] = script.findings(MissingZeroGrad)
    assert finding.help == "set the gradients to None after every update"


def test_gradients_of_an_input_that_is_updated_add_up(script: Script) -> None:
    delta = script.model("delta")
    for _ in script.loop("for _ in range(steps)"):
        script.backward(delta, inputs_only=True)
        script.step_by_hand(delta, text="delta += alpha * delta.grad.sign()")
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_a_gan_without_clearing_the_discriminator_is_reported_at_its_own_loss(script: Script) -> None:
    generator, discriminator = script.model("generator"), script.model("discriminator")
    g_optimizer, d_optimizer = script.optimizer(generator), script.optimizer(discriminator)
    for _ in script.loop():
        script.backward(discriminator, text="d_loss.backward()")
        script.step(d_optimizer)
        script.zero_grad(g_optimizer)
        script.backward(generator, discriminator, text="g_loss.backward()")
        script.step(g_optimizer)
    assert script.found(MissingZeroGrad) == ["d_loss.backward()"]


def test_an_optimizer_that_is_a_parameter_belongs_to_what_trains(function: Script) -> None:
    model = function.model()
    optimizer = function.optimizer(known=False)
    for _ in function.loop():
        function.backward(model)
        function.step(optimizer)
    assert function.found(MissingZeroGrad) == NEVER_CLEARED


def test_a_loss_out_of_sight_belongs_to_the_only_optimizer(script: Script) -> None:
    optimizer = script.optimizer(script.model())
    for _ in script.loop():
        script.backward(whole=False)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_clearing_rarely_handed_models_does_not_excuse(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.step(optimizer)
        with script.when(script.decision(BranchKind.PERIODIC)):
            script.escaped(to="validate", modules=[model])
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_clearing_before_or_after_the_step_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for a in first"):
        script.zero_grad(optimizer)
        script.backward(model)
        script.step(optimizer)
    for _ in script.loop("for b in second"):
        script.backward(model)
        script.step(optimizer)
        script.zero_grad(model, "model.zero_grad()")
    assert script.found(MissingZeroGrad) == []


def test_a_clear_that_is_only_possible_is_silent(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.step(optimizer)
        with script.when(script.decision()):
            script.zero_grad(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_a_clear_on_the_other_path_does_not_excuse(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        diverged = script.decision()
        with script.when(diverged):
            script.zero_grad(optimizer)
        with script.when(diverged, arm=False):
            script.step(optimizer)
    assert script.found(MissingZeroGrad) == NEVER_CLEARED


def test_accumulation_that_steps_and_clears_together_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        with script.when(script.decision(BranchKind.PERIODIC)):
            script.step(optimizer)
            script.zero_grad(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_several_chunks_for_one_step_are_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for epoch in range(2)"):
        script.zero_grad(optimizer)
        for _ in script.loop("for chunk in chunks"):
            script.backward(model)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_clearing_the_parts_one_by_one_is_right(script: Script) -> None:
    encoder, decoder = script.model("encoder"), script.model("decoder")
    model = script.model(parts=(encoder, decoder))
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.zero_grad(encoder, "encoder.zero_grad()")
        script.zero_grad(decoder, "decoder.zero_grad()")
        script.backward(model)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_what_goes_out_of_sight_may_be_cleared(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for a in first"):
        script.backward(model)
        script.escaped(to="train_op", optimizers=[optimizer])
        script.step(optimizer)
    for _ in script.loop("for b in second"):
        script.backward(model, text="second.backward()")
        script.step(optimizer)
        script.add(GaveUp, "...", reason="too deep")
    assert script.found(MissingZeroGrad) == []


def test_without_any_step_nothing_is_wrong(script: Script) -> None:
    model = script.model()
    for _ in script.loop():
        script.backward(model)
    assert script.found(MissingZeroGrad) == []


def test_gradients_that_are_not_in_grad_do_not_add_up(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop("for a in first"):
        script.backward(model, through="autograd.grad")
        script.step(optimizer)
    for _ in script.loop("for b in second"):
        script.backward(model, context=True)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_a_step_that_clears_too_is_right(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.backward(model)
        script.step(optimizer, clears=True)
    assert script.found(MissingZeroGrad) == []


def test_a_model_per_fold_starts_without_gradients(script: Script) -> None:
    for _ in script.loop("for fold in folds"):
        model = script.model()
        optimizer = script.optimizer(model)
        script.backward(model)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_a_zero_grad_that_was_never_called_explains_it(script: Script) -> None:
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        script.not_called("optimizer.zero_grad", "optimizer", optimizer)
        script.backward(model)
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []


def test_clearing_the_model_clears_parts_that_were_found_later(script: Script) -> None:
    model, late = script.model(), script.model("late")
    optimizer = script.optimizer(model, late)
    for _ in script.loop():
        script.zero_grad(model, "model.zero_grad()")
        script.backward(late, of=[script.forward(model)])
        script.step(optimizer)
    assert script.found(MissingZeroGrad) == []
