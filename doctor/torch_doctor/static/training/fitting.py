"""What is learned from rows before the model sees them: by estimators, and by statistics that normalise rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains import copying
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import NONE, PART, Flow
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import fitting
from torch_doctor.static.training import pixels, splitting
from torch_doctor.static.training.data import preparers
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Instance,
    Lib,
    Plain,
    Sequence,
    Symbol,
    Unknown,
    Value,
    fresh_symbol,
    plain_from,
)
from torch_doctor.static.values.symbols import STATISTIC, statistic_in
from torch_doctor.trace import Fitted, RowsSplit

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

ESTIMATOR, SPLITTER, RESAMPLER = "estimator", "splitter", "resampler"
"""Begin the symbols of what is built to be fitted, of what splits, and of what adds rows."""
DEEP = 3
"""How far into pipelines their estimators are looked for."""


def built(name: str, call: Call) -> Plain | None:
    """An estimator or splitter of a library; None for anything else."""
    if name in fitting.ESTIMATORS or (name in fitting.COMPOSED and any(map(_estimates, call.values))):
        return Plain((ESTIMATOR, fresh_symbol(), name))
    if name in fitting.RESAMPLERS:
        return Plain((RESAMPLER, fresh_symbol(), name))
    return Plain((SPLITTER, fresh_symbol(), name)) if name in fitting.SPLITTERS else None


def _estimates(value: Value, depth: int = DEEP) -> bool:
    if isinstance(value, Sequence):
        return depth > 0 and any(_estimates(item, depth - 1) for item in value.content.all())
    return isinstance(value, Plain) and value.symbol[0] == ESTIMATOR


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of what is no tensor, where it fits, splits or chooses rows; None where it does nothing of the sort."""
    symbol = func.symbol
    if symbol[0] != ".":
        return None
    _, of, name = symbol
    if of[0] == ESTIMATOR:
        return _estimated(run, of, name, call)
    if of[0] == SPLITTER and name == "split":
        given = call.argument(0, "X") or Plain()
        groups = call.argument(2, "groups")
        if groups is not None and of[2] in fitting.GROUPED:
            _grouped(run, groups, call.node)
        event = splitting.made(run, of[2], (given,), call.node)
        return holding.with_rows(plain_from(()), frozenset((event.index,)))
    if of[0] == RESAMPLER and name == "fit_resample":
        labels = copying.resampled(copying.COPIES)
        return Sequence("tuple", Content((copying.resampled(fitting.RESAMPLERS[of[2]]), labels)))
    if name in fitting.CHOOSING:
        share = call.keywords.get("frac")
        whole = name == "sample" and isinstance(share, Const) and share.value == 1
        return None if whole else holding.with_rows(plain_from((func, *call.args)), func.flow.rows | {PART})
    return _statistic(run, func, holding.stem(of), call) if name in fitting.STATISTICS else None


def _grouped(run: Run, groups: Value, node: p.Node) -> None:
    """Rows are split by groups: splits at random that were made of them before have separated rows of one group."""
    known, root = run.of(holding.Rows), holding.root_of(run, groups)
    for index, roots in known.splits.items():
        for event in run.trace.at(index) if root in roots or known.parts.get(root) == index else ():
            if isinstance(event, RowsSplit) and event.orders:
                run.trace.replace(event, grouped_at=run.site(node))


def _estimated(run: Run, of: Symbol, name: str, call: Call) -> Value | None:
    rows = call.argument(0) or next(iter(call.keywords.values()), Plain())
    state = run.state.fields
    if name in ("fit", "fit_transform"):
        fit = _fitted(run, of[2], rows, call.node)
        by = preparers.fitted(run, of[2], rows, call.node, whole=fit is not None)
        run.heap.set(state, ("fitted", of), fit)
        run.heap.set(state, ("prepares", of), by)
        if name == "fit":
            return Plain(of)
        return holding.with_rows(plain_from((rows,)), rows.flow.rows | by | ({fit.index} if fit is not None else set()))
    if name == "transform":
        fit, by = state.get(("fitted", of)), state.get(("prepares", of)) or NONE
        if isinstance(fit, Fitted):
            return _transformed(run, fit, rows, by)
        return holding.with_rows(plain_from((rows,)), rows.flow.rows | by) if by else None
    return None


def _transformed(run: Run, fit: Fitted, rows: Value, by: frozenset[int]) -> Value:
    """What an estimator makes of rows: what it was fitted on is in it, and known to the split that they are a part of."""
    for event in run.trace.at(*rows.flow.rows):
        if isinstance(event, RowsSplit) and run.of(holding.Rows).fits.get(fit.index) in run.of(holding.Rows).splits.get(
            event.index, ()
        ):
            run.trace.replace(event, fits=event.fits | {fit.index})
    return holding.with_rows(plain_from((rows,)), rows.flow.rows | by | {fit.index})


def _fitted(run: Run, function: str, rows: Value, node: p.Node | Site, name: str = "") -> Fitted | None:
    """Say that something was fitted on rows; None where they are a part of the rows, or one of many samples."""
    if run.modules_called or run.of(holding.Rows).samples or not _whole(run, rows):
        return None
    spelling = name or (run.text(node) if isinstance(node, p.Node) else "")
    event: Fitted = run.emit(Fitted, node, function=function, name=spelling)
    run.of(holding.Rows).fits[event.index] = holding.root_of(run, rows)
    return event


def _whole(run: Run, rows: Value) -> bool:
    """Whether nothing shows that these are only a part of the rows."""
    found = holding.rows_in(rows)
    return PART not in found and not holding.splits_among(run, found)


# --- statistics ---


def statistic(run: Run, of: Value, call: Call, result: Value) -> None:
    """Note that a tensor was computed of rows, as their mean or the like; `args` are those after the rows."""
    if holding.are_rows(run, of) and _over_rows(call) and not _of_bytes(of, call):
        run.of(holding.Rows).statistics[id(result)] = (result, _computed(run, call, of, holding.root_of(run, of)))


def _statistic(run: Run, rows: Value, symbol: Symbol, call: Call) -> Value | None:
    """The same for an array; None where it is over no rows."""
    if not holding.are_rows(run, rows) or not _over_rows(call) or _of_bytes(Plain(symbol), call):
        return None
    flow = Flow(cuts=rows.flow.cuts, lost=rows.flow.lost)
    symbol = (STATISTIC, *_computed(run, call, rows, symbol))
    return holding.with_rows(plain_from((), symbol, flow), rows.flow.rows)


def _computed(run: Run, call: Call, rows: Value, root: Symbol) -> holding.Computed:
    """A statistic of rows, at the call of an object that does nothing but scale, if one computes it."""
    by_column = call.keywords.get("axis", call.argument(0, "dim")) is not None
    on = preparers.rows_of_statistic(run, rows, whole=_whole(run, rows), by_column=by_column)
    part = PART in rows.flow.rows
    thing, called = run.frame.self, holding.called_at(run)
    scales = isinstance(thing, Instance) and next(iter(thing.cls.libraries()), None) is None and not _has_rows(thing)
    if called is None or not scales:
        return holding.Computed(run.site(call.node), root, run.text(call.node), on, part)
    return holding.Computed(called[0], root, called[1], on, part)


def _has_rows(thing: Instance) -> bool:
    return any(thing.cls.find(name) is not None for name in ("__getitem__", "__iter__", "__len__"))


def _of_bytes(rows: Value, call: Call) -> bool:
    """Whether it is the largest number of pictures as they are stored: 255, whichever rows there are."""
    return pixels.place_of(rows) is not None and call.method in ("max", "amax", "nanmax")


def _over_rows(call: Call) -> bool:
    """Whether a statistic is over rows: with no axis, or the first among them."""
    axis = call.keywords.get("axis", call.argument(0, "dim"))
    if axis is None or (isinstance(axis, Const) and axis.value in (None, 0)):
        return True
    return isinstance(axis, Sequence) and any(isinstance(i, Const) and i.value == 0 for i in axis.content.items)


def combined(run: Run, op: str, operands: tuple[Value, ...], result: Value) -> Value:
    """The difference or quotient of rows and a statistic of the same rows: they are normalised by it; pictures are scaled."""
    result = pixels.calculated(op, operands, result)
    if op not in "-/" or len(operands) != 2 or run.modules_called:
        return result
    found = _statistic_in(run, operands[1])
    if found is None or found.root != holding.root_of(run, operands[0]):
        return result
    rows, known = operands[0], run.of(holding.Rows).sites.get(found.site)
    by = preparers.by_hand(run, rows, found)
    fit = (
        next((event for event in run.trace.at(known) if isinstance(event, Fitted)), None) if known is not None else None
    )
    if fit is None or fit.scope is not run.scope:
        fit = None if found.part else _fitted(run, STATISTIC, rows, found.site, found.text)
    if fit is None:
        return holding.with_rows(result, result.flow.rows | by)
    run.of(holding.Rows).sites[found.site] = fit.index
    return holding.with_rows(result, result.flow.rows | by | {fit.index})


def _statistic_in(run: Run, value: Value) -> holding.Computed | None:
    """The statistic of rows that a value is, or that is a part of it."""
    if isinstance(value, Plain):
        found = statistic_in(value.symbol)
        return None if found is None else holding.Computed(*found[1:])
    known = run.of(holding.Rows).statistics.get(id(value))
    return known[1] if known is not None else None


@library_family(lambda name: name.startswith(("sklearn.", "imblearn.")))
def of_sklearn(run: Run, name: str, call: Call) -> Value | None:
    """What a class or function of sklearn, or of imbalanced-learn, gives, where it is about rows; None where it is not."""
    made = built(name, call)
    if made is not None:
        return made
    if (
        name in fitting.SPLITS
        and call.args
        and not run.modules_called
        and not any(isinstance(v, Lib) for v in call.args)
    ):
        return splitting.arrays_split(run, name, call)
    return None


@library_family(lambda name: name.startswith("numpy.") and name.rpartition(".")[2] in fitting.STATISTICS)
def of_numpy(run: Run, _: str, call: Call) -> Value | None:
    """A statistic that numpy computes; None where it is not over rows."""
    if call.args and isinstance(call.args[0], (Plain, Unknown)):
        return _statistic(run, call.args[0], holding.root_of(run, call.args[0]), call.with_args(call.args[1:]))
    return None
