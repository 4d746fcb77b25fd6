"""One fit, validation, test or prediction of Lightning's trainer: what it calls before the batches, and where it gets these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.frameworks import batches, lightning_optimizers
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    ClassValue,
    Const,
    Instance,
    Loader,
    Mapping,
    Module,
    Plain,
    Sequence,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.static.values.symbols import LENGTH

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Feeding(Struct, frozen=True):
    """Where the trainer gets the rows of a stage: an argument, a data module or the module, and what the user calls it."""

    loaders: tuple[Value, ...]
    over: str
    given: Value = NOTHING


class Fit(Struct, frozen=True):
    """One call of a trainer's method; without `trainer` nobody in sight calls one, and all that a module has is used."""

    run: Run
    module: Module
    node: p.Node
    method: str = ""
    call: Call | None = None
    trainer: Tool | None = None
    data: Instance | None = None
    callbacks: tuple[Value, ...] = ()

    def hook(self, name: str, *args: Value) -> Value | None:
        """Call a hook of callbacks and the module with as many of the arguments as it takes; None where the module has none."""
        for each in self.callbacks:
            if isinstance(each, Instance) and self.trainer is not None:
                _hook(self.run, each, name, Call((self.trainer, self.module, *args), {}, self.node))
        kept = name == lightning.CONFIGURING and self.followed and lightning_optimizers.is_manual(self.module)
        return _hook(self.run, self.module, name, Call(args, {}, self.node), kept=kept)

    @property
    def followed(self) -> bool:
        """Whether all is in sight that the trainer calls."""
        known = all(is_followed(each) for each in self.callbacks)
        return self.trainer is not None and known and not self.has("configure_callbacks")

    def has(self, name: str) -> bool:
        """Whether the module has a hook of its own."""
        return module_parts.method_of(self.module, name) is not None


def callbacks_of(run: Run, trainer: Tool) -> tuple[Value, ...]:
    """The callbacks that a trainer was given."""
    given = run.resolve(trainer.keywords.get("callbacks", NOTHING))
    if isinstance(given, Sequence):
        return tuple(run.resolve(each) for each in given.content.all())
    return () if isinstance(given, Const) and given.value is None else (given,)


def is_followed(callback: Value) -> bool:
    """Whether what a callback does is in sight, or leaves the module as it is."""
    if isinstance(callback, Instance):
        return {canonical(name) for name in callback.cls.libraries()} == {"lightning.Callback"}
    return isinstance(callback, Tool) and canonical(callback.name) in lightning.LOOKING_ON


def is_lightning(cls: ClassValue) -> bool:
    """Whether a class is a LightningModule."""
    return any(canonical(name) == "lightning.LightningModule" for name in cls.libraries())


def is_data_module(cls: ClassValue) -> bool:
    """Whether a class is a LightningDataModule."""
    return any(canonical(name) in lightning.LIGHTNING.data_modules for name in cls.libraries())


def prepare(fit: Fit, stage: str) -> None:
    """Call what makes the data and the module ready for a stage."""
    told = Const(stage) if fit.trainer is not None else Plain()
    for name, args in (("prepare_data", ()), ("setup", (told,))):
        if fit.data is not None:
            _hook(fit.run, fit.data, name, Call(args, {}, fit.node))
        fit.hook(name, *args)


def configure(fit: Fit, rows: Feeding) -> lightning_optimizers.Driven:
    """Call what makes the optimizers and schedulers, for the rows that they are trained on."""
    run, module = fit.run, fit.module
    if fit.trainer is not None:
        run.heap.set(module.fields, "trainer", fit.trainer)
        first = next((each for each in rows.loaders if isinstance(each, Loader)), None)
        if first is not None:
            batches_of, passes = window(fit), (".", ("object", fit.trainer.id), "max_epochs")
            each = (LENGTH, first.id) if batches_of == 1 else ("//", (LENGTH, first.id), ("const", batches_of))
            updates = Plain(("*", each, passes))
            run.heap.set(fit.trainer.fields, "estimated_stepping_batches", updates)
            run.heap.set(fit.trainer.fields, "num_training_batches", Plain((LENGTH, first.id)))
        most = fit.trainer.keywords.get(lightning.MOST)
        if most is not None:
            run.heap.set(fit.trainer.fields, lightning.MOST, most)
    configured = fit.hook(lightning.CONFIGURING)
    return lightning_optimizers.driven(run, module, NOTHING if configured is None else configured)


def window(fit: Fit) -> int:
    """How many batches the trainer takes for an update, at least; 0 where that is not known."""
    given = dict(fit.trainer.keywords) if fit.trainer is not None else {}
    if not given.keys().isdisjoint(lightning.OTHER_STEPS):
        return 0
    known = [fit.run.resolve(given[lightning.WINDOW])] if lightning.WINDOW in given else []
    for each in fit.callbacks:
        if isinstance(each, Tool) and canonical(each.name) == lightning.WINDOWS:
            known += [fit.run.resolve(value) for value in (*each.args, *each.keywords.values())]
    lengths = [_shortest(each) for each in known]
    return lengths[0] if len(lengths) == 1 else int(not lengths)


def _shortest(given: Value) -> int:
    """The shortest of the windows that a trainer is told: a number, or one by the epoch in which it begins; 0: not known."""
    told: list[object] = [given]
    if isinstance(given, Mapping):
        told = [*given.fields.values(), *([] if ("key", 0) in given.fields else [Const(1)])]
    lengths = [each.value for each in told if isinstance(each, Const) and type(each.value) is int]
    return min(lengths) if lengths and len(lengths) == len(told) else 0


def fed(fit: Fit, stage: lightning.TrainerStage) -> Feeding:
    """The loaders of a stage: those of the call come first, then those of the data module, then those of the module."""
    run = fit.run
    position = 1 if fit.method == stage.name else 2
    given = fit.call.argument(position, *stage.arguments) if fit.call is not None else None
    if given is not None and given is not fit.data and not (isinstance(given, Const) and given.value is None):
        texts = (run.text_of_argument(fit.node, position, name) for name in stage.arguments)
        return Feeding(_several(run, given), next(filter(None, texts), stage.over), _uncombined(run, given))
    for owner in (fit.data, fit.module):
        function = module_parts.method_of(owner, stage.dataloader) if owner is not None else None
        if owner is not None and function is not None:
            made = run.call(Bound(function, owner), Call((), {}, fit.node))
            over = f"{owner.cls.name if owner.cls else ''}.{stage.dataloader}()"
            return Feeding(_several(run, made), over, _uncombined(run, made))
    return Feeding((Unknown(),), stage.over)


def _several(run: Run, given: Value) -> tuple[Value, ...]:
    """The loaders that a stage goes through, one after the other or side by side."""
    given = _uncombined(run, given)
    inside = () if isinstance(given, Loader) else batches.parts_of(given)
    return tuple(each for _, item in inside for each in _several(run, item)) or (given,)


def _uncombined(run: Run, given: Value) -> Value:
    """What a loader goes through that goes through others."""
    given = run.resolve(given)
    if isinstance(given, Tool) and canonical(given.name) in lightning.COMBINED:
        return run.resolve(next(iter((*given.args, *given.keywords.values())), given))
    return given


def _hook(run: Run, thing: Module | Instance, name: str, call: Call, *, kept: bool = False) -> Value | None:
    """Call a hook; `kept`: the trainer does nothing of its own with what it returns."""
    function = module_parts.method_of(thing, name)
    if function is None:
        return None
    wanted = sum(parameter.kind == "plain" for parameter in function.node.parameters) - 1
    result = run.call(Bound(function, thing), Call(call.args[: max(wanted, 0)], {}, call.node))
    for observe in () if kept else run.observers.handed_back:
        observe(run, result, function.node)
    return result
