"""Another loss in the place of one, where the trace tells which object that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute
from torch_doctor.trace import Kind, LossBuilt, LossCalled

if TYPE_CHECKING:
    from torch_doctor.trace import Trace


def instead(trace: Trace, loss: LossCalled, module: str, function: str) -> list[Attribute]:
    """The loss that takes raw scores for one that gets them in each of its calls; nothing where it is not known which it is."""
    if any(other.input.kind is not Kind.LOGITS for other in trace.of(LossCalled) if other.loss == loss.loss):
        return []
    if loss.loss.startswith("torch.nn.functional."):
        return [Attribute(loss.site, function)]
    built = {event.site for event in trace.of(LossBuilt) if event.loss == loss.loss}
    return [Attribute(built.pop(), module)] if len(built) == 1 and not loss.handed_in else []
