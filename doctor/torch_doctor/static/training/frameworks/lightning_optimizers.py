"""What Lightning's trainer steps: the optimizers and schedulers that `configure_optimizers` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables import training
from torch_doctor.static.training.update import construction
from torch_doctor.static.values import (
    Const,
    Content,
    Fact,
    Instance,
    Mapping,
    Module,
    Optimizer,
    Sequence,
    Tool,
    Value,
    leaves,
)
from torch_doctor.trace import SchedulerStepped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Driven(Struct, frozen=True):
    """What the trainer steps: the optimizers behind each batch, and the schedulers behind each batch or epoch."""

    optimizers: tuple[Optimizer, ...] = ()
    each_batch: tuple[Tool, ...] = ()
    each_epoch: tuple[Tool, ...] = ()


def driven(run: Run, module: Module, configured: Value) -> Driven:
    """What the trainer steps of all that the hook of a module returned; whichever of several was chosen is among it."""
    returned = _optimizers_in(configured)
    _given_back(run, module, Fact.OPTIMIZERS, returned)
    _given_back(run, module, Fact.SCHEDULERS, _all_schedulers_in(configured))
    intervals = list(_schedulers_in(configured))
    return Driven(
        tuple(each for each in leaves(*returned) if isinstance(each, Optimizer)),
        tuple(scheduler for scheduler, interval in intervals if interval == "step"),
        tuple(scheduler for scheduler, interval in intervals if interval == "epoch"),
    )


def _given_back(run: Run, module: Module, fact: Fact, found: list[Value]) -> None:
    """Note what a method of the module returns in manual optimization: all that it configured, or the only one."""
    if found:
        run.heap.set(module.facts, fact, found[0] if len(found) == 1 else Sequence("list", Content(tuple(found))))


def schedule(run: Run, module: Module, schedulers: tuple[Tool, ...], node: p.Node, window: int = 1) -> None:
    """Step schedulers, unless the module does all by hand; `window`: behind each update, which takes so many batches."""
    for each in schedulers if is_automatic(module) else ():
        owner = construction.optimizer_in(run, each.holds)
        run.emit(SchedulerStepped, node, scheduler=each.id, optimizer=owner, name="", window=window)


def is_automatic(module: Module) -> bool:
    """Whether the trainer clears, goes backward and steps."""
    automatic = module.fields.get("automatic_optimization")
    return automatic is None or (isinstance(automatic, Const) and bool(automatic.value))


def is_manual(module: Module) -> bool:
    """Whether a module surely clears, goes backward and steps by itself."""
    return isinstance(module.fields.get("automatic_optimization"), Const) and not is_automatic(module)


def _optimizers_in(value: Value) -> list[Value]:
    """The optimizers that a hook returns, in containers or not; each may be one of a few.

    An optimizer of the project that wraps others steps these, as `Lookahead` does.
    """
    if isinstance(value, Instance):
        return [each for each in value.fields.values() if isinstance(each, Optimizer)]
    if isinstance(value, (Sequence, Mapping)):
        inside = value.content.all() if isinstance(value, Sequence) else value.values()
        return [found for item in inside for found in _optimizers_in(item)]
    return [value] if any(isinstance(each, Optimizer) for each in leaves(value)) else []


def _all_schedulers_in(value: Value) -> list[Value]:
    """The schedulers that a hook returns, in containers or not, however they are stepped."""
    if isinstance(value, (Sequence, Mapping)):
        inside = value.content.all() if isinstance(value, Sequence) else value.values()
        return [found for item in inside for found in _all_schedulers_in(item)]
    return [value] if isinstance(value, Tool) and training.scheduler_of(value.name) else []


def _schedulers_in(value: Value, interval: Value | None = None) -> Iterator[tuple[Tool, str]]:
    """The schedulers that a hook returns, each with the interval in which it is stepped: "epoch" where nothing else is said."""
    if isinstance(value, Sequence):
        for item in value.content.all():
            yield from _schedulers_in(item)
    elif isinstance(value, Mapping):
        fields = {key: value.fields.get(("key", key)) for key in lightning.SCHEDULED}
        every = fields["frequency"]
        if every is None or (isinstance(every, Const) and every.value == 1):
            for key in ("lr_scheduler", "scheduler"):
                inside = fields[key]
                if isinstance(inside, Value):
                    yield from _schedulers_in(inside, fields["interval"] if key == "scheduler" else None)
    elif isinstance(value, Tool) and training.scheduler_of(value.name):
        told = interval.value if isinstance(interval, Const) else "epoch" if interval is None else ""
        yield value, str(told)
