"""Guesses roles: what an unknown value is used as, annotated as or called tells what it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.tables import layers, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import module_parts, presence
from torch_doctor.static.values import (
    NEWEST,
    Fact,
    Fields,
    FunctionValue,
    Lib,
    Loader,
    Module,
    Optimizer,
    Plain,
    Tool,
    Unknown,
    Value,
    asked,
    fresh_symbol,
)
from torch_doctor.static.values.functions import Frame
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import FunctionValue, Symbol


class Played(Knowledge):
    """What unknown values turned out to be, by use."""

    def __init__(self) -> None:
        self.roles = Fields(NEWEST)  # on this path, by their symbols
        self.things: dict[tuple[Symbol, type[Value]], Value] = {}  # on any: one value is one thing wherever it is used


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
_NO_MODULE_USES = frozenset(("fit", "predict", "step", "backward"))
"""What no module has: an engine steps, an estimator fits, a library of its own computes its gradients itself."""
_OPTIMIZER_NAME = re.compile(r"(^|_)(optimi[sz]ers?|optim|opt)(_|$|[dg]$)|optimi[sz]er", re.IGNORECASE)
_LOADER_NAME = re.compile(
    r"loader|(^|_)(dl|batches|iterator|data_iter|train_iter|test_iter|val_iter|valid_iter)$", re.IGNORECASE
)
_SCHEDULER_NAME = re.compile(r"sched", re.IGNORECASE)
_SCALER_NAME = re.compile(r"scaler", re.IGNORECASE)
_MODEL_NAME = re.compile(r"(^|_)(model|net|network|module)(_|$)|^net[A-Z]\w*$", re.IGNORECASE)
_SETTING_NAME = re.compile(
    r"^(args|cfg|conf|config|configs|hparams|hps|params|flags|options?|settings|epochs?|device|lr|seed|path|name|mode|phase|split"
    r"|verbose|step|steps|iteration|rank|gpu|batch_size|num_\w+|n_\w+|max_\w+|min_\w+|\w+_(path|dir|size|interval|freq|rate|steps?|epochs?|file))$"
)
_SETTINGS_NAME = re.compile(r"^(args|cfg|conf|configs?|hparams|hps|params|flags|options?|opts?|settings)$")
_PLAIN_TYPES = frozenset(f"builtins.{name}" for name in ("int", "float", "str", "bool", "bytes", "dict"))


def named(run: Run, value: Value, target: p.Expr, source: p.Expr) -> Value:
    """The value, given the role that its use and name tell when nothing else does."""
    if not isinstance(value, Unknown) or value.flow.forwards or not isinstance(target, (p.Name, p.Attribute)):
        return value
    if isinstance(source, (p.Attribute, p.Index, p.Name)) and not value.holds:
        return value
    found = role(run, run.text(target), value) or value
    if isinstance(found, Tool) and found.name in training.SCHEDULER_BASES and not found.holds:
        made = isinstance(source, p.Call) and source.args
        return value if made and _optimizers(run) else found  # made without the optimizer, it schedules something else
    return found


def _optimizers(run: Run) -> bool:
    """Whether the script has built an optimizer on this path, or made something that is used as one."""
    return any(thing.fact(Fact.BUILT) or not thing.class_name for thing in run.objects.of(Optimizer))


def role(run: Run, name: str, value: Unknown) -> Value | None:
    """What something called `name` is; None when that stays unknown."""
    uses = uses_of(run, name)
    last = name.rpartition(".")[2]
    born = None
    if ("zero_grad" in uses or "step" in uses) and (_OPTIMIZER_NAME.search(last) or uses & {"param_groups"}):
        return run.own(Optimizer(born, "", module_parts.with_parts(run, _modules_in(run, value)), whole=False))
    given = [run.objects.get(number) for number in value.holds]
    of_optimizer = not given or any(isinstance(thing, Optimizer) for thing in given)  # else it schedules something else
    if "step" in uses and _SCHEDULER_NAME.search(last) and of_optimizer:
        return run.own(Tool(born, "torch.optim.lr_scheduler.LRScheduler", value.holds))
    if uses & {"unscale_", "scale"} and _SCALER_NAME.search(last) and not asked(value.symbol):  # else it may be off
        run.of(presence.Scalers).any = True
        return run.own(Tool(born, "torch.amp.GradScaler", value.holds))
    if "seek" in uses:  # a path has no position; a file that is opened by its path needs none
        return run.own(Tool(born, "io.BytesIO"))
    if _SETTINGS_NAME.match(last):
        uses = uses - {"eval", "train"}  # whether to evaluate, and whether to train
    if "eval(...)" in uses:
        uses = uses - {"eval"}  # a module's takes nothing: this is something that evaluates
    if (uses & _MODULE_USES or uses >= {"forward", "zero_grad"}) and not uses & _NO_MODULE_USES:
        return module_by_role(run, last)
    if names_loader(run, name):
        loader: Loader = run.own(Loader(born, last))
        loader.facts[Fact.ELSEWHERE] = asked(value.symbol)  # what was made of a data set may move its batches
        return loader
    return None


def names_loader(run: Run, name: str) -> bool:
    """Whether something is called a loader, and used as nothing else."""
    return bool(_LOADER_NAME.search(name.rpartition(".")[2])) and not uses_of(run, name) & {"load", "run"}


def module_by_role(run: Run, name: str) -> Module:
    """A module of which nothing is known but that it is one."""
    module: Module = run.own(Module(None, name=name))
    module.facts[Fact.MODE] = (0, None)
    return module


def uses_of(run: Run, name: str) -> set[str]:
    """The attributes that the current function, or for `self.x` and globals the file, takes of a name."""
    program = run.frame.unit.program
    what = run.frame.what
    if what is None or "." in name:
        return program.uses.get(name, set())
    return what.node.uses.get(name, set())


def _modules_in(run: Run, value: Unknown) -> frozenset[int]:
    return frozenset(number for number in value.holds if isinstance(run.objects.get(number), Module))


def argument_for(run: Run, parameter: p.Parameter, function: FunctionValue) -> Value:
    """What a parameter is when nobody says."""
    name = parameter.name
    outer = run.frame
    run.position.frame = frame_for(run, function)
    annotated = _annotated(run, parameter)
    guessed = annotated or role(run, name, Unknown())
    uses = uses_of(run, name)
    run.position.frame = outer
    if guessed is not None:
        return guessed
    if _MODEL_NAME.search(name) and name in function.node.calls and not uses & {"fit", "predict"}:
        return module_by_role(run, name)
    if _SETTING_NAME.match(name):
        return Plain(fresh_symbol("flag"))
    return Unknown(Flow(graph=None), symbol=fresh_symbol("flag"))


def given(run: Run, value: Value, parameter: p.Parameter, function: FunctionValue) -> Value:
    """An argument; one that is not known becomes what the function uses it as, the same thing in every call."""
    if not isinstance(value, Unknown) or value.holds or value.flow.forwards or value.flow.source is not Source.UNKNOWN:
        return value
    found = run.of(Played).roles.get(value.symbol)
    if found is None:
        outer, run.position.frame = run.frame, frame_for(run, function)
        found = role(run, parameter.name, value)
        run.position.frame = outer
        if found is not None:
            found = run.of(Played).things.setdefault((value.symbol, type(found)), found)
            run.heap.set(run.of(Played).roles, value.symbol, found)
    return found or value


def _annotated(run: Run, parameter: p.Parameter) -> Value | None:
    annotation = parameter.annotation
    if isinstance(annotation, p.Index):
        annotation = annotation.key if not isinstance(annotation.key, p.Display) else None
    if isinstance(annotation, p.Operation) and annotation.op == "|":
        annotation = annotation.operands[0]
    if not isinstance(annotation, (p.Name, p.Attribute)):
        return None
    found = run.evaluate(annotation)
    if not isinstance(found, Lib):
        return None
    name = canonical(found.name)
    if name in _PLAIN_TYPES or name.startswith("numpy."):
        return Plain(fresh_symbol("flag"))
    if name in layers.MODULE_BASES:
        return module_by_role(run, parameter.name)
    if training.loader_of(name):
        return run.own(Loader(None, parameter.name))
    if name in training.OPTIMIZER_BASES or training.optimizer_of(name):
        return run.own(Optimizer(None, "", frozenset(), whole=False))
    if name == "torch.Tensor":
        return Unknown(Flow(graph=None, source=Source.UNKNOWN))
    return None


def frame_for(run: Run, function: FunctionValue) -> Frame:
    """A frame in which a function's parameters can be looked at."""
    frame = Frame(function.unit, function.closure.globals, function.closure)
    frame.what = function
    return frame
