"""The order of the channels in the pictures that a model gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer
from torch_doctor.static.training import channels, written_forwards
from torch_doctor.trace import CHANNELS, InputPrepared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module


class ChannelOrders(Observer):
    """In which order the channels come of what a whole model gets, where that is known of one argument."""

    writes = (InputPrepared,)

    def entered(self, run: Run, _: Module, call: Call) -> None:
        """Look at the arguments of a module that no other calls."""
        if run.modules_called:
            return
        for value in call.values:
            picture = channels.of(value)
            forward = written_forwards.last(run) if picture is not None else None
            if picture is not None and forward is not None:
                run.emit(
                    InputPrepared,
                    call.node,
                    forward=forward.index,
                    sort=CHANNELS,
                    how=picture.channels.order,
                    prepared_at=picture.site,
                    loader=value.flow.loader,
                )
