"""Calls of libraries: what the tables say of a name is what calling it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import builtin_functions, narrowing, outside, streams
from torch_doctor.static.tables import data, functions, launchers, layers, libraries, losses, models, sinks, training
from torch_doctor.static.tables.memory import CHANGING_FIRST
from torch_doctor.static.tables.outdated import OF_LOSSES, OF_SCHEDULERS, OF_VARIABLES
from torch_doctor.static.training import (
    built_in_forward,
    checkpoints,
    construction,
    copies,
    devices,
    distributions,
    fitting,
    framework_calls,
    functional_dropout,
    grad_modes,
    gradients,
    initialising,
    loaders,
    logged,
    loss_building,
    memory,
    module_building,
    module_methods,
    module_parts,
    outdated,
    parameters,
    paths,
    pixels,
    places,
    rows,
    settings,
    splitting,
    sums,
    tensors,
    timing,
    workers,
)
from torch_doctor.static.values import (
    PACKED,
    Args,
    Bound,
    Const,
    Content,
    Either,
    FunctionValue,
    Grads,
    Keywords,
    Lib,
    Mapping,
    Module,
    ParameterValue,
    Partial,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Tool,
    Unknown,
    Value,
    held,
    plain_from,
    unpacked,
)
from torch_doctor.trace import FiniteChecked, ScalerBuilt, WriterBuilt

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor

_PLAIN_ROOTS = frozenset(
    [
        "numpy",
        "math",
        "os",
        "time",
        "argparse",
        "json",
        "random",
        "logging",
        "sys",
        "pathlib",
        "yaml",
        "pandas",
        "matplotlib",
        "datetime",
        "collections",
        "itertools",
        "re",
        "sklearn",
        "scipy",
        "warnings",
        "string",
        "glob",
        "csv",
        "pickle",
        "shutil",
        "cv2",
        "PIL",
        "click",
    ]
)


def call_library(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one branch per table
    """Call something of a library by its canonical name."""
    if name.startswith("builtins."):
        return builtin_functions.call_builtin(run, name[9:], args, keywords, node, spelling)
    if data.draws(name):
        rows.drawn(run, name, node)
    if name in losses.LOSSES:
        if keywords:
            outdated.given(run, name, OF_LOSSES, keywords, node)
        if name.startswith(("torch.nn.functional.", "torchvision.ops.")):
            return tensors.compute_loss(run, name, args, keywords, node, spelling)
        return loss_building.build_loss(run, name, args, keywords, node, spelling)
    if name.startswith(initialising.INIT):
        initialising.initialised(run, name, args, keywords, node)
    if name in layers.LAYERS or name in layers.CONTAINERS or name in layers.PARAMETER_CONTAINERS:
        return module_building.build_layer(run, name, args, keywords, node)
    if name == "torch.nn.Parameter":
        built_in_forward.parameter(run, args, keywords, node)
        return run.own(ParameterValue(run.site(node), declared=True))
    if name.endswith(".__init__") and args and isinstance(args[0], Module):  # a base initialised by name
        return module_methods.of_base(run, args[0], "__init__", args[1:], keywords, node, spelling)
    if name.startswith("torch.nn.Module.") and args and isinstance(args[0], Module):  # a method of the base by name
        return module_methods.of_base(
            run, args[0], name.rpartition(".")[2], args[1:], keywords, node, run.text_of_argument(node, 0)
        )
    if name in timing.CLOCKS:
        return timing.read(run, node)
    if name == "torch.device":
        return devices.made(args, keywords)
    if name in places.DEFAULTS:
        run.default_device = True
    known = functions.FUNCTIONS.get(name)
    if keywords and name == "torch.autograd.Variable":
        outdated.given(run, name, OF_VARIABLES, keywords, node)
    if name in functional_dropout.ALWAYS_ON:
        functional_dropout.called(run, name, args, keywords, node)
    if known is not None:
        result = tensors.call_function(run, name, known, tuple(map(unpacked, args)), keywords, node)
        if name in functions.PACKS:
            return run.own(Sequence(PACKED, Content((result, Plain(), Plain(), Plain())), run.site(node)))
        if name == "torch.is_tensor" and args:
            narrowing.to_tensor(run, args[0], result, node)
        return result
    if name in training.GRAD_MODES:
        return grad_modes.enter_grad_mode(run, name, args, keywords, node)
    switch = settings.called(run, name, args, keywords, node, spelling)
    if switch is not None:
        return switch
    if training.optimizer_of(name):
        return construction.optimizer_built(run, name, args, keywords, node)
    if training.scheduler_of(name):
        if name.startswith("torch."):
            outdated.given(run, name, OF_SCHEDULERS, keywords, node)
        return construction.scheduler_built(run, name, args, keywords, node)
    if name in training.SCALERS:
        scaler: Tool = run.own(Tool(run.site(node), name))
        run.scales = True
        enabled = keywords.get("enabled")
        run.emit(
            ScalerBuilt,
            node,
            scaler=scaler.id,
            enabled=bool(enabled.value) if isinstance(enabled, Const) else None if enabled else True,
        )
        return scaler
    if training.loader_of(name):
        return loaders.loader_built(run, name, args, keywords, node)
    if name in models.WRAPPERS:
        return construction.wrapped(run, name, args, keywords, node)
    if name in training.CLIPS:
        gradients.clipped(run, name, args, keywords, node)
        return Tensor()
    if name in training.SAVES:
        return checkpoints.saved(run, training.SAVES[name], args, keywords, node)
    if name in training.LOADS:
        checkpoints.loaded(run, args, keywords, node)
    if name == "copy.copy" and args and isinstance(args[0], Mapping):
        return builtin_functions.dictionary(run, args[:1], {}, node)
    if name in training.COPIES and args:
        return copies.copied(run, args[0], node)
    if name in training.AUTOGRAD_GRAD:
        return gradients.autograd_grad(run, args, keywords, node)
    if name in training.BACKWARDS or name in training.DISTRIBUTED_BACKWARD:
        return gradients.backward_function(run, name, args, keywords, node)
    if name in training.SCALED_LOSSES and args:
        run.emit(FiniteChecked, node, function=spelling)  # it skips the steps whose gradients overflow
        return args[0]
    if name in training.PREPARES:
        return construction.arguments_again(run, args[:2], node)
    model = models.library_model(name)
    if model is not None:
        return construction.library_module(run, name, model, keywords, node)
    launcher = launchers.LAUNCHERS.get(name)
    if launcher is not None:
        launched = outside.launched(run, launcher, args, keywords, node)
        if launched is not None:
            return launched
    passed = libraries.PASS_THROUGH.get(name)
    if passed is not None:
        return streams.passed_through(run, passed, args, keywords, name if name in sinks.BARS else "")
    framed = framework_calls.framework_call(run, name, args, keywords, node)
    if framed is not None:
        return framed
    if name in training.OPTIMIZER_WRAPPERS or name in training.LOADER_WRAPPERS:
        position = training.OPTIMIZER_WRAPPERS.get(name, training.LOADER_WRAPPERS.get(name, 0))
        return args[position] if position < len(args) else keywords.get("optimizer", Unknown())
    if name in training.OPTIMIZER_FACTORIES or name in models.AVERAGED:
        return construction.made_from_model(run, name, args, node)
    return _other(run, name, args, keywords, node, spelling)


def _applied(run: Executor, name: str, args: Args, node: p.Node) -> Value:
    """Call what is given first, as `data_parallel(module, inputs, devices)` and `checkpoint(function, *args)` do."""
    given = args[models.APPLIED[name] :]
    if not name.endswith(".checkpoint"):  # one input, or a tuple of several
        first = given[0] if given else Unknown()
        given = first.content.items if isinstance(first, Sequence) else (first,)
    return run.call(args[0], given, {}, node)


def _other(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:
    if name in sinks.SINKS:
        logged.logged(run, name, args, keywords, node, spelling)
    if len(args) == 1 and isinstance(args[0], Plain) and args[0].tells_version:
        return plain_from(args)  # `packaging.version.parse(torch.__version__)`
    if name.startswith("torch.distributed.") and args and isinstance(args[0], Grads):
        parameters.gradients_changed(run, args[0], node)  # they become those of all processes
    if name in models.APPLIED and args and isinstance(args[0], (Module, Bound, FunctionValue, Either)):
        return _applied(run, name, args, node)
    if (drawn := distributions.made(run, name, args, keywords, node)) is not None:
        return drawn
    if name in libraries.RANGES:
        return Stream(Plain(), bar=name if name in sinks.BARS else "")
    if name == "functools.partial" and args:
        return Partial(args[0], args[1:], keywords)
    if name == "collections.deque":
        return builtin_functions.deque(run, args, keywords, node)
    if name in ("collections.defaultdict", "collections.OrderedDict", "collections.Counter"):
        first = 1 if name.endswith("defaultdict") else 0
        return builtin_functions.dictionary(
            run, args[first:], keywords, node, () if name.endswith("OrderedDict") else args[:1]
        )
    if (name.startswith("torch.cuda.") and name.endswith("is_available")) or name == "torch.cuda.device_count":
        return Plain(("flag", name))
    root = name.partition(".")[0]
    values = [*args, *keywords.values()]
    if (source := workers.generator(run, name, node)) is not None:
        return source
    if (picture := pixels.of_library(run, name, args, keywords, node)) is not None:
        return picture
    if root in fitting.ROOTS and (made := fitting.of_library(run, name, args, keywords, node)) is not None:
        return made
    if (
        name in libraries.MEANS
        and args
        and isinstance(node, p.Call)
        and isinstance(node.args[0], (p.Name, p.Attribute))
        and "weights" not in keywords  # else each counts as much as it is said to
    ):
        average = sums.averaged(run, args[0], node)
        if average is not None:
            return plain_from(values, flow=Flow(sums=frozenset((average,))))
    if run.shares.arrays:
        holder = args[0] if args and name in CHANGING_FIRST else keywords.get("out")
        if holder is not None:
            memory.changed(run, holder, run.text_of_argument(node, 0) if args else "out", node)
    if root in _PLAIN_ROOTS and libraries.harmless(name):
        return plain_from(values, memory.symbol_of(name))
    if name in data.SUBSETS and len(args) > 1:
        splitting.indexed(run, args[0], args[1])
    if name in data.SPLITS:
        return rows.split(run, name, args, keywords, node)
    if name.endswith(".SummaryWriter"):
        shared = paths.shared(run, node, 0, "log_dir", "logdir") if args or keywords else True
        run.emit(WriterBuilt, node, name=spelling, shared=shared)
        return run.own(Tool(run.site(node), name))
    if name.startswith(("torch.utils.data.", "torchvision.datasets")) or data.iterable(name) is not None:
        return run.own(Tool(run.site(node), name, args=args, keywords=keywords))
    if name.rpartition(".")[2][:1].isupper() and libraries.harmless(name):
        places.lost_sight(run, module_parts.with_parts(run, held(values)), ())
        return run.own(Tool(run.site(node), name, held(values), args, keywords))
    return outside.opaque(run, Lib(name), args, keywords, node, spelling)
