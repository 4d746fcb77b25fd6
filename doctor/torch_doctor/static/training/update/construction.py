"""Constructs what takes part in training: optimizers, schedulers, and models of libraries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.periodic import counts
from torch_doctor.static.tables import libraries, models, training, wrappers
from torch_doctor.static.training import copies, places
from torch_doctor.static.training.module import batch_norms, library_models, module_parts
from torch_doctor.static.training.unresolved import presence
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import (
    BUILT,
    NOWHERE,
    Args,
    Call,
    Const,
    Content,
    Either,
    Fact,
    Lib,
    Mode,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Spread,
    Tool,
    Unknown,
    Value,
    constant,
    either,
    held,
)
from torch_doctor.trace import (
    Loaded,
    ModuleBuilt,
    OptimizerBuilt,
    ScalerBuilt,
    SchedulerBuilt,
    Wrapped,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.libraries.library import LibraryModel, Position
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri

_OURS = frozenset(("torch", "builtins")) | sys.stdlib_module_names
"""Packages that no library is."""
_DDP = "torch.nn.parallel.DistributedDataParallel"
_IN_PLACE = frozenset(("torch.nn.DataParallel", _DDP, "torch.compile", "torch.jit.script"))
"""Wrappers that leave a module where it is."""
_CONVERTS = frozenset(("torch.nn.SyncBatchNorm.convert_sync_batchnorm", "apex.parallel.convert_syncbn_model"))
_SURE = 5
"""Its first arguments, which are the same in all versions and say nothing of unused parameters."""
_IGNORED = "_ddp_params_and_buffers_to_ignore"
"""The attribute of a module that names the parameters that it leaves alone."""


@library_family(training.optimizer_of)
def optimizer_built(run: Run, name: str, call: Call) -> Value:
    """Construct one of the optimizers that the tables know."""
    given = call.args[:1] or tuple(
        value for key, value in call.keywords.items() if key in ("params", "parameters", "**")
    )
    modules, whole = parameters.parameters_in(run, given)
    remembers: Tri = True
    if name == "torch.optim.SGD":
        momentum = call.argument(2, "momentum") or Const(0)
        remembers = None if "**" in call.keywords or not isinstance(momentum, Const) else bool(momentum.value)
    return make_optimizer(run, name, modules, call.node, whole=whole and bool(given), remembers=remembers)


def make_optimizer(
    run: Run, name: str, modules: frozenset[int], node: p.Node, *, whole: bool, remembers: Tri = None
) -> Optimizer:
    """Make an optimizer."""
    made: Optimizer = run.own(Optimizer(run.site(node), name, modules, whole=whole))
    run.heap.set(made.facts, Fact.BUILT, value=True)
    taken: dict[str, Any] = {"modules": modules, "whole": whole, "remembers": remembers}
    run.emit(OptimizerBuilt, node, optimizer=made.id, class_name=name, **taken)
    return made


def called(run: Run, optimizer: Optimizer, name: str) -> None:
    """An optimizer gets a name: the event of its construction tells the first."""
    for built in run.trace.of(OptimizerBuilt):
        if built.optimizer == optimizer.id and not built.name:
            run.trace.replace(built, name=name)


@library_family({*training.OPTIMIZER_FACTORIES, *wrappers.AVERAGED}, stage=Stage.ADAPTER)
def made_from_model(run: Run, name: str, call: Call) -> Value:
    """Construct what a library makes of a whole model: an optimizer, or an averaged copy."""
    if name in training.OPTIMIZER_FACTORIES:
        position = training.OPTIMIZER_FACTORIES[name]
        modules, _ = parameters.parameters_in(run, call.args[position : position + 1])
        return make_optimizer(run, name, modules, call.node, whole=False)
    copy = copies.copied(run, call.args[0], call.node) if call.args else Unknown()
    if isinstance(copy, Module):
        run.heap.set(copy.facts, Fact.AVERAGED, value=True)
    return copy


@library_family(training.scheduler_of)
def scheduler_built(run: Run, name: str, call: Call) -> Value:
    """Construct one of the schedulers that the tables know."""
    resumes = bool({"last_epoch", "**"} & call.keywords.keys())
    return make_scheduler(run, name, name, call.values, call.node, resumes=resumes)


@library_family(training.SCHEDULER_PAIRS)
def scheduler_pair(run: Run, name: str, call: Call) -> Value:
    """Construct a scheduler that comes with a number of epochs."""
    made = make_scheduler(run, name, name, call.values, call.node)
    return run.own(Sequence("tuple", Content((made, Plain())), run.site(call.node)))


def make_scheduler(run: Run, name: str, class_name: str, values: Args, node: p.Node, *, resumes: bool = False) -> Tool:
    """Make a learning-rate scheduler that is used as the library's class `name`; `class_name` is what users know it by."""
    made: Tool = run.own(Tool(run.site(node), name, held(values)))
    owner = optimizer_in(run, made.holds)
    counted = [value.symbol for value in values if isinstance(value, (Plain, Unknown)) and counts(value.symbol)]
    taken: dict[str, Any] = {"resumes": resumes, "told": " ".join(map(repr, counted))}
    run.emit(SchedulerBuilt, node, scheduler=made.id, optimizer=owner, class_name=class_name, **taken)
    return made


def optimizer_in(run: Run, numbers: frozenset[int]) -> int:
    """The first optimizer among these objects; 0 where there is none."""
    return min((number for number in numbers if isinstance(run.objects.get(number), Optimizer)), default=0)


@library_family(wrappers.WRAPPERS)
def wrapped(run: Run, name: str, call: Call) -> Value:
    """What a wrapper returns: the module it was given."""
    position = wrappers.WRAPPERS[name]
    value = call.argument(position, "module", "model")
    return _in_wrapper(run, name, position, value, call)


def _in_wrapper(run: Run, name: str, position: Position, value: Value | None, call: Call) -> Value:
    if isinstance(value, Either):
        return either((facts, _in_wrapper(run, name, position, each, call)) for facts, each in value.options)
    if name in wrappers.PARALLEL and isinstance(value, Module):
        awaited = _awaited(run, value, call) if name == _DDP else frozenset[tuple[int, str]]()
        text = run.text_of_argument(call.node, position)
        norms = batch_norms.of_own_rows(run, value)
        run.emit(Wrapped, call.node, module=value.id, name=text, wrapper=name, awaited=awaited, batch_norms=norms)
        return value.within(name)
    if isinstance(value, Module) and name in _CONVERTS:
        for part in module_parts.parts_of(run, value).parts:
            run.heap.set(part.facts, Fact.SYNCHRONISED, value=True)
    if isinstance(value, Module) and name not in _IN_PLACE:
        places.lost_sight(run, module_parts.with_parts(run, frozenset((value.id,))), ())
    if name in wrappers.COMPILERS and isinstance(value, Module):
        run.heap.set(value.facts, Fact.COMPILED, value=True)
    return Unknown() if value is None else value


def _awaited(run: Run, module: Module, call: Call) -> frozenset[tuple[int, str]]:
    """The layers in a module that surely train; none where the wrapper may be told to do without some of them."""
    told = [call.flag(name, default=False) for name in ("find_unused_parameters", "static_graph")]
    open_ = "**" in call.keywords or len(call.args) > _SURE or any(isinstance(value, Spread) for value in call.args)
    if open_ or told != [False, False] or _IGNORED in module.fields:
        return frozenset()
    return frozenset(
        (part.id, name)
        for part in module_parts.parts_of(run, module).parts
        for name, layer in part.fields.items()
        if isinstance(name, str) and isinstance(layer, Module) and module_parts.trainable(run, layer)
    )


@library_family(models.library_model)
def library_module(run: Run, name: str, call: Call) -> Module:
    """A model that a library builds."""
    named = models.named(name, constant(call.argument(0, "model_name") or Unknown()))
    model = library_models.library_model(run, named, call)
    assert model is not None
    return _of_library(run, named, model, call, by=name)


@library_family(
    lambda name: (
        name.partition(".")[0] not in _OURS and not models.library_model(name) and not libraries.harmless(name)
    ),
    stage=Stage.ANY,
)
def installed_module(run: Run, name: str, call: Call) -> Module | None:
    """A module of an installed library that no table has, with layers of its own alone."""
    if held(call.values):
        return None
    model = library_models.library_model(run, name, call)
    return None if model is None else _of_library(run, name, model, call, by=name)


def _of_library(run: Run, name: str, model: LibraryModel, call: Call, by: str) -> Module:
    """A module of a library, under its own name; `by` is what the script calls."""
    settings = dict(call.keywords)
    made: Module = run.own(
        Module(
            run.site(call.node), layer=name, sensitive=model.sensitive, name=name, settings=settings, given=call.args
        )
    )
    made.facts[Fact.MODE] = Mode(0, model.training)
    made.facts[Fact.ORIGIN] = BUILT if name.startswith("torchvision.") else NOWHERE  # others may be told a device
    made.facts[Fact.INITIALISED] = True
    if not (model.layer and (run.building or run.modules_called)):
        run.emit(ModuleBuilt, call.node, module=made.id, class_name=name, sensitive=model.sensitive, parameters=True)
    if library_models.pretrained(by, call) is True:
        run.emit(Loaded, call.node, module=made.id, name="", pretrained=True)
    return made


@library_family(training.SCALERS)
def scaler_built(run: Run, name: str, call: Call) -> Tool:
    """Construct a gradient scaler."""
    scaler: Tool = run.own(Tool(run.site(call.node), name, keywords=call.keywords))
    run.of(presence.Scalers).any = True
    unseen = isinstance(call.argument(len(call.args), "enabled"), (Lib, Unknown))
    run.emit(ScalerBuilt, call.node, scaler=scaler.id, enabled=call.flag("enabled", default=True), unseen=unseen)
    return scaler


@library_family({*training.OPTIMIZER_WRAPPERS, *training.LOADER_WRAPPERS}, stage=Stage.ADAPTER)
def wrapper_built(_: Run, name: str, call: Call) -> Value:
    """What wraps an optimizer or a loader stands for it."""
    position = training.OPTIMIZER_WRAPPERS.get(name, training.LOADER_WRAPPERS.get(name, 0))
    return call.argument(position, "optimizer") or Unknown()


@library_family(training.PREPARES)
def prepared(run: Run, _: str, call: Call) -> Value:
    """A model and an optimizer are made ready for mixed precision."""
    return arguments_again(run, call.with_args(call.args[:2]))


def arguments_again(run: Run, call: Call) -> Value:
    """The arguments as they were given, perhaps moved: one alone, several as a tuple."""
    numbers = held(call.args)
    places.lost_sight(run, module_parts.with_parts(run, numbers), numbers)
    if len(call.args) == 1 and not isinstance(call.args[0], Spread):
        return call.args[0]
    items = tuple(value for value in call.args if not isinstance(value, Spread))
    rest = next((value.content.rest for value in call.args if isinstance(value, Spread)), None)
    return run.own(Sequence("tuple", Content(items, rest), run.site(call.node), run.frame.what))
