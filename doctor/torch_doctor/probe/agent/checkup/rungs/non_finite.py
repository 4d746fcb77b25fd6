"""Where the first value is made that is not finite, and what was there before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..gradients import gradients
from ..telling import count, fact, number, result
from ..triage import Search, bad_gradients, first_of, is_spoilt, not_finite, updated

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..gradients import Told
    from ..plays import Play, Seen
    from ..stage import Stage

LEFT = 0.5
"""Seconds without which no further step begins."""
LARGE = 1e4
"""A weight beyond which training has diverged before values are not finite."""
CAUSES = "its inputs: a division, a logarithm, an exponential, or a learning rate that is too high"
STEPS = 20
"""Steps that are made at least, where there is time."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Makes some steps until a loss, gradient or parameter is not finite, goes back to the step before, and looks at each stage."""
    search = Search(stage)
    stage.begin_anew()
    before = _spoilt_parameters(stage)
    step, bad = 0, False
    most = max(STEPS + 1, len(search.batches))
    known: Seen | None = None
    while not bad and step < most and (stage.left > LEFT or not step):
        known = yield from stage.play(search.batch(step), keep=True)
        bad = _wrong(stage, known, before)
        step += 1
    if not bad:
        return _finite(stage, search, step, known)
    if before and step == 1 and not is_spoilt(search.batch(0)):
        return _initial(before[0])
    told = gradients(stage)
    stage.catcher.norms.rung = ""  # what follows repeats steps
    stage.restore()
    stage.begin_anew()
    for place in range(step - 1):
        yield from stage.play(search.batch(place))
    statistics = _statistics(stage)
    kept = stage.kept()
    seen = yield from stage.play(search.batch(step - 1), details=True, keep=True)
    again, late = _wrong(stage, seen, before), [each for each in _spoilt_parameters(stage) if each not in before]
    kept.restore()  # what the update made of the weights is not what the model ran with
    if not again:
        return result("shown", f"a value is not finite in step {step}, but not when the step is repeated", statistics)
    return _judged(
        told, first_of(stage, search, step - 1, seen) or updated("".join(late[:1])), (step - 1, seen), statistics
    )


def _finite(stage: Stage, search: Search, steps: int, last: Seen | None) -> dict[str, Any]:
    """Nothing was found: what the numbers were."""
    told = gradients(stage)
    evidence = [
        fact("steps checked", steps),
        fact("last loss", None if last is None else last.loss),
        fact("batches with values that are not finite", search.spoilt, expected="0"),
        *told.evidence,
    ]
    said = f"batch, activations, loss, gradients and parameters stay finite for {count(steps, 'step')}"
    if search.spoilt:
        said = f"{count(search.spoilt, 'batch', 'batches')} contain{'s' * (search.spoilt == 1)} values that are not finite, "
        said += f"but outputs, loss, gradients and parameters stay finite for {count(steps, 'step')}"
    elsewhere = stage.catcher.norms.broken()
    if elsewhere:
        said += f"; a gradient was not finite in {elsewhere}, which did not happen again here"
    said = "; ".join(filter(None, [said, told.words]))
    return result("shown" if elsewhere else "passed", said, evidence, told.plots)


def _spoilt_parameters(stage: Stage) -> list[str]:
    """The trainable parameters that are not finite."""
    model = stage.model
    named = model.named_parameters() if model is not None else ()
    own = [(name, each) for name, each in named if each.requires_grad and not _lazy(stage, each)]
    return [f"`{name}`" for name, each in own if not_finite(each)]


def _initial(parameter: str) -> dict[str, Any]:
    said = f"the parameter {parameter} is not finite before the first step: it is the first such value"
    evidence = [fact("stage", "parameter"), fact("preceding steps", 0)]
    return result("failed", said, evidence, then="check how the parameter is initialized", about=("not finite",))


def _lazy(stage: Stage, parameter: Any) -> bool:
    return bool(stage.torch.nn.parameter.is_lazy(parameter))


def _wrong(stage: Stage, seen: Seen, before: list[str]) -> bool:
    """Whether a loss, a gradient, or a parameter that was finite `before` is not."""
    if any(not math.isfinite(each) for each in seen.losses) or bad_gradients(seen):
        return True
    return stage.catcher.norms.spoilt(seen) or any(each not in before for each in _spoilt_parameters(stage))


def _statistics(stage: Stage) -> list[dict[str, Any]]:
    """Parameters as they are before the step."""
    model = stage.model
    found = []
    for name, each in list(model.named_parameters())[:40] if model is not None else ():
        largest = float(each.detach().abs().max()) if each.numel() else 0.0
        found.append(fact(name, largest, group="largest weight before the step"))
    return found


def _judged(
    told: Told,
    first: tuple[str, list[dict[str, Any]], str],
    at: tuple[int, Seen],
    before: list[dict[str, Any]],
) -> dict[str, Any]:
    (said, evidence, place), (step, seen) = first, at
    of_the_data = ("stage", "batch") in {(each["label"], each["value"]) for each in evidence}
    when = "" if of_the_data else "in the first step " if step == 0 else f"in step {step + 1} "
    evidence = [
        fact("preceding steps", step),
        *evidence,
        *([fact("place", place)] if place else []),
        *[fact("loss", each, group="losses of the step") for each in seen.losses],
        *before,
        *told.evidence,
    ]
    weights = [each["value"] for each in before]
    then = f"check {place or CAUSES}"
    about: tuple[str, ...] = ("not finite",)
    if of_the_data:
        about = ("data not finite",)
        then = "remove or replace such values where the data is prepared"
    elif step and weights and max(weights) > LARGE:
        about = ("not finite", "steps too large")
        then += f", the scale of the inputs and the learning rate: a weight had grown to {number(max(weights))}"
    reason = "; ".join(filter(None, [f"{said} {when}is the first non-finite value", told.words]))
    return result("failed", reason, evidence, told.plots, then=then, about=about)
