"""LightningCLI: it builds a model, its data and a trainer of classes that it is given, and fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.frameworks import lightning_fit, lightning_loops
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import constructing, escaping
from torch_doctor.static.values import NOTHING, Call, ClassValue, Const, Instance, Mapping, Module, Tool, Unknown, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def is_cli(cls: ClassValue) -> bool:
    """Whether a class of the project is one of it."""
    return any(canonical(name) in lightning.CLI for name in cls.libraries())


def started(run: Run, cli: Tool | Instance, call: Call) -> None:
    """Build what the classes say, with arguments that come from the command line, and fit where nothing else is asked for."""
    model = None if lightning.CHOSEN_BY_CLI & call.keywords.keys() else _made(run, call, 0)
    if not isinstance(model, Module):
        return
    data, trainer = _made(run, call, 1), _trainer(run, call)
    for name, value in (("model", model), ("datamodule", data or Unknown()), ("trainer", trainer)):
        run.heap.set(cli.fields, name, value)
    asked = run.resolve(call.keywords.get("run", Const(value=True)))
    if not (isinstance(asked, Const) and asked.value is True):
        return
    if module_parts.method_of(model, "configure_optimizers") is not None:  # else the command line names the optimizer
        keywords = {"datamodule": data} if data is not None else {}
        for stage in (lightning.TRAIN, lightning.TEST):
            lightning_loops.called(run, trainer, stage.name, Call((model,), keywords, call.node, "LightningCLI"))
    given = (trainer, model, data or Unknown())
    escaping.hand_over(run, "LightningCLI", given, (), call.node)


def _made(run: Run, call: Call, position: int) -> Value | None:
    """An object of one of the classes that are given; None where it is given none that is known."""
    cls = run.resolve(call.argument(position, lightning.CLASSES_OF_CLI[position]) or NOTHING)
    wanted = (lightning_fit.is_lightning, lightning_fit.is_data_module)[position]
    return run.resolve(constructing.construct(run, cls)) if isinstance(cls, ClassValue) and wanted(cls) else None


def _trainer(run: Run, call: Call) -> Tool:
    """The trainer, with what is set for it; the command line may add callbacks."""
    told = run.resolve(call.keywords.get("trainer_defaults", NOTHING))
    fields = told.fields if isinstance(told, Mapping) else {}
    keywords = {key[1]: value for key, value in fields.items() if isinstance(key, tuple) and isinstance(value, Value)}
    made: Tool = run.own(
        Tool(run.site(call.node), "lightning.Trainer", frozenset(), (), {**keywords, "callbacks": Unknown()})
    )
    return made
