"""Calls and methods of frameworks that own the loop or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import outside
from torch_doctor.static.tables import frameworks, launchers
from torch_doctor.static.training import construction, framework_loops, gradients, module_parts
from torch_doctor.static.values import (
    NOTHING,
    Args,
    Bound,
    Content,
    Fact,
    FunctionValue,
    Keywords,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Tool,
    Unknown,
    Value,
    held,
)
from torch_doctor.trace import Owned, Stepped

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def framework_call(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
    """Call something of a framework; None where the name is none of theirs."""
    if name in frameworks.ENGINE_TRAINERS or name in frameworks.ENGINE_EVALUATORS:
        run.emit(Owned, node, framework="ignite")
        framework_loops.supervised(run, args, keywords, node, trains=name in frameworks.ENGINE_TRAINERS)
        return run.own(Tool(run.site(node), "ignite.engine.Engine"))
    if name in frameworks.ENGINE_STEPS:
        run.emit(Owned, node, framework="ignite")
        step = args[0] if args else keywords.get("process_function", NOTHING)
        engine: Tool = run.own(Tool(run.site(node), name))
        if isinstance(step, (FunctionValue, Bound)):
            framework_loops.every_batch(run, node, lambda batch: run.call(step, (engine, batch), {}, node))
        return engine
    for framework in frameworks.FRAMEWORKS:
        if name in framework.wraps:
            position = framework.wraps[name]
            return args[position] if position < len(args) else Unknown()
    if name == "deepspeed.initialize":
        model = keywords.get("model") or (args[1] if len(args) > 1 else Unknown())
        optimizer = keywords.get("optimizer", Unknown())
        return Sequence("tuple", Content((model, optimizer, Unknown(), Plain())))
    owner = frameworks.FACTORIES.get(name, name)
    found = frameworks.OWNERS.get(owner)
    if found is None:
        return None
    values = [*args, *keywords.values()]
    tool: Tool = run.own(Tool(run.site(node), owner, held(values), args, dict(keywords)))
    run.emit(Owned, node, framework=found.name)
    if found.owns_gradients:
        outside.hand_over(run, name, values, values, node)
    return tool


def framework_method(  # noqa: C901, PLR0911, PLR0912 - one branch per act
    run: Executor, of: Tool, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
) -> Value | None:
    """A method of a framework's object; None where the framework says nothing of it."""
    framework = frameworks.OWNERS.get(of.name)
    if framework is None:
        return None
    launcher = launchers.LAUNCHER_METHODS.get(f"{of.name}.{name}")
    if launcher is not None:
        launched = outside.launched(run, launcher, args, keywords, node)
        if launched is not None:
            return launched
    known = framework.methods.get(name)
    if known is None:
        if framework.owns_gradients:
            return outside.opaque(run, of, args, keywords, node, f"{receiver}.{name}")
        return Plain() if not args else Unknown(Flow(graph=None), held((*args, *keywords.values())))
    position = known.of or 0
    given = args[position] if position < len(args) else next(iter(keywords.values()), Unknown())
    if "loop" in known.acts:
        for value in (*args, *keywords.values()):
            if isinstance(value, Module) and framework is frameworks.LIGHTNING:
                framework_loops.drive_lightning(run, value, node)
        outside.hand_over(run, f"{receiver}.{name}", [of, *args, *keywords.values()], [], node)
        return Unknown()
    if "backward" in known.acts:
        gradients.backward(
            run, given, node, run.text_of_argument(node, position), through=f"{receiver}.{name}", keywords=keywords
        )
    if "clip" in known.acts:
        gradients.clipped(run, f"{of.name}.{name}", args, keywords, node, managed=True)
    if "step" in known.acts:
        modules = module_parts.with_parts(run, frozenset(n for n in of.holds if isinstance(run.objects.get(n), Module)))
        run.emit(Stepped, node, optimizer=0, name=receiver, modules=modules, whole=False, clears="clear" in known.acts)
    if "opaque" in known.acts:
        return outside.opaque(run, of, args, keywords, node, f"{receiver}.{name}")
    if known.returns == "same":
        return given
    if known.returns == "arguments":
        return construction.arguments_again(run, args, node)
    if known.returns == "nothing":
        return NOTHING
    if known.returns == "tensor":
        return Unknown(given.flow.cut())
    return Unknown(Flow(graph=None))


def owned_method(
    run: Executor, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
) -> Value | None:
    """A method that a framework gives its modules; None where it says nothing of it."""
    if name in ("manual_backward", "backward") and args:
        gradients.backward(
            run, args[0], node, run.text_of_argument(node, 0), through=f"{receiver}.{name}", keywords=keywords
        )
        return NOTHING
    if name == "step" and of.cls is None:  # a DeepSpeed engine
        run.emit(
            Stepped,
            node,
            optimizer=0,
            name=receiver,
            modules=module_parts.parts_of(run, of).owners,
            whole=False,
            clears=True,
        )
        return NOTHING
    if name == "optimizers":
        known = of.fact(Fact.OPTIMIZERS)
        if isinstance(known, Value):
            return known
        return run.own(Optimizer(None, "", module_parts.parts_of(run, of).owners, whole=False))
    if name in frameworks.LIGHTNING_MANUAL:
        return Unknown(Flow(graph=None)) if frameworks.LIGHTNING_MANUAL[name].returns != "nothing" else NOTHING
    if name in ("log", "log_dict", "print", "save_hyperparameters"):
        return NOTHING
    return None
