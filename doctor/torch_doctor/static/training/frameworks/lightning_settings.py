"""What Lightning's `save_hyperparameters` keeps as `self.hparams`: the arguments of the constructor that calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.libraries import lightning
from torch_doctor.static.values import (
    NOTHING,
    Const,
    Instance,
    Mapping,
    Module,
    Plain,
    Sequence,
    Settings,
    Unknown,
    Value,
    held,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


def saved(run: Run, of: Module | Instance, call: Call) -> None:
    """Keep what a constructor was given; nothing where it is not known which of it.

    https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#save-hyperparameters
    """
    given = [run.resolve(each) for each in call.args]
    if len(given) == 1 and isinstance(given[0], (Mapping, Settings, Plain, Instance)):
        run.heap.set(of.fields, lightning.SETTINGS, given[0])
        return
    chosen, ignored = _names(given), _names([run.resolve(call.keywords.get("ignore", NOTHING))])
    function, owned = run.frame.what, run.frame.self is of and call.keywords.keys() <= lightning.OF_SAVING
    if not owned or function is None or function.owner is not of.cls or chosen is None or ignored is None:
        return
    before = of.fields.get(lightning.SETTINGS)
    kept: Mapping = run.own(Mapping(run.site(call.node)))
    kept.fields.update(before.fields if isinstance(before, Mapping) else {})
    for name, value in _arguments(run):
        if name not in ignored and (not chosen or name in chosen):
            kept.fields["key", name] = value
    run.heap.set(of.fields, lightning.SETTINGS, kept)


def _names(given: list[Value]) -> set[object] | None:
    """The texts that are given, in lists or not; None where something else is."""
    found: set[object] = set()
    for each in given:
        inside = each.content.all() if isinstance(each, Sequence) else () if each is NOTHING else (each,)
        if not all(isinstance(item, Const) for item in inside):
            return None
        found.update(item.value for item in inside if isinstance(item, Const))
    return found


def _arguments(run: Run) -> Iterator[tuple[str, Value]]:
    """The parameters of the function that runs, with what they are now; its `**` stands for what is in it."""
    function = run.frame.what
    for parameter in function.node.parameters[1:] if function is not None else ():
        value = run.frame.fields.get(parameter.name)
        if parameter.kind == "kwargs" and isinstance(value, Mapping):
            inside = ((key[1], each) for key, each in value.fields.items() if isinstance(key, tuple))
            yield from ((str(name), _kept(run.resolve(each))) for name, each in inside)
        elif parameter.kind != "args" and isinstance(value, Value):
            yield parameter.name, _kept(run.resolve(value))


def _kept(value: Value) -> Value:
    """An argument as it is kept: a module among the settings is none of the parts of the module that keeps them."""
    return Unknown(Flow(graph=None), held((value,))) if isinstance(value, Module) else value
