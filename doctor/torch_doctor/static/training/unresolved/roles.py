"""Guesses roles: what an unknown value is used as, annotated as or called tells what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.program.uses import BATCHES, LOSS, MODEL
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import losses, training
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import presence, usage
from torch_doctor.static.values import (
    Fact,
    Instance,
    Lib,
    Loader,
    Method,
    Mode,
    Module,
    Optimizer,
    Plain,
    Tool,
    Unknown,
    Value,
    asked,
    fresh_symbol,
    held,
)
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol


class Played(Knowledge):
    """What unknown values turned out to be, by use."""

    roles: MutableMapping[Symbol, Value | None] = per_path(dict, agreed=True)  # by their symbols
    things: dict[tuple[Symbol, type[Value]], Value] = per_run(dict)  # one value is one thing wherever it is used


_MODULE_USES = frozenset(
    [
        "parameters",
        "named_parameters",
        "eval",
        "train",
        "modules",
        "named_modules",
        "children",
        "load_state_dict",
        "requires_grad_",
    ]
)
_NO_MODULE_USES = frozenset(("fit", "predict", "step", "backward", "grad", "detach", "retain_grad"))
"""What no module has: an engine steps, an estimator fits, a library of its own computes its gradients itself, tensors have one."""
_OPTIMIZER_NAME = pattern(r"(^|_)(optimi[sz]ers?|optim|opt)(_|$|[dg]$)|optimi[sz]er", re.IGNORECASE)
_LOADER_NAME = pattern(
    r"loader|(^|_)(dl|batches|iterator|data_iter|train_iter|test_iter|val_iter|valid_iter)$", re.IGNORECASE
)
_SCHEDULER_NAME = pattern(r"sched", re.IGNORECASE)
_SCALER_NAME = pattern(r"scaler", re.IGNORECASE)
_MODEL_NAME = pattern(r"(^|_)(model|net|network|module)(_|$)|^net[A-Z]\w*$", re.IGNORECASE)
_SETTINGS_NAME = pattern(r"^(args|cfg|conf|configs?|hparams|hps|params|flags|options?|opts?|settings)$")
_MAKES_LOSS = pattern(r"loss|criterion|(^|_)(fn|func|function|closure)$", re.IGNORECASE)
_OF_OPTIMIZER = frozenset(("zero_grad", "step"))
_OF_NO_OPTIMIZER = frozenset(("backward", "parameters", "train", "eval", "forward", MODEL, LOSS))


def named(run: Run, value: Value, target: p.Expr, source: p.Expr) -> Value:
    """The value, given the role that its use and name tell when nothing else does."""
    if not isinstance(value, Unknown) or value.flow.forwards or not isinstance(target, (p.Name, p.Attribute)):
        return value
    name = run.text(target)
    if isinstance(source, (p.Attribute, p.Index, p.Name)) and not value.holds:
        return value if isinstance(target, p.Attribute) else by_use(run, name, value) or value
    found = role(run, name, value, usage.of_name(run, name)) or value
    if isinstance(found, Tool) and found.name in training.SCHEDULER_BASES and not found.holds:
        made = isinstance(source, p.Call) and source.args
        return value if made and _optimizers(run) else found  # made without the optimizer, it schedules something else
    if isinstance(found, Tool) and isinstance(source, p.Call) and isinstance(source.func, (p.Name, p.Attribute)):
        maker = run.evaluate(source.func)
        if isinstance(maker, Lib) and maker.name.startswith("torch."):
            return value  # torch has none of this name: a fork's may do anything
    return found


def _optimizers(run: Run) -> bool:
    """Whether the script has built an optimizer on this path, or made something that is used as one."""
    return any(thing.fact(Fact.BUILT) or not thing.class_name for thing in run.objects.of(Optimizer))


def role(run: Run, name: str, value: Unknown, uses: set[str]) -> Value | None:
    """What something called `name` is, with these uses; None when that stays unknown."""
    last = name.rpartition(".")[2]
    optimizer = uses & {"zero_grad", "step"} and (_OPTIMIZER_NAME.search(last) or uses & {"param_groups"})
    if optimizer or _is_optimizer(uses):
        return run.own(Optimizer(None, "", module_parts.with_parts(run, _modules_in(run, value)), whole=False))
    given = [run.objects.get(number) for number in value.holds]
    of_optimizer = not given or any(isinstance(thing, Optimizer) for thing in given)  # else it schedules something else
    if "step" in uses and _SCHEDULER_NAME.search(last) and of_optimizer:
        return run.own(Tool(None, "torch.optim.lr_scheduler.LRScheduler", value.holds))
    if uses & {"unscale_", "scale"} and _SCALER_NAME.search(last) and not asked(value.symbol):  # else it may be off
        run.of(presence.Scalers).any = True
        return run.own(Tool(None, "torch.amp.GradScaler", value.holds))
    if "seek" in uses:  # a path has no position; a file that is opened by its path needs none
        return run.own(Tool(None, "io.BytesIO"))
    if _SETTINGS_NAME.match(last):
        uses = uses - {"eval", "train"}  # whether to evaluate, and whether to train
    if "eval(...)" in uses:
        uses = uses - {"eval"}  # a module's takes nothing: this is something that evaluates
    found = loss_or_module(run, last, uses)
    if found is not None:
        return found
    if _is_loader(name, uses) or (BATCHES in uses and not uses & {"load", "run"}):
        loader: Loader = run.own(Loader(None, last))
        loader.facts[Fact.ELSEWHERE] = asked(value.symbol)  # what was made of a data set may move its batches
        return loader
    return None


def builds(run: Run, target: p.Expr, given: frozenset[int]) -> bool:
    """Whether all that a call makes of these objects is used as optimizers and schedulers.

    An optimizer that is made of an optimizer wraps it, and may step it.
    """
    parts = target.items if isinstance(target, p.Display) else (target,)
    kinds = [_kind_made(run, each) for each in parts]
    wraps = Optimizer in kinds and any(isinstance(run.objects.get(number), Optimizer) for number in given)
    return bool(kinds) and None not in kinds and not wraps


def _kind_made(run: Run, target: p.Expr) -> type[Optimizer | Tool] | None:
    """Whether a target is used as an optimizer, or as a scheduler."""
    if not isinstance(target, (p.Name, p.Attribute)):
        return None
    name = run.text(target)
    uses, last = usage.of_name(run, name), name.rpartition(".")[2]
    if not uses.isdisjoint(_OF_NO_OPTIMIZER) or uses.isdisjoint(_OF_OPTIMIZER):
        return None
    if "zero_grad" in uses or _OPTIMIZER_NAME.search(last):
        return Optimizer
    return Tool if _SCHEDULER_NAME.search(last) else None


def names_loader(run: Run, name: str) -> bool:
    """Whether something is called a loader, and used as nothing else."""
    return _is_loader(name, usage.of_name(run, name))


def _is_loader(name: str, uses: set[str]) -> bool:
    return bool(_LOADER_NAME.search(name.rpartition(".")[2])) and not uses & {"load", "run"}


def by_use(run: Run, name: str, value: Value, uses: set[str] | None = None) -> Value | None:
    """What something is that is used as nothing else is; None where only its name would tell."""
    uses = usage.of_name(run, name) if uses is None else uses
    last = name.rpartition(".")[2]
    steps = uses & _OF_OPTIMIZER and (_OPTIMIZER_NAME.search(last) or _SCHEDULER_NAME.search(last))
    by_methods = _is_optimizer(uses) or steps or uses >= {"eval", "train"}
    if not by_methods and not uses & {MODEL, LOSS, BATCHES}:
        return None
    return role(run, name, value if isinstance(value, Unknown) else Unknown(symbol=fresh_symbol("flag")), uses)


def _is_optimizer(uses: set[str]) -> bool:
    return uses >= _OF_OPTIMIZER and uses.isdisjoint(_OF_NO_OPTIMIZER)


def loss_or_module(run: Run, name: str, uses: set[str]) -> Module | None:
    """The loss or the module that something is used as."""
    if LOSS in uses and not uses & {MODEL, *_NO_MODULE_USES, "zero_grad"}:
        return loss_by_role(run, name)
    is_model = MODEL in uses and not _MAKES_LOSS.search(name)
    if (is_model or uses & _MODULE_USES or uses >= {"forward", "zero_grad"}) and not uses & _NO_MODULE_USES:
        return module_by_role(run, name)
    return None


def loss_by_role(run: Run, name: str, layer: str = losses.ANY) -> Module:
    """A loss of which only the class, or nothing is known but that it is one."""
    module: Module = run.own(Module(None, layer=layer, name=name))
    module.facts[Fact.MODE] = Mode(0, None)
    return module


def module_by_role(run: Run, name: str) -> Module:
    """A module of which nothing is known but that it is one."""
    module: Module = run.own(Module(None, name=name))
    module.facts[Fact.MODE] = Mode(0, None)
    return module


def of_attribute(run: Run, thing: Instance, name: str, value: Value) -> Value:
    """What an object has under a name: where that is not known, what the methods of its class use it as."""
    if isinstance(value, Method):
        unknown = Unknown(symbol=(".", ("object", thing.id), name))
    elif isinstance(value, Unknown) and not value.flow.forwards and value.flow.source is Source.UNKNOWN:
        unknown = value
    elif type(value) is Plain:
        unknown = Unknown(symbol=value.symbol)
    else:
        return value
    found = played(run, unknown)
    if found is None:
        uses = usage.in_class(run, thing.cls).of(f"self.{name}")
        if not uses:
            return value
        strict = isinstance(value, (Plain, Method))
        found = by_use(run, name, unknown, uses) if strict else role(run, name, unknown, uses)
        if found is not None:
            found = play(run, unknown, found)
    if isinstance(value, Method) and found is not None:  # a base out of sight has it, and its methods reach it
        run.heap.set(thing.facts, Fact.KEPT, thing.fact(Fact.KEPT) | held((found,)))
    return found or value


def may_be_loss(name: str) -> bool:
    """Whether a class or an object may be a loss by its name."""
    return bool(_MAKES_LOSS.search(name))


def is_called_model(name: str, calls: set[str], uses: set[str]) -> bool:
    """Whether something that is called has the name of a model."""
    return bool(_MODEL_NAME.search(name)) and name in calls and not uses & {"fit", "predict"}


def played(run: Run, value: Unknown) -> Value | None:
    """What an unknown value has turned out to be on this path."""
    return run.of(Played).roles.get(value.symbol)


def play(run: Run, value: Unknown, thing: Value) -> Value:
    """Let an unknown value be this from here on, or what of its sort it was elsewhere."""
    found = run.of(Played).things.setdefault((value.symbol, type(thing)), thing)
    run.of(Played).roles[value.symbol] = found
    return found


def _modules_in(run: Run, value: Unknown) -> frozenset[int]:
    return frozenset(number for number in value.holds if isinstance(run.objects.get(number), Module))
