"""Calls and methods of frameworks that own the loop or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.accounts import windows
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.libraries import lightning
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.tables import frameworks, launchers, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import places
from torch_doctor.static.training.frameworks import (
    batches,
    framework_loops,
    lightning_best,
    lightning_cli,
    lightning_fit,
    lightning_loops,
    lightning_settings,
    preparing,
    trainers,
)
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.training.update import construction, gradients
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    Const,
    Content,
    Fact,
    FunctionValue,
    Instance,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Tool,
    Unknown,
    Value,
    held,
    leaves,
)
from torch_doctor.static.values.symbols import NEUTRAL
from torch_doctor.trace import Owned, Stepped

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.framework import Method


_ENGINES = {*frameworks.ENGINE_TRAINERS, *frameworks.ENGINE_EVALUATORS, *frameworks.ENGINE_STEPS}


@library_family(frameworks.ENGINE_TRAINERS | frameworks.ENGINE_EVALUATORS, stage=Stage.ADAPTER)
def supervised_engine(run: Run, name: str, call: Call) -> Tool:
    """An engine that trains or evaluates a model by itself."""
    run.emit(Owned, call.node, framework="ignite")
    framework_loops.supervised(run, call, trains=name in frameworks.ENGINE_TRAINERS)
    return run.own(Tool(run.site(call.node), "ignite.engine.Engine"))


@library_family(frameworks.ENGINE_STEPS, stage=Stage.ADAPTER)
def engine(run: Run, name: str, call: Call) -> Tool:
    """An engine that calls the user's function for every batch."""
    run.emit(Owned, call.node, framework="ignite")
    step = call.argument(0, "process_function") or NOTHING
    made: Tool = run.own(Tool(run.site(call.node), name))
    if isinstance(step, (FunctionValue, Bound)):
        batches.every(run, call.node, lambda batch: run.call(step, Call((made, batch), {}, call.node)))
    return made


@library_family({*frameworks.WRAPS} - {*training.OPTIMIZER_WRAPPERS}, stage=Stage.ADAPTER)
def wrapped(_: Run, name: str, call: Call) -> Value:
    """What a framework returns wrapped stands for what it was given."""
    return call.argument(frameworks.WRAPS[name]) or Unknown()


@library("deepspeed.initialize")
def deepspeed(run: Run, __: str, call: Call) -> Sequence:
    """The engine that deepspeed returns stands for the model, which it steps, and puts where it wants."""
    model = call.argument(1, "model") or Unknown()
    optimizer = call.argument(2, "optimizer") or Unknown()
    for engine_of in (run.objects.get(number) for number in held((model,))):
        if isinstance(engine_of, Module):
            run.heap.set(engine_of.facts, Fact.ENGINE, run.resolve(optimizer))
            places.lost_sight(run, module_parts.parts_of(run, engine_of).owners, ())
    return Sequence("tuple", Content((model, optimizer, Unknown(), Plain())))


@library(*lightning.COMBINED, *lightning.LOOKING_ON)
def kept_arguments(run: Run, name: str, call: Call) -> Tool:
    """A loader of Lightning that goes through others, or a callback that leaves the module as it is."""
    return run.own(Tool(run.site(call.node), name, held(call.values), call.args, dict(call.keywords)))


@library(*lightning.CLI)
def command_line(run: Run, name: str, call: Call) -> Tool:
    """What builds all from the command line, and fits."""
    made: Tool = run.own(Tool(run.site(call.node), name))
    lightning_cli.started(run, made, call)
    return made


@library_family({*frameworks.OWNERS, *frameworks.FACTORIES} - _ENGINES, stage=Stage.ADAPTER)
def owner_built(run: Run, name: str, call: Call) -> Tool:
    """Construct what owns the loop, or a part of it."""
    owner = frameworks.FACTORIES.get(name, name)
    framework = frameworks.OWNERS[owner]
    values = call.values
    tool: Tool = run.own(Tool(run.site(call.node), owner, held(values), call.args, dict(call.keywords)))
    followed = framework is lightning.LIGHTNING
    run.emit(Owned, call.node, framework=framework.name, details=windows.settings(call), followed=followed)
    windows.built(run, tool, call)
    trainers.constructed(run, tool, call)
    if framework.owns_gradients:
        kept = trainers.held_until_asked(run, tool)
        given = tuple(value for value in values if value not in kept)
        escaping.hand_over(run, name, given, given, call.node)
        places.lost_sight(run, module_parts.with_parts(run, frozenset(each.id for each in kept)), ())
    return tool


def framework_method(run: Run, of: Tool, name: str, call: Call) -> Value | None:
    """A method of a framework's object; None where the framework says nothing of it."""
    framework = frameworks.OWNERS.get(of.name)
    if framework is None:
        return None
    launcher = launchers.LAUNCHER_METHODS.get(f"{of.name}.{name}")
    if launcher is not None:
        launched = opaque_calls.launched(run, launcher, call)
        if launched is not None:
            return launched
    known = framework.methods.get(name)
    if known is None:
        if framework.owns_gradients:
            return opaque_calls.opaque(run, of, call)
        return Plain() if not call.args else Unknown(Flow(graph=None), held(call.values))
    position = known.of or 0
    given = call.argument(position) or next(iter(call.keywords.values()), Unknown())
    if "loop" in known.acts:
        return _looped(run, of, name, call)
    if "backward" in known.acts:
        gradients.backward(
            run,
            given,
            Call((), call.keywords, call.node, run.text_of_argument(call.node, position)),
            through=f"{call.receiver}.{name}",
            as_is="as_is" in known.acts,
        )
    if "prepare" in known.acts:
        call = preparing.prepared(run, of, call)
    if "clip" in known.acts:
        gradients.clipped(run, f"{of.name}.{name}", call, managed=True)
    if "step" in known.acts:
        modules = module_parts.with_parts(run, frozenset(n for n in of.holds if isinstance(run.objects.get(n), Module)))
        run.emit(
            Stepped,
            call.node,
            optimizer=0,
            name=call.receiver,
            modules=modules,
            whole=False,
            clears="clear" in known.acts,
        )
    if "gather" in known.acts:
        preparing.gathered(run, name, call)
    if "opaque" in known.acts:
        return opaque_calls.opaque(run, of, call)
    return _returned(run, of, known, call)


def inherited(run: Run, of: Instance, name: str, call: Call) -> Value | None:
    """A method that a class of the project has from Fabric, whose loops it writes itself, or a data module; None for any other."""
    if name == lightning.SAVING and lightning_fit.is_data_module(of.cls):
        lightning_settings.saved(run, of, call)
        return NOTHING
    base = next((each for each in map(canonical, of.cls.libraries()) if each in lightning.FABRIC.owners), "")
    return framework_method(run, run.own(Tool(of.born, base)), name, call) if base else None


def _returned(run: Run, of: Tool, known: Method, call: Call) -> Value:
    """What a method of a framework's object returns, by its description."""
    given = call.argument(known.of or 0) or next(iter(call.keywords.values()), Unknown())
    if known.returns == "same":
        return given
    if known.returns == "bare":
        return preparing.bare(run, given)
    if known.returns == "arguments":
        return construction.arguments_again(run, call)
    if known.returns == "nothing":
        return NOTHING
    if known.returns == "neutral":
        return Plain()
    if known.returns == "tensor":
        return Unknown(given.flow.cut())
    if "window" in known.acts and windows.entered(run, of):
        return Unknown(Flow(graph=None), symbol=(NEUTRAL, of.id))
    return Unknown(Flow(graph=None))


def _looped(run: Run, of: Tool, name: str, call: Call) -> Unknown:
    """What a method of a framework's object does that runs the loop: what callbacks out of sight may do comes on top."""
    framework = frameworks.OWNERS[of.name]
    seen = framework is lightning.LIGHTNING and lightning_loops.called(run, of, name, call)
    if framework is lightning.LIGHTNING and not seen:
        run.emit(Owned, call.node, framework=framework.name)
    stored = run.resolve(call.keywords.get("ckpt_path", NOTHING))
    own = isinstance(stored, Const) and stored.value in lightning.OWN_CHECKPOINTS
    followed = seen and own and lightning_loops.followed(run, of)
    left = [value for value in call.values if not (followed or (seen and not isinstance(run.resolve(value), Module)))]
    escaping.hand_over(run, f"{call.receiver}.{name}", (of, *left), (), call.node, keeps_modes=followed)
    return Unknown()


def _toggled_off(run: Run, of: Module, loss: Value) -> frozenset[int]:
    """What gets no gradients of a loss since an optimizer was toggled: what only others have."""
    toggled, known = of.fact(Fact.TOGGLED), of.fact(Fact.OPTIMIZERS)
    if toggled is None or not isinstance(known, Sequence) or min(loss.flow.forwards, default=-1) < toggled[1]:
        return frozenset()
    optimizers = [each for each in leaves(known) if isinstance(each, Optimizer)]
    own = frozenset[int]().union(*(each.modules for each in optimizers if each.id == toggled[0]))
    return frozenset[int]().union(*(each.modules for each in optimizers)) - own if own else frozenset()


def owned_method(run: Run, of: Module, name: str, call: Call) -> Value | None:
    """A method that a framework gives its modules; None where it says nothing of it."""
    if name in ("manual_backward", "backward") and call.args:
        gradients.backward(
            run,
            call.args[0],
            Call((), call.keywords, call.node, run.text_of_argument(call.node, 0)),
            through=f"{call.receiver}.{name}",
            as_is=name in lightning.LIGHTNING_MANUAL,
            frozen=_toggled_off(run, of, call.args[0]),
        )
        return NOTHING
    engine = of.fact(Fact.ENGINE)
    if name == "step" and isinstance(engine, Optimizer):
        gradients.stepped(run, engine, call.node, call.receiver, clears=True)
        return NOTHING
    if name == "step" and (of.cls is None or engine is not None):
        run.emit(
            Stepped,
            call.node,
            optimizer=0,
            name=call.receiver,
            modules=module_parts.parts_of(run, of).owners,
            whole=False,
            clears=True,
        )
        return NOTHING
    if name in ("optimizers", "lr_schedulers"):
        known = of.fact(Fact.OPTIMIZERS if name == "optimizers" else Fact.SCHEDULERS)
        if isinstance(known, Value):
            return known
        if name == "optimizers":
            return run.own(Optimizer(None, "", module_parts.parts_of(run, of).owners, whole=False))
    given = run.resolve(call.argument(0, "optimizer") or NOTHING)
    if name in ("toggle_optimizer", "untoggle_optimizer"):
        toggled = (given.id, len(run.trace.events)) if isinstance(given, Optimizer) and name[0] == "t" else None
        run.heap.set(of.facts, Fact.TOGGLED, toggled)
        return NOTHING
    if name == "clip_gradients":
        gradients.clipped(run, "lightning.LightningModule.clip_gradients", Call((given,), {}, call.node), managed=True)
    if name in lightning.OWN_LOGS:
        lightning_best.logged(run, of, name, call)
    if of.cls is not None and lightning_fit.is_lightning(of.cls):
        if name == lightning.SAVING:
            lightning_settings.saved(run, of, call)
        if name in lightning.THAWING:
            for method in ("requires_grad_", "train"):
                switched = Call((Const(lightning.THAWING[name]),), {}, call.node, call.receiver)
                run.call(run.attribute(of, method, call.node), switched)
            return NOTHING
    if name in lightning.LIGHTNING_MANUAL:
        return Unknown(Flow(graph=None)) if lightning.LIGHTNING_MANUAL[name].returns != "nothing" else NOTHING
    if name in ("log", "log_dict", "print", "save_hyperparameters"):
        return NOTHING
    return None
