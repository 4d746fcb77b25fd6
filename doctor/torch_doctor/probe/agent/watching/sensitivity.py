"""Which modules by themselves do something else in training than in evaluation."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any

from .definitions import codes
from .naming import is_project

if TYPE_CHECKING:
    from types import CodeType

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
        # Each sample is normalised by itself while training, and evaluation comes close to it:
        # https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
        return False
    if isinstance(part, (nn.RNNBase, nn.MultiheadAttention)):
        return bool(part.dropout) and getattr(part, "num_layers", 2) > 1
    if isinstance(part, nn.RReLU):
        return True
    if type(part).__module__.startswith("torch.nn."):
        return False
    reads = _reads_mode(type(part), recorder)
    if is_project(type(part), recorder):
        return reads
    return reads and any(isinstance(rate := getattr(part, name, None), float) and rate > 0 for name in RATES)


def _reads_mode(cls: type, recorder: Recorder) -> bool:
    """Whether a method of the class, or of a base that is not torch's, reads `training` to do something else."""
    return any(
        "training" in code.co_names and _reads_own(code) and not _leaves_out(code, recorder)
        for each in cls.__mro__
        if not each.__module__.startswith("torch.")
        for code in codes(each)
        if code.co_name not in {"train", "eval", "__init__"}
    )


def _reads_own(code: CodeType) -> bool:
    """Whether a method reads its object's own `training`, and not that of a part, or to put it back behind a switch.

    What a closure has may be the object.
    """
    if {"eval", "train"} & {*code.co_names}:
        return False
    own: tuple[str, ...] = code.co_varnames[:1]
    before: tuple[str, ...] = ("",)
    for each in dis.get_instructions(code):
        if each.argval == "training" and before in (own, ()):
            return True
        before = _loaded(each)
    return False


def _loaded(instruction: dis.Instruction) -> tuple[str, ...]:
    """The local variable that an instruction loads last, since Python 3.13 one of two; () for one of a closure."""
    if instruction.opname.startswith("LOAD_FAST"):
        names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        return (str(names[-1]),)
    return () if "DEREF" in instruction.opname else ("",)


def _leaves_out(code: CodeType, recorder: Recorder) -> bool:
    """Whether the mode only decides how many of the values at hand a function of the user's returns."""
    file = recorder.index.file(code.co_filename) if recorder.sites.is_users(code.co_filename) else None
    return file is not None and (code.co_firstlineno, code.co_name) in file.modeless
