"""Mixed precision: `torch.autocast` as a context and as a decorator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import library
from torch_doctor.static.state import per_run
from torch_doctor.static.training.device import devices
from torch_doctor.static.values import (
    MADE,
    NOTHING,
    Autocast,
    Call,
    Const,
    Either,
    Plain,
    Unknown,
    Value,
    asked,
    fresh_symbol,
)
from torch_doctor.trace import AutocastEntered, AutocastExited

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Site, Tri

DEFAULTS = {"cuda": "float16", "cpu": "bfloat16", "xpu": "float16", "mps": "float16"}
"""What autocast computes in where it is not told (https://docs.pytorch.org/docs/stable/amp.html)."""
STATE = "autocast"
AS_IT_IS = "autocast as it is"
"""Begins the symbol of whether autocast is on, where nothing in sight has switched it on."""
SWITCH = "autocast switch"
"""What `torch.set_autocast_enabled` was given last on the path."""


class Tests(Knowledge):
    """What decides whether autocast is on, where a test does."""

    deciding: dict[int, Symbol] = per_run(dict)  # by the event with which it began


def context(name: str, call: Call, born: Site) -> Autocast:
    """What calling autocast makes, by the name that the script calls it by: the older ones know their device."""
    older = next((device for device in ("cuda", "cpu") if f".{device}.amp." in name), "")
    is_open = "**" in call.keywords
    device = older or devices.device_of(call.argument(0, "device_type"))
    dtype = call.argument(1, "dtype")
    default = dtype is None or (isinstance(dtype, Const) and dtype.value is None)
    computes = DEFAULTS.get(device, "") if default and not is_open else devices.dtype_of(dtype)
    position = 0 if older else 2
    enabled = None if is_open else call.flag("enabled", position=position, default=True)
    flag = call.argument(position, "enabled")
    if isinstance(flag, Plain) and flag.symbol[0] == AS_IT_IS:
        return Autocast(born, device, computes, enabled=False)  # nothing in sight has switched it on
    test = flag.symbol if isinstance(flag, (Plain, Unknown)) else None
    answered = isinstance(flag, Unknown) and flag.symbol[0] == MADE and not asked(flag.symbol)  # of no setting
    return Autocast(born, device, computes, enabled=enabled, test=test, asked=answered)


def chosen(value: Value) -> Autocast | None:
    """The context that is entered: of several that a test chose between, the only autocast, which may be off then."""
    if isinstance(value, Either):
        found = [option for _, option in value.options if isinstance(option, Autocast)]
        return Autocast(found[0].born, found[0].device, found[0].dtype, enabled=None) if len(found) == 1 else None
    return value if isinstance(value, Autocast) else None


def enter(run: Run, made: Autocast) -> object:
    """Begin it, and return what held before."""
    before: object = run.state.fields.get(STATE)
    within = run.modules_called[0].id if run.modules_called else 0
    enabled: Tri = made.enabled
    fields = {"device": made.device, "dtype": made.dtype, "enabled": enabled, "within": within, "asked": made.asked}
    event = run.emit(AutocastEntered, made.born, **fields)
    within_another = enabled is None and isinstance(before, int)  # which is there to be switched off, perhaps
    run.heap.set(run.state.fields, STATE, None if within_another else event.index)
    if made.test is not None:
        run.of(Tests).deciding[event.index] = made.test
    return before


def leave(run: Run, before: object, node: p.Node) -> None:
    """End it."""
    run.heap.set(run.state.fields, STATE, before)
    run.emit(AutocastExited, node)


@library("torch.set_autocast_enabled")
def switched(run: Run, _: str, call: Call) -> Value:
    """`torch.set_autocast_enabled(flag)`, or with the device before it: what holds outside of any context from here on."""
    run.heap.set(run.state.fields, SWITCH, call.args[-1] if call.args else call.keywords.get("enabled"))
    return NOTHING


@library("torch.is_autocast_enabled")
def is_on(run: Run, _: str, __: Call) -> Value:
    """`torch.is_autocast_enabled()`: what the context says that is on, else what it was switched to."""
    around, switch = run.state.fields.get(STATE), run.state.fields.get(SWITCH)
    if isinstance(around, int):
        return Plain()
    return switch if isinstance(switch, Value) else Plain((AS_IT_IS, fresh_symbol()))


def current(run: Run) -> int | None:
    """The number of the event with which the autocast began that holds now; None where there is none, or a test says it is off."""
    found = run.state.fields.get(STATE)
    if not isinstance(found, int):
        return None
    symbol, on = run.of(Tests).deciding.get(found), True
    while symbol is not None and symbol[0] == "not":
        symbol, on = symbol[1], not on
    decided = None if symbol is None else run.decided(symbol)
    return None if decided is not None and decided is not on else found
