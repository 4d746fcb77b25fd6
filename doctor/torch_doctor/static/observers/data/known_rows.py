"""The rows of each loader, for `trace --data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.rows.answer import rows_of
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Loader
from torch_doctor.trace import RowsGiven

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Object


class KnownRows(Observer):
    """Asks for the rows of each loader's data set when the loader is built."""

    writes = (RowsGiven,)

    @override
    def built(self, run: Run, thing: Object, call: Call) -> None:
        """A loader is built."""
        data = thing.fields.get("dataset") if isinstance(thing, Loader) else None
        if data is not None:
            run.emit(RowsGiven, call.node, loader=thing.id, rows=rows_of(run, data))
