"""How the inputs of models were prepared: the order of channels in pictures, and what was fitted on which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.channels import PictureOf
from torch_doctor.static.flow import blend
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables import pixels
from torch_doctor.static.training.data import preparers
from torch_doctor.static.training.module import written_forwards
from torch_doctor.trace import CHANNELS, TOKENS, WAYS, InputPrepared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module
    from torch_doctor.trace import PreparerBuilt


class Preparations(Observer):
    """How what a whole model gets was prepared, as far as that is known."""

    writes = (InputPrepared,)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """Look at the arguments of a module that no other calls, and of a library's model that is a part of one."""
        forward = None if run.modules_called else written_forwards.last(run)
        if forward is None:
            around = written_forwards.under_way(run) if module.layer.startswith(pixels.MODELS) else ()
            for number in around:
                self._pictures(run, call, number, part=module.id)
            return
        self._pictures(run, call, forward.index)
        given = blend(value.flow for value in call.values)
        found: dict[str, list[PreparerBuilt]] = {}
        for event in preparers.of(run, given.rows):
            found.setdefault(event.sort, []).append(event)
        for sort, events in found.items():
            ways = sorted({event.how for event in events})
            names = sorted(event.name for event in events)
            run.emit(
                InputPrepared,
                call.node,
                forward=forward.index,
                sort=sort if sort == TOKENS else f"{sort} {' '.join(names)}",
                how=WAYS.join(ways),
                name=events[-1].name,
                prepared_at=events[-1].site,
                loader=given.loader,
            )

    def _pictures(self, run: Run, call: Call, forward: int, part: int = 0) -> None:
        """Write in which order the channels of pictures come that are among these arguments."""
        for value in call.values:
            picture = run.ask(PictureOf, value)
            if picture is not None:
                run.emit(
                    InputPrepared,
                    call.node,
                    forward=forward,
                    sort=CHANNELS,
                    how=picture.channels.order,
                    prepared_at=picture.site,
                    meant=picture.channels.meant,
                    scaled_at=picture.channels.scaled_at,
                    loader=value.flow.loader,
                    part=part,
                )
