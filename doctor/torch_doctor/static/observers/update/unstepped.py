"""What decides whether a scheduler ever steps: the calls that may do it, and the learning rates that are set by hand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import frameworks, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Const,
    Instance,
    Lib,
    Mapping,
    Method,
    Module,
    Optimizer,
    Partial,
    Sequence,
    Tool,
    leaves,
)
from torch_doctor.trace import ScheduleShared, ScheduleWritten, Site, StepCalled

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Value

STEPS: Final = frozenset(("step", "step_update"))
"""Methods that step a scheduler (`step_update` is timm's)."""
ASKS: Final = frozenset(("get_last_lr", "get_lr", "load_state_dict", "print_lr", "state_dict"))
"""Methods that do not."""
OPTIMIZERS_HAVE: Final = frozenset(("zero_grad", "unscale_", "scale"))
"""Methods by which a name is known to be an optimizer's or a gradient scaler's."""
SETS: Final = frozenset(("update", "setdefault", "__setitem__"))
"""Methods of a parameter group, which is a dictionary, that set items."""
FIRST: Final = "its first value"
INITIAL: Final = "its initial value"


class FirstRate(NamedTuple):
    """What decides the first rate of a class of schedulers: `text` with the number of this argument; `otherwise` without it."""

    position: int
    name: str
    text: str
    otherwise: str


CHANGING: Final = {
    "ConstantLR": FirstRate(1, "factor", "{:g} times the initial value", "a third of the initial value"),
    "CyclicLR": FirstRate(1, "base_lr", "{:g}, its lowest value", "its lowest value"),
    "LinearLR": FirstRate(1, "start_factor", "{:g} times the initial value", "a third of the initial value"),
    "OneCycleLR": FirstRate(10, "div_factor", "`max_lr` / {:g}", "a 25th of `max_lr`"),
}
"""The schedulers whose constructors change the rate (https://docs.pytorch.org/docs/stable/optim.html)."""
LEAVING: Final = frozenset(
    (
        "CosineAnnealingLR",
        "CosineAnnealingWarmRestarts",
        "ExponentialLR",
        "MultiStepLR",
        "MultiplicativeLR",
        "PolynomialLR",
        "ReduceLROnPlateau",
        "StepLR",
    )
)
"""Those whose constructors leave it as it is."""
FROM_ZERO: Final = {
    "get_constant_schedule_with_warmup": 1,
    "get_cosine_schedule_with_warmup": 1,
    "get_cosine_with_hard_restarts_schedule_with_warmup": 1,
    "get_linear_schedule_with_warmup": 1,
    "get_polynomial_decay_schedule_with_warmup": 1,
}
"""The schedules of transformers that rise from 0, by the position of `num_warmup_steps`."""
CONSTANT: Final = frozenset(("get_constant_schedule",))
"""Those that never change it."""


class RatesWritten(NamedTuple):
    """What a file does with learning rates: see `ScheduleWritten`."""

    steps: frozenset[Site]
    sets_rates: bool


class Unstepped(Observer, called=(ClassValue, Lib, Partial), invoked=(Named(Bound, STEPS), Method)):
    """The schedulers that are constructed, and all that may step one."""

    writes = (ScheduleShared, ScheduleWritten, StepCalled)
    files: dict[Unit, RatesWritten] = per_run(dict)  # what was read of each

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A scheduler has been constructed, or a library gets one, which may step it."""
        if not isinstance(result, Tool) or not training.scheduler_of(canonical(result.name)):
            if isinstance(func, Lib) and not canonical(func.name).startswith(("torch.", "builtins.")):
                _share_all(run, func.name, call)
            return
        units = [run.main, *filter(None, map(run.imports.unit, run.brought))]
        self.files.update((unit, _written(unit)) for unit in units if unit not in self.files)
        files = [self.files[unit] for unit in units]
        steps = frozenset[Site]().union(*(each.steps for each in files))
        sets = any(each.sets_rates for each in files)
        while isinstance(func, Partial):
            call = Call((*func.args, *call.args), {**func.keywords, **call.keywords}, call.node)
            func = func.func
        first = _first(canonical(func.name).rpartition(".")[2], call) if isinstance(func, Lib) else FIRST
        run.emit(ScheduleWritten, call.node, scheduler=result.id, first=first, steps=steps, sets_rates=sets)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A method is called."""
        if isinstance(func, Bound):
            run.emit(StepCalled, call.node)
        elif isinstance(func, Method) and isinstance(func.of, Tool) and training.scheduler_of(canonical(func.of.name)):
            if func.name not in STEPS | ASKS:
                run.emit(ScheduleShared, call.node, scheduler=func.of.id, to=func.name)
        elif isinstance(func, Method):
            if isinstance(func.of, Tool) and not _gives_back(func.of, func.name):
                _share_all(run, func.name, call)
            if func.name in STEPS and not isinstance(func.of, Optimizer):
                run.emit(StepCalled, call.node)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """An object gets a scheduler; what all objects of a class do is known where no heir is out of sight."""
        own = isinstance(holder, (Instance, Module)) and holder.cls is not None and not holder.cls.opaque_base()
        if not own or _is_outside(run):
            _share(run, value, run.text(target.value), node)

    @override
    def item_set(self, run: Run, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """A container gets a scheduler."""
        if not isinstance(holder, (Mapping, Sequence)) or _is_outside(run):
            _share(run, value, "the container", node)

    @override
    def handed_back(self, run: Run, value: Value, function: p.Node) -> None:
        """Unknown callers get a scheduler."""
        _share(run, value, "the caller", function)


def _is_outside(run: Run) -> bool:
    """Whether unknown callers of a method have what is stored now: `self`, or what it has."""
    return run.trace.begins_outside and (not run.stack or run.stack[0].owner is not None)


def _gives_back(owner: Tool, name: str) -> bool:
    """Whether a method of a framework's object only returns what it is given, prepared."""
    framework = frameworks.OWNERS.get(owner.name)
    known = framework.methods.get(name) if framework is not None and not framework.owns_gradients else None
    return known is not None and known.returns == "arguments"


def _share_all(run: Run, to: str, call: Call) -> None:
    for value in call.values:
        _share(run, value, to, call.node)


def _share(run: Run, value: Value, to: str, node: p.Node) -> None:
    for each in leaves(value):
        if isinstance(each, Tool) and training.scheduler_of(canonical(each.name)):
            run.emit(ScheduleShared, node, scheduler=each.id, to=to)


def _first(name: str, call: Call) -> str:
    """The rate until the first step, in words; "" for a schedule that never changes it."""
    if name in CONSTANT:
        return ""
    if name in FROM_ZERO:
        given = call.argument(FROM_ZERO[name], "num_warmup_steps")
        warms = isinstance(given, Const) and isinstance(given.value, int) and given.value > 0
        return "0, where the warm-up begins" if warms else FIRST
    known = CHANGING.get(name)
    if known is None or "**" in call.keywords:
        return INITIAL if name in LEAVING else FIRST
    given = call.argument(known.position, known.name)
    if isinstance(given, Const) and isinstance(given.value, (int, float)):
        return known.text.format(given.value)
    return known.otherwise if given is None else FIRST


@lru_cache(maxsize=64)
def _written(unit: Unit) -> RatesWritten:
    """What a file does with learning rates, in any of its functions."""
    nodes = unit.nodes
    calls = [(node, node.func) for node in nodes if isinstance(node, p.Call) and isinstance(node.func, p.Attribute)]
    known = {path_of(func.value) for _, func in calls if func.name in OPTIMIZERS_HAVE} - {""}
    steps = [call for call, func in calls if func.name in STEPS and path_of(func.value) not in known]
    sets = any(map(_sets_rate, nodes))
    return RatesWritten(frozenset(unit.site(call.at) for call in steps), sets)


def _sets_rate(node: p.Node) -> bool:
    """Whether this sets a rate: `group["lr"] = ...`, `group.update(lr=...)` and the like."""
    if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name in SETS:
        named = any(name == "lr" for name, _ in node.keywords)
        return named or any(isinstance(each, p.Const) and each.value == "lr" for each in walk(node.args))
    targets = node.targets if isinstance(node, p.Assign) else (node.target,) if isinstance(node, p.Augment) else ()
    return any(
        isinstance(each, p.Index) and isinstance(each.key, p.Const) and each.key.value == "lr" for each in targets
    )
