"""Rows that were chosen at random: which draws are behind the rows of a loader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import NONE
from torch_doctor.static.library import Stage, handlers_of, library
from torch_doctor.static.training import drawing, splitting
from torch_doctor.static.values import Plain, Tool

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


@library("torch.randperm", "numpy.random.permutation", "random.sample", "random.choices")
def permutation(run: Run, name: str, call: Call) -> Value | None:
    """Numbers in random order, which remember the call that drew them."""
    others = (handler for stage, handler in handlers_of(name) if stage > Stage.NAME)
    result = next((found for each in others if (found := each(run, name, call)) is not None), None) or Plain()
    return holding.with_rows(result, result.flow.rows | drawing.at(run, call.node))


def behind(run: Run, *values: Value | None) -> frozenset[int]:
    """The draws that have chosen the rows of datasets, samplers or indices."""
    found = NONE
    for value in values:
        resolved = None if value is None else run.resolve(value)
        if resolved is not None:
            inner = resolved.fields.get(splitting.INDICES) if isinstance(resolved, Tool) else None
            found |= holding.rows_in(resolved) | (inner.flow.rows if isinstance(inner, Plain) else NONE)
    return drawing.among(run, found)
