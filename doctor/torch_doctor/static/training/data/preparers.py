"""What prepares rows before a model gets them: what was fitted on some of them, and tokenizers.

A value remembers it in the rows of its flow. What is fitted in a loop may be meant for the rows of one pass alone, and is not told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import NONE, PART
from torch_doctor.static.training import readings
from torch_doctor.trace import FITTED, TOKENS, PreparerBuilt

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value
    from torch_doctor.trace import Site


def fitted(run: Run, function: str, rows: Value, node: p.Node | Site, *, whole: bool) -> frozenset[int]:
    """Say that something was fitted on these rows, whole or in part; nothing where it may be one fit of many."""
    if run.modules_called or run.of(holding.Rows).samples or any(run.scope.iterations()):
        return NONE
    read = readings.among(run, holding.rows_in(rows)) if whole else NONE
    how = repr(sorted(read) or holding.root_of(run, rows))
    return built(run, FITTED, function.rpartition(".")[2], f"{function} {how}", node)


def built(run: Run, sort: str, name: str, how: str, node: p.Node | Site) -> frozenset[int]:
    """Say that something is there that prepares rows; its number, for the rows that it prepares."""
    event: PreparerBuilt = run.emit(PreparerBuilt, node, sort=sort, name=name, how=how)
    return frozenset((event.index,))


def within(run: Run, value: Value) -> frozenset[int]:
    """What has prepared the rows in a value, or in a data set that holds them."""
    return frozenset(event.index for event in of(run, holding.rows_in(value)))


def of(run: Run, rows: frozenset[int]) -> list[PreparerBuilt]:
    """Those among the events that a flow knows of its rows."""
    events = run.trace.at(*sorted(rows - {PART})) if rows else ()
    return [event for event in events if isinstance(event, PreparerBuilt) and event.sort in (FITTED, TOKENS)]
