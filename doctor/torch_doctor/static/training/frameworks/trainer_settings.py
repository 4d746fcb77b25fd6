"""The settings of trainers and the configurations of models of transformers: what a script says in them, by keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.libraries import transformers
from torch_doctor.static.library import library_family
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Default, Lib, Unknown, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Keywords, Symbol
    from torch_doctor.trace import Site, Tri


class TrainerSettings(Lasting):
    """What settings were constructed with, by their symbols, and where these arguments stand."""

    given: dict[Symbol, Keywords] = per_run(dict)
    places: dict[Symbol, dict[str, Site]] = per_run(dict)


@library_family(transformers.holds_settings)
def constructed(run: Run, name: str, call: Call) -> Value:
    """Construct settings of a trainer, or a configuration of a model."""
    result = opaque_calls.opaque(run, Lib(name), call)
    if isinstance(result, Unknown):
        run.of(TrainerSettings).given[result.symbol] = call.keywords
        nodes = call.node.keywords if isinstance(call.node, p.Call) else ()
        run.of(TrainerSettings).places[result.symbol] = {key: run.site(value) for key, value in nodes if key}
    return result


def of(run: Run, settings: Value | None, name: str) -> Value | None:
    """What a setting was given as; None where it was not given, or where nothing is known of the settings."""
    settings = None if settings is None else run.resolve(settings)
    given = run.of(TrainerSettings).given.get(settings.symbol, {}) if isinstance(settings, Unknown) else {}
    return given.get(name)


def place(run: Run, settings: Value | None, name: str) -> Site | None:
    """Where a setting was given; None where that is not known."""
    settings = None if settings is None else run.resolve(settings)
    return run.of(TrainerSettings).places.get(settings.symbol, {}).get(name) if isinstance(settings, Unknown) else None


def known(run: Run, settings: Value | None) -> bool:
    """Whether all that settings were constructed with is known."""
    settings = None if settings is None else run.resolve(settings)
    given = run.of(TrainerSettings).given.get(settings.symbol) if isinstance(settings, Unknown) else None
    return given is not None and "**" not in given


def flag(run: Run, settings: Value | None, name: str, *, default: Tri) -> Tri:
    """Whether a switch is on; None where that is not known."""
    if not known(run, settings):
        return None
    value = of(run, settings, name)
    if value is None:
        return default
    return bool(value.value) if isinstance(value, Const) and not isinstance(value, Default) else None


def evaluates(run: Run, settings: Value | None) -> bool:
    """Whether a trainer with these settings evaluates while it trains."""
    found = (of(run, settings, name) for name in ("eval_strategy", "evaluation_strategy"))
    return any(isinstance(each, Const) and each.value in ("steps", "epoch") for each in found)
