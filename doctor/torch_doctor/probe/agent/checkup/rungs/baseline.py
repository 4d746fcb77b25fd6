"""Is the loss at first that of guessing, does the input matter, and does training beat a constant answer?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..batches import changed
from ..roles import constant, roles, scale_of
from ..stage import Skip
from ..telling import fact, line, number, plot, result
from ..versus import Versus, versus

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..roles import Roles
    from ..stage import Stage

FAR, FURTHER = 3.0, 3.0
"""A loss is too high from so many times, and so much more than, what guessing gives."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """The loss before the first update, what a constant answer would give, the loss on zeroed inputs, and the score after training.

    Fails if the first loss is not finite or far above guessing, or as `Versus` says. Training is cut short here, so a model that
    is no better than a constant answer yet is shown with both scores and without a verdict.
    """
    known = yield from roles(stage)
    losses = stage.first.losses
    if not losses:
        raise Skip("`backward()` was never called on a loss")
    first = next((each for each in losses if not math.isfinite(each)), losses[-1])  # the last is what `known.score` is
    evidence = [fact("initial loss", first)]
    guess, said = _guess(stage, known)
    best, scale = constant(known), scale_of(stage, known)
    if scale > 1:
        evidence.append(fact("forward passes averaged over", scale))
        first *= scale
    if guess is not None:
        evidence.append(fact("loss of random guessing", guess, expected=said))
    if best is not None:
        evidence.append(fact("loss of the best constant prediction for this batch", best))
    zeroed = yield from _zeroed(stage, known)
    if zeroed is not None:
        evidence += [
            fact("loss on the batch", zeroed[0], group="inputs"),
            fact(
                "loss on zeroed inputs",
                zeroed[1],
                group="inputs",
                expected="different from the loss on the batch, once trained",
            ),
        ]
    bars = [("initial", first)]
    bars += [("random guessing", guess)] if guess is not None else []
    bars += [("best constant", best)] if best is not None else []
    bars += [("zeroed inputs", zeroed[1])] if zeroed is not None else []
    plots = [
        plot(
            "Loss compared with uninformed predictions",
            "bars",
            "; ".join(f"{name}: {number(value)}" for name, value in bars),
            y_label="loss",
            names=[name for name, _ in bars],
            series=[line("loss", [value for _, value in bars])],
        )
    ]
    found = _judged(
        first,
        guess,
        said,
        evidence,
        plots,
        other=_other(scale, known),
        made_up=bool(stage.voided & {"values", "weights"}),
    )
    trained = yield from versus(stage, known)
    if isinstance(trained, str) or not trained.told:
        why = trained if isinstance(trained, str) else ""
        return {**found, "reason": f"{found['reason']}{'; ' * bool(why)}{why}"}
    return _with(found, trained, known)


def _with(found: dict[str, Any], trained: Versus, known: Roles) -> dict[str, Any]:
    """The result with what comes of training; a loss that cannot be compared with guessing is judged by that alone."""
    found["evidence"] += trained.evidence
    found["plots"] += trained.plots
    found["reason"] += f"; {trained.told}"
    if found["status"] == "failed":
        return found
    if trained.status == "failed":
        then = "see overfit-one-batch for whether the model can learn, and learning-rate for the size of the steps"
        return {**found, "status": "failed", "next": then, "about": ("does not fall",)}
    undecided = found["status"] == "shown" and known.task != "numbers"
    return {**found, "status": "shown" if undecided else trained.status}


def _judged(
    first: float,
    guess: float | None,
    said: str,
    evidence: list[dict[str, Any]],
    plots: list[dict[str, Any]],
    *,
    other: str,
    made_up: bool,
) -> dict[str, Any]:
    told = f"the initial loss is {number(first)}"
    if not math.isfinite(first):
        then = "see non-finite for where the first such value appears"
        return result("failed", told, evidence, plots, then=then, about=("not finite",))
    if guess is None:
        return result(
            "shown", f"{told}; the loss of random guessing is unknown for this loss function", evidence, plots
        )
    told += f"; random guessing gives {number(guess)} ({said})"
    if other:
        return result("shown", f"{told}, but {other}", evidence, plots)
    if first > FAR * guess and first > guess + FURTHER:
        if made_up:
            return result(
                "shown", f"{told}, but data or weights are synthetic, so this is not conclusive", evidence, plots
            )
        then = (
            "check the scale of the inputs and the initialization of the last layer: the outputs "
            "are far too large; then check that the labels match these outputs"
        )
        return result(
            "failed",
            f"{told}: the model is confident in wrong predictions",
            evidence,
            plots,
            then=then,
            about=("too high",),
        )
    if first < guess / FAR and not made_up:
        return result(
            "shown", f"{told}: the model is already trained, or its input contains the targets", evidence, plots
        )
    return result("shown" if made_up else "passed", told, evidence, plots)


def _other(scale: int, known: Roles) -> str:
    """Why the loss is not to be compared with a guess; empty where it is."""
    if not scale:
        return "the loss has additional terms or a different scale"
    return "" if known.plain else "outputs are transformed before the loss, or the model receives the targets"


def _guess(stage: Stage, known: Roles) -> tuple[float | None, str]:
    """The loss of equal probabilities, or of zeros' distance from targets as they vary."""
    if known.task == "classes" and known.classes > 1:
        return math.log(known.classes), f"ln {known.classes}"
    if known.task == "binary":
        return math.log(2), "ln 2"
    return None, ""


def _zeroed(stage: Stage, known: Roles) -> Generator[Play, Seen, tuple[float, float] | None]:
    if stage.batch is None or not known.inputs or set(known.inputs) & set(known.targets):
        return None
    if stage.left < 2 * known.seen.seconds:  # two steps: the rungs behind this one want their time, too
        return None
    torch = stage.torch
    floating = {path for path, leaf in known.parts if path in known.inputs and leaf.is_floating_point()}
    if not floating:
        return None
    zeros = changed(stage.batch, lambda path, leaf: torch.zeros_like(leaf) if path in floating else leaf)
    one = yield from stage.play(frozen=True, evaluate=True)
    stage.restore()
    other = yield from stage.play(zeros, frozen=True, evaluate=True)
    stage.restore()
    return None if one.loss is None or other.loss is None else (one.loss, other.loss)
