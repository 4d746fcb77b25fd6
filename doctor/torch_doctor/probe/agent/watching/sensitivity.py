"""Which modules by themselves do something else in training than in evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .definitions import codes
from .naming import is_project

if TYPE_CHECKING:
    from ..recorder import Recorder

RATES = ("p", "dropout", "drop_prob", "drop_rate", "rate")


def is_sensitive(part: Any, nn: Any, recorder: Recorder) -> bool:  # noqa: PLR0911 - one line for each sort
    """Whether a module by itself does something else in training."""
    kinds = nn.modules
    if isinstance(part, kinds.dropout._DropoutNd):
        return bool(part.p)
    if isinstance(part, kinds.batchnorm._BatchNorm):
        return True
    if isinstance(part, kinds.instancenorm._InstanceNorm):
        return False  # each sample is normalised by itself while training, and evaluation comes close to it
    if isinstance(part, (nn.RNNBase, nn.MultiheadAttention)):
        return bool(part.dropout) and getattr(part, "num_layers", 2) > 1
    if isinstance(part, nn.RReLU):
        return True
    if type(part).__module__.startswith("torch.nn."):
        return False
    reads = _reads_mode(type(part))
    if is_project(type(part), recorder):
        return reads
    return reads and any(isinstance(rate := getattr(part, name, None), float) and rate > 0 for name in RATES)


def _reads_mode(cls: type) -> bool:
    """Whether a method of the class, or of a base that is not torch's, reads `training`."""
    return any(
        "training" in code.co_names
        for each in cls.__mro__
        if not each.__module__.startswith("torch.")
        for code in codes(each)
        if code.co_name not in {"train", "eval", "__init__"}
    )
