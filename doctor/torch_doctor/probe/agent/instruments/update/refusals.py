"""Backward passes that torch refuses because everything that an optimizer has is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...watching.update.optimizers import parameters_of
from ..copies import elements
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here


class Instrument(Base):
    """Looks at all optimizers where a loss has no graph."""

    def on_refused(self, losses: list[Any], here: Here) -> None:
        """Writes those of which every parameter is frozen."""
        if any(loss.requires_grad for loss in losses):
            return
        recorder, said = self.watch.recorder, self.watch.flags.said
        for optimizer in self.watch.optimizers.told:
            own = list(parameters_of(optimizer))
            if not own or any(each.requires_grad for each in own):
                continue
            since, late = next((said[each] for each in own if each in said), (None, False))
            recorder.event(
                "FrozenRefused",
                here,
                optimizer=recorder.references.number(optimizer),
                tensors=len(own),
                elements=elements(self.watch, own),
                since=since,
                late=late,
            )
