"""How the inputs of models were prepared: the order of channels in pictures, and what was fitted on which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.channels import PictureOf
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.domains.scale import ScaleOf, before
from torch_doctor.static.flow import PART, blend
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.data.scaling import Chains
from torch_doctor.static.tables import pixels
from torch_doctor.static.training.data import preparers
from torch_doctor.static.training.data.split_parts import SplitParts, array_of
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Lib, Unknown
from torch_doctor.trace import AS_SPLIT, CHANNELS, FITTED, SCALE, TRANSFORMS, WAYS, InputPrepared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module, Value
    from torch_doctor.trace import PreparerBuilt


class Preparations(Observer, called=(Lib, Unknown)):
    """How what a whole model gets was prepared, as far as that is known."""

    writes = (InputPrepared,)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A function may split rows, or change them."""
        run.of(SplitParts).called(func, call, result)

    @override
    def changed(self, run: Run, value: Value, _: Call) -> None:
        """Rows are changed in place."""
        run.of(SplitParts).changed(value)

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
        self._scales(run, call, forward.index)
        self._rows(run, call, forward.index)

    def _scales(self, run: Run, call: Call, forward: int) -> None:
        """Write how the image is scaled that comes first among these arguments, and how the transforms of its data set do so."""
        for value in call.values[:1]:
            chain = run.of(Chains).known.get(value.flow.loader)
            if chain is not None:
                run.emit(
                    InputPrepared,
                    call.node,
                    forward=forward,
                    sort=f"{TRANSFORMS} {chain.sort}",
                    how=f"{chain.normalised_at is None} {chain.mean} {chain.std}",
                    prepared_at=chain.normalised_at or chain.read_at,
                    scaled_at=chain.normalised_at,
                    mean=chain.mean,
                    std=chain.std,
                    loader=value.flow.loader,
                )
            known = run.ask(ScaleOf, value)
            if known is None:
                continue
            site, scale = known
            run.emit(
                InputPrepared,
                call.node,
                forward=forward,
                sort=SCALE,
                how=f"{scale.mean} {scale.std}",
                prepared_at=site,
                mean=scale.mean,
                std=scale.std,
                later=bool(value.flow.loader) and run.ask(ScaleOf, before(value)) != (site, scale),
                loader=value.flow.loader,
            )

    def _rows(self, run: Run, call: Call, forward: int) -> None:
        """Write what has prepared rows, or that nothing has since they were split."""
        given = blend(value.flow for value in call.values)
        found: dict[str, list[PreparerBuilt]] = {}
        for event in preparers.of(run, given.rows):
            found.setdefault(preparers.in_short(event)[0], []).append(event)
        rows = {row for value in call.values for row in array_of(value).flow.rows if row != PART}
        splits = holding.splits_among(run, rows)
        for sort, events in found.items():
            if not all(event.guards <= run.guards for event in events):
                continue  # it may have been prepared otherwise
            run.emit(
                InputPrepared,
                call.node,
                forward=forward,
                sort=f"{sort} {' '.join(sorted(event.name for event in events))}" if sort == FITTED else sort,
                how=WAYS.join(sorted({preparers.in_short(event)[1] for event in events})),
                name=events[-1].name,
                prepared_at=events[-1].site,
                loader=given.loader,
                splits=splits,
            )
        parts = [value for value in call.values if run.of(SplitParts).of(value)]
        if len(parts) == 1 and not found:
            run.emit(
                InputPrepared,
                call.node,
                forward=forward,
                sort=AS_SPLIT,
                how=AS_SPLIT,
                prepared_at=run.site(call.node),
                loader=parts[0].flow.loader,
                splits=splits,
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
