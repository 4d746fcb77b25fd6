"""What a loss makes of the losses of single elements: their mean, their sum, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import losses
from torch_doctor.static.values import Args, Call, Const, Keywords, Value

if TYPE_CHECKING:
    from torch_doctor.static.values import Module

_BEFORE = 2  # a function's settings come after input and target


def reduction_of(name: str, call: Call, module: Module | None) -> str:
    """The `reduction` that a loss has ("mean", "sum", "batchmean", "none"), of its settings or its default; "" if not known."""
    if module is not None and module.cls is not None:
        return ""  # its own constructor decides
    if module is None:
        return stated(name, call.args[_BEFORE:], call.keywords)
    later = {key: value for key, value in module.fields.items() if key == "reduction"}  # `criterion.reduction = "sum"`
    return stated(name, module.given, {**module.settings, **later})


def setting(name: str, key: str, call: Call, module: Module | None) -> object:
    """What a loss has as one of its settings; None where it is not given, or where that is not known."""
    if module is None:
        given, named = call.args[_BEFORE:], call.keywords
    else:
        given, named = module.given, {**module.settings, **module.fields}
    order = losses.SETTINGS.get(name, ())
    place = order.index(key) if key in order else len(given)
    return given[place] if place < len(given) else named.get(key)


def stated(name: str, given: Args, named: Keywords) -> str:
    """The `reduction` that a loss has with these settings."""
    order = losses.SETTINGS.get(name, ())
    if "**" in named or len(given) > len(order):
        return ""
    settings = {**dict(zip(order, given, strict=False)), **named}
    old = [_constant(settings.get(key)) for key in ("reduce", "size_average")]
    if "" in old:
        return ""
    if old != [None, None]:  # as torch reads the old settings: they win
        return "none" if old[0] is False else "sum" if old[1] is False else "mean"
    chosen = _constant(settings.get("reduction"))
    if chosen is None:
        return losses.LOSSES[name].reduction_default if "reduction" not in settings else ""
    return str(chosen)


def _constant(value: Value | None) -> object:
    """The setting's value; None where there is none, "" where it is not known."""
    if value is None:
        return None
    return value.value if isinstance(value, Const) else ""
