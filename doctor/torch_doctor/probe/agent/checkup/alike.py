"""Samples of a batch that have equal inputs and different targets: what they leave of a loss, and of an accuracy."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from .batches import is_dense
from .plays import MOST

if TYPE_CHECKING:
    from .roles import Roles

LARGEST = 10_000_000  # values of distributions that are compared


class Alike:
    """The groups of samples that a model cannot tell apart, as far as their targets differ.

    `inputs` is their number, `loss` what they add to the lowest mean loss that is possible (the Jensen-Shannon divergence of
    the labels of a group; for numbers their distance from the best constant), and `lost` how many labels cannot be right.
    """

    def __init__(self, known: Roles) -> None:
        self.inputs, self.loss, self.lost = 0, 0.0, 0
        target = known.target
        for rows in _groups(known):
            loss, lost = _contradiction(known, target[rows].detach())
            if loss > 0:
                self.inputs += 1
                self.loss += loss * len(rows) / target.shape[0]
                self.lost += lost


def _groups(known: Roles) -> list[list[int]]:
    """The places of samples with equal inputs; none where the model is given anything that is not one tensor row a sample."""
    target, calls = known.target, known.seen.models
    if not known.plain or target is None or not target.dim() or not is_dense(target) or not 0 < len(calls) < MOST:
        return []
    given = [each for call in calls for each in tensors((call.given, call.keywords))]
    if not given or any(not each.dim() or each.shape[0] != target.shape[0] or not is_dense(each) for each in given):
        return []
    if any(not _is_plain(each) for call in calls for each in (*call.given, *call.keywords.values())):
        return []
    found: dict[bytes, list[int]] = defaultdict(list)
    flat = [each.detach().reshape(each.shape[0], -1).double().cpu() for each in given if not each.is_complex()]
    for row in range(target.shape[0]):
        found[b"".join(repr(each[row].tolist()).encode() for each in flat)].append(row)
    return [rows for rows in found.values() if len(rows) > 1] if len(flat) == len(given) else []


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or hasattr(value, "untyped_storage")


def _contradiction(known: Roles, target: Any) -> tuple[float, int]:
    """The loss that is left of one group, and the labels that are not the most frequent one of it."""
    if known.task == "numbers":
        values = target.double().reshape(target.shape[0], -1)
        if known.score is not None and known.score.called == "mse_loss":
            return float(values.var(0, unbiased=False).mean()), 0
        if known.score is not None and known.score.called == "l1_loss":
            return float((values - values.median(0).values).abs().mean()), 0
        return 0.0, 0
    shares = _shares(known, target)
    if shares is None:
        return 0.0, 0
    mean = shares.mean(0, keepdim=True)
    lost = shares.shape[0] * mean.shape[2] - int((shares == shares.amax(1, keepdim=True)).sum(0).amax(0).sum())
    return max(0.0, float(_entropy(mean) - _entropy(shares))), lost


def _entropy(shares: Any) -> Any:
    held = shares.clamp_min(1e-12)
    return -(held * held.log()).sum(1).mean()


def _shares(known: Roles, target: Any) -> Any:
    """Targets as distributions: samples × classes × places; None where they are none."""
    if known.task == "binary":
        own = target.double().reshape(target.shape[0], 1, -1).clamp(0, 1)
        return own.new_tensor([0.0, 1.0]).reshape(1, 2, 1) * own + own.new_tensor([1.0, 0.0]).reshape(1, 2, 1) * (
            1 - own
        )
    if known.task != "classes" or known.classes < 2 or target.numel() * known.classes > LARGEST:
        return None
    if target.is_floating_point():
        return target.double().reshape(target.shape[0], known.classes, -1) if target.dim() > 1 else None
    if bool(((target < 0) | (target >= known.classes)).any()):
        return None
    smoothing = float(known.score.keywords.get("label_smoothing") or 0.0) if known.score is not None else 0.0
    labels = target.long().reshape(target.shape[0], 1, -1)
    ones = labels.new_zeros((labels.shape[0], known.classes, labels.shape[2])).double().scatter_(1, labels, 1.0)
    return ones * (1 - smoothing) + smoothing / known.classes
