"""Losses as objects: how they are built, and how they are lost to what they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event, TensorFact

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


@dataclass(slots=True, kw_only=True, eq=False)
class LossBuilt(Event):
    """A loss module of torch (`loss`, its torch name) was constructed, spelled `name`.

    `given` are the tensors that went where its constructor takes settings, which is every place but those of weights.
    `doubtful` counts the arguments there of which is not known what they are; `used_at` is where the object was used as if
    it were the loss's value (`.backward()`, `.item()`).
    """

    loss: str
    name: str
    given: tuple[TensorFact, ...] = ()
    doubtful: int = 0
    used_at: Site | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Overwritten(Event):
    """A variable or attribute, `name`, that was just called got the call's result: `criterion = criterion(out, y)`.

    `site` is the assignment. `loss` is the torch name of the loss that was in it ("" for any other callable), `result` what
    is in it now. `fails_at` is where that makes the script fail: the call of the result, or the assignment itself where a
    registered module cannot be replaced or where the name is not yet bound; None where none was seen.
    """

    name: str
    loss: str
    result: TensorFact
    fails_at: Site | None = None
