"""The scale of what a model is given and of the numbers that it is to predict, where layers expect values around one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from .batches import is_dense
from .telling import fact, number

if TYPE_CHECKING:
    from .roles import Roles

FAR = 10.0
"""A mean or a deviation from which on values are far from those that layers are initialized for (mean 0, deviation 1)."""
APART = 100.0
"""How many times the deviation of the widest column of a table is that of the narrowest, where scales differ much."""
MOST_COLUMNS, FEWEST = 10_000, 8  # columns of a table, rows without which their deviations say nothing


def scales(known: Roles) -> tuple[list[dict[str, Any]], list[str]]:
    """Return evidence on the scale of the model's input and of numeric targets, and a sentence for each that is far off.

    The input is what the model of the last call received, after everything that the script does to a batch. Whether the model
    scales it is unknown, so this is no verdict.
    """
    evidence: list[dict[str, Any]] = []
    said: list[str] = []
    given = [each for call in known.seen.models[-1:] for each in tensors((call.given, call.keywords))]
    usable = [each for each in given if each.is_floating_point() and is_dense(each) and each.numel() > 1]
    if usable:
        widest = max(usable, key=lambda each: int(each.numel()))
        _judge("the model's input", "scale them unless the model does", widest, evidence, said)
    target = known.target
    if known.task == "numbers" and target is not None and is_dense(target) and target.numel() > 1:
        _judge("the targets", "standardize them if the loss stays high", target, evidence, said)
    return evidence, said


def _judge(what: str, remedy: str, tensor: Any, evidence: list[dict[str, Any]], said: list[str]) -> None:
    values = tensor.detach().double()
    finite = values[values.isfinite()]
    if not finite.numel():
        return
    mean, spread = float(finite.mean()), float(finite.std(unbiased=False))
    low, high = float(finite.min()), float(finite.max())
    evidence += [
        fact("mean", mean, group=what, expected="around 0"),
        fact("deviation", spread, group=what, expected="around 1"),
        fact("least", low, group=what),
        fact("largest", high, group=what),
    ]
    told = f"values of {what} go from {number(low)} to {number(high)} (mean {number(mean)}, deviation {number(spread)})"
    if values.dim() == 2 and values.shape[0] >= FEWEST and 1 < values.shape[1] <= MOST_COLUMNS:
        spreads = values.std(0, unbiased=False)
        spreads = spreads[spreads.isfinite() & (spreads > 0)]
        if spreads.numel() > 1:
            narrow, wide = float(spreads.min()), float(spreads.max())
            evidence += [
                fact("deviation of the narrowest column", narrow, group=what),
                fact(
                    "deviation of the widest column", wide, group=what, expected=f"below {APART:g} times the narrowest"
                ),
            ]
            if wide >= APART * narrow and wide >= FAR:
                told += f", deviations of its columns from {number(narrow)} to {number(wide)}"
    if max(abs(mean), spread) >= FAR:
        said.append(f"{told}: {remedy}")
