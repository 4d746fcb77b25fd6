"""Rows that a function of the project makes of those of a data set (`dataset.map(function)`), as far as they are padded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import (
    ARRAY,
    Bound,
    Call,
    Content,
    FunctionValue,
    Making,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

STEPS = 400
"""Steps that the look at one row may take."""
_KEEPING = frozenset(
    words("shuffle select remove_columns rename_column with_format filter train_test_split shard sort with_transform")
)
"""Methods of such a data set that give the same rows, some of them, or fewer columns."""


class Mapped(Lasting):
    """The data sets that were made of others by a function: what each row of them has that is padded."""

    rows: dict[Symbol, Mapping] = per_run(dict)


def noted(run: Run, of: Unknown, name: str, call: Call, result: Value) -> None:
    """A method of something unknown was called: perhaps it makes a data set of a data set."""
    if not isinstance(result, Unknown):
        return
    rows = run.of(Mapped).rows
    before = row_of(run, of)
    if name in _KEEPING and before is not None:
        rows[result.symbol] = before
    if name == "map":
        function = call.argument(0, "function")
        made = None if function is None else _made(run, run.resolve(function), before, call)
        if made is not None:
            rows[result.symbol] = made


def row_of(run: Run, data: Value) -> Mapping | None:
    """One row of such a data set, or of a part of it; None for anything else."""
    rows = run.of(Mapped).rows
    symbol = data.symbol if rows and isinstance(data, Unknown) else None
    while symbol is not None and symbol not in rows:
        symbol = symbol[1] if symbol[0] in ("[]", ".", ".()") and isinstance(symbol[1], tuple) else None
    return None if symbol is None else rows[symbol]


def _made(run: Run, function: Value, before: Mapping | None, call: Call) -> Mapping | None:
    """What the function makes of a row, or of several at once, beside what that has already; None where nothing is padded."""
    target = function.func if isinstance(function, Partial) else function
    if not isinstance(target, (FunctionValue, Bound)) or "**" in call.keywords:
        return None
    with run.aside(STEPS):
        rows: Mapping = run.own(Mapping())
        for key, column in (before.fields if before is not None else {}).items():
            rows.fields[key] = Plain(size=Making(ARRAY, (column,))) if isinstance(column, Tensor) else column
        rows.fields["rest"] = (
            Sequence("list", Content((), Unknown())) if call.flag("batched", default=False) else Unknown()
        )
        try:
            result = run.call(function, Call((rows,), {}, call.node))
        except OutOfBudget:
            return None
        kept = _kept(run, run.resolve(result), before)
    return kept if any(isinstance(value, Tensor) for value in kept.values()) else None


def _kept(run: Run, result: Value, before: Mapping | None) -> Mapping:
    """The columns that are padded; of the others nothing is known."""
    kept = Mapping(result.born) if isinstance(result, Mapping) else Mapping()
    if before is not None:
        kept.fields.update(before.fields)
    for key, value in result.fields.items() if isinstance(result, Mapping) else ():
        if key != "rest" and isinstance(value, Value):
            column = run.resolve(value)
            padded = run.ask(Padded, column) is not None
            kept.fields[key] = Tensor(meta=run.of(Padded).lasting(column)) if padded else Unknown()
    return kept
