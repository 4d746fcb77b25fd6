"""The figures by which Lightning's callbacks keep a model or stop, and which way the script says that these get better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.libraries import lightning
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.merits import METRICS
from torch_doctor.static.values import Const, Mapping, Tool, Value
from torch_doctor.trace import HIGHER, LOWER, BestCompared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module


class LoggedFigures(Lasting):
    """Which way the figures get better that modules log, by the module and the name; "" where that is not known."""

    better: dict[tuple[int, object], str] = per_run(dict)


def logged(run: Run, module: Module, name: str, call: Call) -> None:
    """Note which way a figure gets better that a module logs."""
    better = run.of(LoggedFigures).better
    for key, value in _figures(name, call):
        found = _better(run, run.resolve(value))
        known = better.setdefault((module.id, key), found)
        if known != found:
            better[module.id, key] = ""


def _figures(name: str, call: Call) -> Iterator[tuple[object, Value]]:
    first = call.argument(0, "name", "dictionary")
    value = call.argument(1, "value")
    if name == "log" and isinstance(first, Const) and value is not None:
        yield first.value, value
    if name == "log_dict" and isinstance(first, Mapping):
        yield from ((key[1], each) for key, each in first.fields.items() if isinstance(key, tuple) and _is(each))


def _is(value: object) -> bool:
    return isinstance(value, Value)


def _better(run: Run, value: Value) -> str:
    if isinstance(value, Tool):
        return {"share": HIGHER, "gain": HIGHER, "error": LOWER}.get(METRICS.get(canonical(value.name), ""), "")
    merit = run.ask(Merits, value)
    return merit.role if merit is not None and merit.figure else ""


def chosen(run: Run, module: Module, callbacks: Iterable[Value]) -> None:
    """Write which figures callbacks keep the model of, or wait for, and which are better.

    https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.ModelCheckpoint.html: lower ones unless
    `mode="max"` is given, for both callbacks.
    """
    for each in callbacks:
        kind = canonical(each.name) if isinstance(each, Tool) else ""
        if not isinstance(each, Tool) or kind not in lightning.CHOOSING or each.born is None or "**" in each.keywords:
            continue
        named = dict(zip(lightning.CHOOSING[kind], each.args, strict=False)) | each.keywords
        monitor, mode = (run.resolve(named.get(key, Const(default))) for key, default in _DEFAULTS.items())
        kept = _KEPT.get(mode.value) if isinstance(mode, Const) else None
        most = named.get("save_top_k", Const(1))
        if not isinstance(monitor, Const) or kept is None or not isinstance(most, Const) or most.value in (0, -1):
            continue
        better = run.of(LoggedFigures).better.get((module.id, monitor.value))
        if better:
            by, waits = f'mode="{"max" if kept == HIGHER else "min"}"', kind.endswith("EarlyStopping")
            run.emit(
                BestCompared,
                each.born,
                kept=kept,
                name=str(monitor.value),
                by=by,
                at_once=True,
                better=better,
                waits=waits,
            )


_DEFAULTS = {"monitor": None, "mode": "min"}
_KEPT: dict[object, str] = {"min": LOWER, "max": HIGHER}
