"""What Lightning's trainer steps: the optimizers and schedulers that `configure_optimizers` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.language import conditions, outcomes
from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables import training
from torch_doctor.static.values import (
    NOTHING,
    Const,
    Content,
    Either,
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Driven(Struct, frozen=True):
    """What the trainer steps of all that a module configured: on the current path, where that was chosen by a test."""

    configured: Value = NOTHING

    def optimizers(self, run: Run) -> tuple[Optimizer, ...]:
        """The optimizers, stepped behind each batch."""
        found = leaves(*_optimizers_in(run.resolve(self.configured)))
        return tuple({each.id: each for each in found if isinstance(each, Optimizer)}.values())

    def schedulers(self, run: Run, interval: str) -> tuple[Tool, ...]:
        """The schedulers that are stepped behind each "step", which is a batch, or "epoch"; all where that is not said."""
        found = _schedulers_in(run.resolve(self.configured))
        return tuple({each.id: each for each, stepped in found if interval in ("", stepped)}.values())


def driven(run: Run, module: Module, configured: Value) -> Driven:
    """What the trainer steps of all that the hook of a module returned; whichever of several was chosen is among it."""
    for fact, found in ((Fact.OPTIMIZERS, _optimizers_in), (Fact.SCHEDULERS, _all_schedulers_in)):
        given = _given_back(configured, found)
        if given is not None:
            run.heap.set(module.facts, fact, given)
    return Driven(configured)


def _given_back(configured: Value, inside: Callable[[Value], list[Value]]) -> Value | None:
    """What a method of the module returns in manual optimization: all that it configured, or the only one."""
    if isinstance(configured, Either):
        options = [(facts, _given_back(option, inside)) for facts, option in configured.options]
        known = tuple((facts, given) for facts, given in options if given is not None)
        return Either(known) if len(known) > 1 else known[0][1] if known else None
    found = inside(configured)
    return None if not found else found[0] if len(found) == 1 else Sequence("list", Content(tuple(found)))


def unless_manual(run: Run, module: Module, do: Callable[[], None], node: p.Node) -> None:
    """Do what the trainer does where it clears, goes backward and steps: where a test of the script chose that, under it."""
    automatic = module.fields.get(lightning.AUTOMATIC) or Const(value=True)
    truth, yes, no, symbol = conditions.decision(run, run.resolve(automatic))

    def done() -> bool:
        do()
        return True

    if truth:
        do()
    elif truth is None and symbol is not None:
        run.fork(((yes, done), (no, lambda: True)), node, symbol)


def is_manual(module: Module) -> bool:
    """Whether a module surely clears, goes backward and steps by itself."""
    automatic = module.fields.get(lightning.AUTOMATIC)
    return automatic is not None and outcomes.truth_of(automatic) is False


def _optimizers_in(value: Value) -> list[Value]:
    """The optimizers that a hook returns, in containers or not; each may be one of a few.

    An optimizer of the project that wraps others steps these, as `Lookahead` does.
    """
    if isinstance(value, Either) and not any(isinstance(each, Optimizer) for _, each in value.options):
        return [found for _, option in value.options for found in _optimizers_in(option)]
    if isinstance(value, Instance):
        return [each for each in value.fields.values() if isinstance(each, Optimizer)]
    if isinstance(value, (Sequence, Mapping)):
        inside = value.content.all() if isinstance(value, Sequence) else value.values()
        return [found for item in inside for found in _optimizers_in(item)]
    return [value] if any(isinstance(each, Optimizer) for each in leaves(value)) else []


def _all_schedulers_in(value: Value) -> list[Value]:
    """The schedulers that a hook returns, in containers or not, however they are stepped."""
    if isinstance(value, Either):
        return [found for _, option in value.options for found in _all_schedulers_in(option)]
    if isinstance(value, (Sequence, Mapping)):
        inside = value.content.all() if isinstance(value, Sequence) else value.values()
        return [found for item in inside for found in _all_schedulers_in(item)]
    return [value] if isinstance(value, Tool) and training.scheduler_of(value.name) else []


def _schedulers_in(value: Value, interval: Value | None = None) -> Iterator[tuple[Tool, str]]:
    """The schedulers that a hook returns, each with the interval in which it is stepped: "epoch" where nothing else is said."""
    if isinstance(value, Either):
        for _, option in value.options:
            yield from _schedulers_in(option, interval)
    elif isinstance(value, Sequence):
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
