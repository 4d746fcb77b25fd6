"""The losses that a copy can repeat: those of torch, and mean errors that a script writes itself, found by their value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

LOSSES = {
    "mse_loss": "MSELoss",
    "l1_loss": "L1Loss",
    "smooth_l1_loss": "SmoothL1Loss",
    "huber_loss": "HuberLoss",
    "cross_entropy": "CrossEntropyLoss",
    "nll_loss": "NLLLoss",
    "binary_cross_entropy": "BCELoss",
    "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
}
"""The losses of which the best constant is known, by the names of their functions, with their classes."""
DISTANCES = frozenset(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"))
SAME = 1e-5  # relative difference of two values of one loss
MOST = 64  # tensors of a function that may be targets


def written(
    torch: Any, value: float, outputs: list[Any], frame: FrameType | None
) -> tuple[str, float, int, Any] | None:
    """The loss of torch that has this value, or whose root has it, with its value, the number of its output, and its target.

    Targets are tensors of the function that goes backward. None where no loss is found.
    """
    targets = _tensors(torch, frame)
    for number, output in enumerate(outputs):
        for target in targets:
            if target is output or target.numel() != output.numel() or not output.is_floating_point():
                continue
            apart = output.detach().reshape(-1).double() - target.detach().reshape(-1).double()
            losses = {"mse_loss": float(apart.square().mean()), "l1_loss": float(apart.abs().mean())}
            for name, loss in losses.items():
                if is_value(value, loss) or (name == "mse_loss" and is_value(value, math.sqrt(loss))):
                    return name, loss, number, target.detach().reshape(output.shape).to(output.dtype)
    return None


def is_value(value: float, loss: float) -> bool:
    """Whether both are the same number, but for rounding."""
    return math.isclose(value, loss, rel_tol=SAME) and value > 0


def _tensors(torch: Any, frame: FrameType | None) -> list[Any]:
    """The tensors that a function has in its variables, or in tuples, lists and dictionaries there."""
    found: list[Any] = []
    for value in [] if frame is None else list(frame.f_locals.values()):
        held = [value]
        if type(value) in (tuple, list):
            held = list(value[:MOST])
        elif type(value) is dict:
            held = list(value.values())[:MOST]
        found += [each for each in held if type(each) is torch.Tensor and not each.requires_grad and not each.is_sparse]
    return found[:MOST]
