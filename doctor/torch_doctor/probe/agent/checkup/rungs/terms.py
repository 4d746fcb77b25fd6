"""How large the gradient of each term of a loss is in each module, in the script's first update."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..stage import Skip
from ..telling import count, fact, line, listed, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ...instruments.update.term_gradients import LossTerms, TermNorms
    from ..plays import Play, Seen
    from ..stage import Stage

SMALL = 1e-4
"""Part of the largest gradient of a module below which a term decides nothing: less than a step changes by rounding its inputs.

It is less than a hundredth of a percent of the update, however the optimizer scales it, and far less than two batches differ.
"""
DRAWN = 5
"""Terms that have bars, of which each has a colour."""
LONGEST = 40
"""Characters of a term in a sentence."""
NAMED = 3
"""Losses, terms and modules that a sentence names."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Tells what was measured when the script made its first update itself; nothing is repeated."""
    yield from ()
    measured = stage.watch.term_gradients
    tables: list[LossTerms] = [each for each in measured.tables if each.weights] if measured is not None else []
    skipped: list[str] = measured.skipped if measured is not None else []
    if not tables:
        raise Skip("; ".join(skipped) or "no loss went backward before the first optimizer step")
    evidence, plots, said, idle = [], [], [], False
    for table in tables:
        flags = _flags(table)
        idle |= bool(flags)
        evidence += _facts(table)
        plots.append(_picture(table))
        said.append(f"`{table.loss}`: {'; '.join(flags) or _summary(table)}")
    said += [f"{each} (not measured)" for each in skipped]
    then = "check the weights of these terms, and whether their gradients are cut off" if idle else ""
    more = len(said) - NAMED
    said = said[:NAMED] + ([f"and {count(more, 'more loss', 'more losses')}"] if more > 0 else [])
    return result("shown", f"in the first update, {'; '.join(said)}", evidence, plots, then=then)


def _ratio(table: LossTerms, row: TermNorms, module: str) -> float | None:
    """The norm of a term's gradient over that of the parameters; None where there is none, or the parameters are zero."""
    norm, weights = row.norms.get(module), table.weights[module]
    return norm / weights if norm is not None and weights > 0 else None


def _facts(table: LossTerms) -> list[dict[str, Any]]:
    found = []
    for row in table.rows:
        group = f"gradient over parameters, `{row.term}`" + (f" of `{table.loss}`" if row.term != table.loss else "")
        found += [fact(module, _ratio(table, row, module), group=group) for module in table.weights]
    return found


def _picture(table: LossTerms) -> dict[str, Any]:
    """Bars by module and term."""
    ratios = {row.term: [_ratio(table, row, module) for module in table.weights] for row in table.rows}
    drawn = {term: [each or None for each in values] for term, values in ratios.items() if any(values)}
    drawn = dict(sorted(drawn.items(), key=lambda item: -max(filter(None, item[1])))[:DRAWN])
    told = "; ".join(
        f"{term}: {', '.join(f'{module} {_short(each)}' for module, each in zip(table.weights, values, strict=True))}"
        for term, values in ratios.items()
    )
    return plot(
        f"Gradient over parameters, {table.loss}",
        "bars",
        f"Norm of the gradient over the norm of the parameters by module. {told}",
        x_label="module",
        y_label="gradient / parameters",
        y_log=bool(drawn),
        names=_short_names(list(table.weights)),
        series=[line(term, values) for term, values in drawn.items()],
    )


def _short_names(names: list[str]) -> list[str]:
    """The names of modules without the model that all are parts of."""
    model = f"{names[0].partition('.')[0]}."
    return [name.removeprefix(model) for name in names] if all(name.startswith(model) for name in names) else names


def _short(ratio: float | None) -> str:
    return "none" if ratio is None else number(float(f"{ratio:.2g}"))


def _flags(table: LossTerms) -> list[str]:
    """What is said of terms that change nothing."""
    if len(table.rows) < 2 or not all(math.isfinite(norm) for row in table.rows for norm in row.norms.values()):
        return []
    largest = {module: max(row.norms.get(module, 0.0) for row in table.rows) for module in table.weights}
    none = [_term(row) for row in table.rows if not row.norms]
    zero = [_term(row) for row in table.rows if row.norms and not any(row.norms.values())]
    small = [
        _term(row)
        for row in table.rows
        if any(row.norms.values()) and all(norm < SMALL * largest[module] for module, norm in row.norms.items())
    ]
    told = []
    if none:
        told.append(f"{listed(none)} reach{'es' * (len(none) == 1)} no parameter")
    if zero:
        told.append(f"{listed(zero)} ha{'s' if len(zero) == 1 else 've'} a gradient of zero")
    if small:
        told.append(
            f"{listed(small)} ha{'s' if len(small) == 1 else 've'} less than {SMALL:.2%} of the largest gradient in every module"
        )
    return told


def _term(row: TermNorms) -> str:
    return f"`{row.term if len(row.term) <= LONGEST else row.term[: LONGEST - 1] + '…'}`"


def _summary(table: LossTerms) -> str:
    """Which term is the largest in how many modules, and how large the gradients are."""
    ratios = [each for row in table.rows for module in table.weights if (each := _ratio(table, row, module))]
    size = "no gradient is above zero"
    if ratios:
        size = f"gradients are {_short(min(ratios))} to {_short(max(ratios))} times their parameters"
    if len(table.rows) < 2:
        return size
    first = [max(table.rows, key=lambda row: row.norms.get(module, -1.0)) for module in table.weights]
    leading = [row for row in table.rows if row in first][:NAMED]
    led = listed([f"{_term(row)} in {first.count(row)}" for row in leading])
    return f"the largest term is {led} of {count(len(table.weights), 'module')}; {size}"
