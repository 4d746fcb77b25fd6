"""Which parts of a batch the model is given, and which are what its outputs are compared with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from ..watching.loss.losses import TARGETS, WITHOUT_TARGET
from .batches import is_dense, is_made_of, leaves

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Call, Play, Seen
    from .stage import Stage

CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
TASKS = {**dict.fromkeys(CLASSES, "classes"), **dict.fromkeys(BINARY, "binary"), **dict.fromkeys(DISTANCES, "numbers")}
"""What the losses are for, by the names of their functions."""


class Roles:
    """Of the step as the script does it: the loss call, the names of inputs and of targets in a batch, and their tensors.

    `compared` are the targets that the loss was seen to compare outputs with; `targets` may also be those that are named so.
    `plain`: the loss compares what a model answered as it is, and the model is not told the targets.
    `task` is "classes", "binary", "numbers" or "" where nobody can tell; `classes` how many there are.
    """

    def __init__(self, stage: Stage, seen: Seen) -> None:
        self.seen = seen
        self.score = main_score(seen)
        self.task = TASKS.get(self.score.called, "") if self.score is not None else ""
        self.outputs: Any = None
        self.target: Any = None
        if self.score is not None:
            self.outputs, self.target = sides(self.score)
        self.classes = 0
        if self.task == "classes" and self.outputs is not None:
            self.classes = int(self.outputs.shape[1 if self.outputs.dim() > 1 else 0])
        self.plain = any(_is_view(self.outputs, each) for call in seen.models for each in tensors(call.result))
        given = [each for call in seen.models for each in tensors((call.given, call.keywords))]
        known = leaves(stage.batch) if stage.batch is not None else []
        self.parts = known
        self.inputs = [path for path, leaf in known if any(is_made_of(each, leaf) for each in given)]
        self.targets = (
            [path for path, leaf in known if is_made_of(self.target, leaf)] if self.target is not None else []
        )
        self.compared = list(self.targets)
        if not self.targets:
            self.targets = [path for path, _ in known if path not in self.inputs and _named_as_target(path)]
        if stage.batch is None:
            self.parts = [(f"input[{place}]" if place else "input", each) for place, each in enumerate(given)]
            self.inputs = [path for path, _ in self.parts]
            if self.target is not None:
                self.parts.append(("target", self.target))
                self.targets = ["target"]
        if any(is_made_of(self.target, each) for each in given):
            self.plain = False
        if stage.batch is not None and not self.inputs:
            rest = [(path, leaf) for path, leaf in known if path not in self.targets and leaf.is_floating_point()]
            self.inputs = [max(rest, key=lambda pair: pair[1].numel())[0]] if rest else []


def roles(stage: Stage) -> Generator[Play, Seen, Roles]:
    """The roles, for which the step is repeated once without an effect."""
    known = stage.notes.get("roles")
    if known is None:
        seen = yield from stage.play(frozen=True, keep=True)
        known = stage.notes["roles"] = Roles(stage, seen)
        stage.restore()
    found: Roles = known
    return found


def main_score(seen: Seen) -> Call | None:
    """The loss that compares outputs with targets: the last one whose value is in what went backward, or the last."""
    usual = [call for call in seen.scores if call.called in TASKS]
    found = usual or seen.scores
    return found[-1] if found else None


def sides(score: Call) -> tuple[Any, Any]:
    """The outputs and the targets that a loss compares."""
    place = TARGETS.get(score.called, 1)
    first = score.given[0] if score.given else score.keywords.get("input")
    if score.called in WITHOUT_TARGET:
        return first, None
    given = score.given[place] if place < len(score.given) else None
    return first, score.keywords.get("target", given)


def constant(known: Roles) -> float | None:
    """The loss of the constant that is best for the targets of the batch, in the measure of the loss."""
    target = known.target
    if target is None or not target.numel() or target.is_complex():
        return None
    values = target.detach().double()
    if known.task == "classes" and not target.is_floating_point():
        own = target[(target >= 0) & (target < known.classes)]
        shares = own.reshape(-1).long().bincount().double()
        shares = shares[shares > 0] / max(1.0, float(shares.sum()))
        return float(-(shares * shares.log()).sum())
    if known.task == "binary":
        share = float(values.mean())
        return 0.0 if share in (0.0, 1.0) else -(share * math.log(share) + (1 - share) * math.log(1 - share))
    if known.task == "numbers":
        columns = values.reshape(values.shape[0], -1) if values.dim() > 1 else values.reshape(-1, 1)
        if known.score is not None and known.score.called == "mse_loss":
            return float(columns.var(0, unbiased=False).mean())
        if known.score is not None and known.score.called == "l1_loss":
            return float((columns - columns.median(0).values).abs().mean())
    return None


def scale_of(stage: Stage, known: Roles) -> int:
    """By how much what goes backward is smaller than the mean of the loss that was recognised; 0 where it is something else.

    That is the number of passes where gradients are accumulated, and 1 else.
    """
    score, loss = known.score, known.seen.losses[-1] if known.seen.losses else None
    if score is None or loss is None or not hasattr(score.result, "numel") or score.result.numel() != 1:
        return 0
    value = float(score.result.detach())
    if score.keywords.get("reduction", "mean") != "mean" or score.keywords.get("weight") is not None:
        return 0
    passes = max(stage.passes, len(known.seen.losses))  # a trainer makes several backward passes in one of its loop
    scales = (each for each in (1, passes) if math.isclose(value, loss * each, rel_tol=1e-3, abs_tol=1e-6))
    return next(scales, 0)


def _is_view(tensor: Any, result: Any) -> bool:
    """Whether a tensor is a result or a part of it in whatever form, as `squeeze`, `view` and `transpose` give it."""
    if tensor is result or not hasattr(tensor, "untyped_storage") or not hasattr(result, "untyped_storage"):
        return tensor is result
    if not is_dense(tensor) or not is_dense(result):
        return False
    return is_made_of(tensor, result) or bool(
        tensor.numel() and tensor.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
    )


def _named_as_target(path: str) -> bool:
    return any(word in path.lower() for word in ("label", "target", "[1]"))
