"""Where the first value is made that is not finite, and what was there before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...instruments.births import born_in_forward
from ...instruments.copies import copied
from ...instruments.parts import tensors
from ..batches import broken, leaves
from ..telling import count, fact, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

STEPS = 20


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Makes some steps until a loss or a parameter is not finite, goes back to the step before, and looks at each stage."""
    stage.begin_anew()
    known = yield from stage.play(details=True, keep=True)
    step = 0
    bad = _wrong(stage, known)
    while not bad and step < STEPS and stage.left > 0.5:
        step += 1
        known = yield from stage.play(details=step == STEPS, keep=True)
        bad = _wrong(stage, known)
    if not bad:
        made = count(step + 1, "step")
        evidence = [fact("steps checked", step + 1), fact("last loss", known.loss)]
        return result("passed", f"batch, activations, loss, gradients and parameters stay finite for {made}", evidence)
    stage.restore()
    stage.begin_anew()
    for _ in range(step):
        yield from stage.play()
    before = _statistics(stage)
    kept = stage.kept()
    seen = yield from stage.play(details=True, keep=True)
    kept.restore()  # what the update made of the weights is not what the model ran with
    return _judged(stage, step, seen, before)


def _wrong(stage: Stage, seen: Seen) -> bool:
    if any(not math.isfinite(each) for each in seen.losses) or _bad_gradients(seen):
        return True
    model = stage.model
    return model is not None and any(_bad(each) for each in model.parameters())


def _bad_gradients(seen: Seen) -> list[str]:
    return [
        name for name, (gradient, _, _) in seen.layers.items() if gradient is not None and not math.isfinite(gradient)
    ]


def _bad(tensor: Any) -> bool:
    if not tensor.is_floating_point() or tensor.is_sparse or not tensor.numel():
        return False
    return not math.isfinite(float(tensor.detach().float().sum())) and not bool(tensor.detach().isfinite().all())


def _statistics(stage: Stage) -> list[dict[str, Any]]:
    """Parameters as they are before the step."""
    model = stage.model
    found = []
    for name, each in list(model.named_parameters())[:40] if model is not None else ():
        largest = float(each.detach().abs().max()) if each.numel() else 0.0
        found.append(fact(name, largest, group="largest weight before the step"))
    return found


def _judged(stage: Stage, step: int, seen: Seen, before: list[dict[str, Any]]) -> dict[str, Any]:
    said, evidence, place = _first(stage, seen)
    when = "in the first step" if step == 0 else f"in step {step + 1}"
    evidence = [
        fact("preceding steps", step),
        *evidence,
        *([fact("place", place)] if place else []),
        *[fact("loss", each, group="losses of the step") for each in seen.losses],
        *before,
    ]
    then = (
        f"check {place}"
        if place
        else "check its inputs: a division, a logarithm, an exponential, or a learning rate that is too high"
    )
    return result("failed", f"{said} {when} is the first non-finite value", evidence, then=then, about=("not finite",))


def _first(stage: Stage, seen: Seen) -> tuple[str, list[dict[str, Any]], str]:
    """The first stage with such a value: batch, parameter, activation, loss, gradient."""
    for path, leaf in leaves(stage.batch) if stage.batch is not None else ():
        if broken(leaf):
            return f"`{path}` of the batch", [fact("stage", "batch")], ""
    for call in seen.models:
        if any(map(broken, tensors((call.given, call.keywords)))):
            return "the input of the model", [fact("stage", "batch")], ""
        layer = _layer(stage, call)
        if layer is not None:
            name, facts = layer
            kind = (
                "nan" if any(each.isnan().any() for each in tensors(call.result) if each.is_floating_point()) else "inf"
            )
            born = born_in_forward(stage.watch, call.called, call.given, call.keywords, kind)
            return (
                f"the output of `{name}`",
                [fact("stage", "activation"), fact("layer", name), *facts],
                _place(stage, born.site),
            )
    for score in seen.scores:
        if _any_bad(score.result):
            given = [
                each for each in tensors((score.given, score.keywords)) if each.is_floating_point() and each.numel()
            ]
            facts = [fact("largest input of the loss", float(each.detach().abs().max())) for each in given]
            return f"`{score.called}`", [fact("stage", "loss"), *facts], ""
    if any(not math.isfinite(each) for each in seen.losses):
        return "the loss", [fact("stage", "loss")], ""
    names = _bad_gradients(seen)
    if names:
        return (
            f"the gradient of `{names[-1]}`",
            [fact("stage", "gradient"), fact("layers with a non-finite gradient", len(names))],
            "",
        )
    return "a parameter after the optimizer step", [fact("stage", "parameter")], ""


def _born(output: Any, given: Any) -> bool:
    """Whether an output has values that are not finite and do not come from what was given, as negative infinity of a mask does."""
    if any(map(broken, tensors(given))):
        return False
    masked = _any_bad(given)
    return any(_bad(each.nan_to_num(nan=math.nan, posinf=math.inf) if masked else each) for each in tensors(output))


def _any_bad(value: Any) -> bool:
    return any(_bad(each) for each in tensors(value))


def _layer(stage: Stage, call: Any) -> tuple[str, list[dict[str, Any]]] | None:
    """The first part of a model whose output is not finite although what it is given is, with what that was."""
    if not _any_bad(call.result):
        return None
    found: list[tuple[str, list[dict[str, Any]]]] = []
    torch = stage.torch
    with torch.no_grad():
        own = copied(stage.watch, call.called)

        def look(name: str, given: Any, output: Any) -> None:
            if not found and _born(output, given):
                numbers = [
                    each.detach().float() for each in tensors(given) if each.is_floating_point() and each.numel()
                ]
                facts = [
                    fact(label, float(value), group=f"input of {name}")
                    for each in numbers[:1]
                    for label, value in (("least", each.min()), ("largest", each.max()), ("mean", each.mean()))
                ]
                found.append((name, facts))

        for name, part in own.named_modules():
            if name and not list(part.children()):
                part.register_forward_hook(lambda _, given, output, name=name: look(name, given, output))
        own(*call.given, **call.keywords)
    return found[0] if found else (type(call.called).__name__, [])


def _place(stage: Stage, site: int | None) -> str:
    if site is None:
        return ""
    span = stage.recorder.span(site)
    return f"{span.path}:{span.row}"
