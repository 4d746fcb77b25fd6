"""Other functions and losses in the place of some, where the trace tells which these are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Fuse, Keyword, Rebuild, Wrap
from torch_doctor.trace import Kind, LossBuilt, LossCalled

if TYPE_CHECKING:
    from torch_doctor.trace import LogTaken, Site, TensorFact, Trace

LOGS = {"softmax": "log_softmax", "Softmax": "LogSoftmax"}
"""The logarithm of a softmax, by what makes the softmax."""


def as_log_softmax(value: TensorFact) -> list[Attribute | Rebuild]:
    """The softmax that made a value as a log-softmax; nothing where something else made it."""
    made, name = value.operation_at, value.operation.rpartition(".")[2]
    if made is None or name not in LOGS:
        return []
    return [Rebuild(made, LOGS[name])] if name.istitle() else [Attribute(made, LOGS[name])]


def averaged_as(trace: Trace, loss: LossCalled, reduction: str, *, built_at: int, called_at: int) -> list[Keyword]:
    """A mean loss summed up in another way, where it is called or built; nothing where it is not known which it is.

    The positions are those of `reduction` among the arguments of the module and of the function.
    """
    if loss.loss.startswith("torch.nn.functional."):
        return [Keyword(loss.site, "reduction", f'"{reduction}"', called_at, '"mean"')]
    built = {event.site for event in trace.of(LossBuilt) if event.loss == loss.loss}
    if len(built) != 1 or loss.handed_in:
        return []
    return [Keyword(built.pop(), "reduction", f'"{reduction}"', built_at, '"mean"')]


def instead(trace: Trace, loss: LossCalled, module: str, function: str) -> list[Attribute]:
    """The loss that takes raw scores for one that gets them in each of its calls; nothing where it is not known which it is."""
    if any(other.input.kind is not Kind.LOGITS for other in trace.of(LossCalled) if other.loss == loss.loss):
        return []
    if loss.loss.startswith("torch.nn.functional."):
        return [Attribute(loss.site, function)]
    built = {event.site for event in trace.of(LossBuilt) if event.loss == loss.loss}
    return [Attribute(built.pop(), module)] if len(built) == 1 and not loss.handed_in else []


def fused(log: LogTaken) -> list[Fuse | Wrap]:
    """The logarithm of a softmax or sigmoid as one function, where it is taken of its call; else of values above 0."""
    inner, function = log.input.operation_at, log.input.operation.rpartition(".")[2]
    if inner == log.site:
        return []
    if inner is not None and log.function == "torch.log" and _lies_in(inner, log.site):
        if function == "softmax":
            return [Fuse(log.site, inner, name="log_softmax")]
        if function == "sigmoid":
            return [Fuse(log.site, inner, function="torch.nn.functional.logsigmoid")]
    return [Wrap(log.site, "{}.clamp(min=1e-6)", argument=0)]


def _lies_in(inner: Site, outer: Site) -> bool:
    """Whether a place lies within another one."""
    begins = (outer.row, outer.column) <= (inner.row, inner.column)
    ends = (inner.end_row, inner.end_column) <= (outer.end_row, outer.end_column)
    return inner.path == outer.path and inner.cell == outer.cell and begins and ends
