"""How many steps schedules have, and how many passes loops make: numbers, or the script's words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.update.written_schedules import bounds
from torch_doctor.static.values import Const, Lib, Loader, Object, Plain, Sequence, Tool, Unknown, counting
from torch_doctor.trace import Count, LoopCounted, ScheduleCounted

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol, Value


class ConstructorArgument(NamedTuple):
    """An argument of a constructor: where it stands, and its name."""

    position: int
    name: str


class Schedule(NamedTuple):
    """How a class of schedulers is told its length; `gamma` is what it multiplies the learning rate with."""

    length: ConstructorArgument
    gamma: ConstructorArgument | None = None


GAMMA: Final = ConstructorArgument(2, "gamma")
SCHEDULES: Final = {
    "CosineAnnealingLR": Schedule(ConstructorArgument(1, "T_max")),
    "LinearLR": Schedule(ConstructorArgument(3, "total_iters")),
    "MultiStepLR": Schedule(ConstructorArgument(1, "milestones"), GAMMA),
    "OneCycleLR": Schedule(ConstructorArgument(2, "total_steps")),
    "PolynomialLR": Schedule(ConstructorArgument(1, "total_iters")),
    "StepLR": Schedule(ConstructorArgument(1, "step_size"), GAMMA),
    "get_cosine_schedule_with_warmup": Schedule(ConstructorArgument(2, "num_training_steps")),
    "get_cosine_with_hard_restarts_schedule_with_warmup": Schedule(ConstructorArgument(2, "num_training_steps")),
    "get_linear_schedule_with_warmup": Schedule(ConstructorArgument(2, "num_training_steps")),
    "get_polynomial_decay_schedule_with_warmup": Schedule(ConstructorArgument(2, "num_training_steps")),
    "get_scheduler": Schedule(ConstructorArgument(3, "num_training_steps")),
}
"""The schedules that have a length, of torch and transformers."""
FACTORS: Final = ConstructorArgument(3, "epochs"), ConstructorArgument(4, "steps_per_epoch")
"""What `OneCycleLR` multiplies, where it is not given the product."""
DEFAULT_GAMMA: Final = 0.1
ONCE: Final = repr(("const", 1))
_STAYS: Final = 1.0
"""A function may go on behind what it measures steps by, a warm-up perhaps: its length alone is not that of the training."""


_WRITTEN: Final = "torch.optim.lr_scheduler.LambdaLR"
_RANGES: Final = frozenset(("builtins.range", "tqdm.trange"))


def _counts(name: str) -> bool:
    name = canonical(name)
    return name in _RANGES or name.rpartition(".")[2] in SCHEDULES or name == _WRITTEN


class Schedules(Observer, called=(Named(Lib, _counts),)):
    """What the headers of loops and the constructors of schedulers count."""

    writes = (LoopCounted, ScheduleCounted)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A range or a scheduler has been made."""
        assert isinstance(func, Lib)
        name = canonical(func.name)
        if name in _RANGES:
            passes = _passes(run, call)
            if passes is not None:
                run.emit(LoopCounted, call.node, passes=passes)
        elif isinstance(result, Tool):
            schedule = SCHEDULES.get(name.rpartition(".")[2])
            length = None if schedule is None else _length(run, call, schedule.length)
            if name == _WRITTEN:
                length = _written(run, call)
                if length is not None:
                    run.emit(ScheduleCounted, call.node, scheduler=result.id, length=length, falls=_STAYS)
            elif schedule is not None and length is not None:
                falls = None if schedule.gamma is None else _gamma(call, schedule.gamma)
                run.emit(ScheduleCounted, call.node, scheduler=result.id, length=length, falls=falls)


def _passes(run: Run, call: Call) -> Count | None:
    """How often a loop over a range is passed; where only its end is known, as if it began at the beginning."""
    bounds = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, int)]
    if len(bounds) == len(call.args) and bounds and bounds[2:] != [0]:
        return Count(
            number=counting.length(range(*bounds)), text=run.text_of_argument(call.node, min(len(bounds) - 1, 1))
        )
    if len(call.args) not in (1, 2):
        return Count(text=run.text(call.node)) if call.args else None
    return _count(run, call.args[-1], call, ConstructorArgument(len(call.args) - 1, ""))


def _length(run: Run, call: Call, argument: ConstructorArgument) -> Count | None:
    """How many steps a scheduler is told to make."""
    given = call.argument(*argument)
    if isinstance(given, Sequence):
        numbers = [item.value for item in given.content.all() if isinstance(item, Const)]
        whole = [number for number in numbers if type(number) is int]
        known = bool(whole) and len(whole) == len(given.content.all())
        return Count(number=max(whole), text=_spelled(run, call, argument)) if known else None
    if argument.name == "total_steps" and (given is None or (isinstance(given, Const) and given.value is None)):
        counts = [_count(run, value, call, each) for each in FACTORS if (value := call.argument(*each)) is not None]
        return _product(counts) if len(counts) == len(FACTORS) else None
    return None if given is None else _count(run, given, call, argument)


def _count(run: Run, value: Value, call: Call, argument: ConstructorArgument) -> Count:
    return _counted(run, value, _spelled(run, call, argument))


def _counted(run: Run, value: Value, text: str) -> Count:
    if isinstance(value, Const):
        return Count(number=value.value if type(value.value) is int else None, text=text)
    if not isinstance(value, (Plain, Unknown)):
        return Count(text=text)
    symbol = _without_constants(value.symbol)
    return Count(text=text, quantity=repr(symbol), batches=_batches(run, symbol), times=_times(run, symbol))


def _written(run: Run, call: Call) -> Count | None:
    """How many steps a function counts to: the number of batches that it measures them by, or else the largest or only number."""
    given = call.argument(1, "lr_lambda")
    functions = given.content.all() if isinstance(given, Sequence) else [] if given is None else [given]
    found = [_counted(run, bound.value, bound.spelled) for each in functions for bound in bounds(run, each)]
    of_batches = [each for each in found if each.batches]
    numbers = [each for each in found if each.number is not None] if not of_batches else []
    same = found and all(each.equals(found[0]) for each in found[1:])
    if numbers and len(numbers) == len(found):
        return max(numbers, key=lambda each: each.number or 0)
    return of_batches[-1] if of_batches else found[0] if same else None


def _product(counts: list[Count]) -> Count:
    first, second = counts
    known = first.number is not None and second.number is not None
    return Count(
        number=(first.number or 0) * (second.number or 0) if known else None,
        text=" * ".join(each.text for each in counts),
        batches=first.batches | second.batches,
        times=first.factor if second.times == ONCE else "",
    )


def _without_constants(symbol: Symbol) -> Symbol:
    """What a constant is added to or taken from."""
    while symbol[0] in ("+", "-") and len(symbol) == 3:
        _, left, right = symbol
        if right[0] == "const":
            symbol = left
        elif left[0] == "const" and symbol[0] == "+":
            symbol = right
        else:
            break
    return symbol


def _batches(run: Run, symbol: Symbol) -> frozenset[int]:
    """The loaders whose lengths are factors of a number, or of a part of it."""
    if symbol[0] == "len":
        return frozenset(symbol[1:]) if isinstance(run.objects.get(symbol[1]), Loader) else frozenset()
    loaders = _divided(run, symbol)
    if loaders:
        return loaders
    parts = symbol[1:] if symbol[0] in ("*", "+", "max") else symbol[1:2] if symbol[0] in ("//", "-") else ()
    return frozenset[int]().union(*(_batches(run, part) for part in parts if isinstance(part, tuple)))


def _divided(run: Run, symbol: Symbol) -> frozenset[int]:
    """The loaders of whose batches a number of rows is told in batches of their size: `len(rows) // 16`."""
    if symbol[0] not in ("//", "/") or len(symbol) != len(("//", "rows", "size")):
        return frozenset()
    _, rows, size = symbol
    known = ((each, each.fields.get("dataset"), each.fields.get("batch_size")) for each in run.objects.of(Loader))
    return frozenset(
        loader.id
        for loader, dataset, batch in known
        if isinstance(dataset, Object) and rows == ("len", dataset.id) and _symbol(batch) == size
    )


def _symbol(value: object) -> Symbol | None:
    if isinstance(value, Const):
        return ("const", value.value)
    return value.symbol if isinstance(value, Plain) else None


def _times(run: Run, symbol: Symbol) -> str:
    """What the length of a loader is multiplied by, where a number is nothing but that product."""
    if _is_epoch(run, symbol):
        return ONCE
    if symbol[0] != "*" or len(symbol) != len(("*", "left", "right")):
        return ""
    _, left, right = symbol
    sides = ((left, right), (right, left))
    return next((repr(other) for side, other in sides if _is_epoch(run, side)), "")


def _is_epoch(run: Run, symbol: Symbol) -> bool:
    """Whether a number is how many batches a loader has, and nothing more."""
    return bool(_batches(run, symbol) if symbol[0] == "len" else _divided(run, symbol))


def _gamma(call: Call, argument: ConstructorArgument) -> float | None:
    value = call.argument(*argument) or Const(DEFAULT_GAMMA)
    return value.value if isinstance(value, Const) and isinstance(value.value, float) else None


def _spelled(run: Run, call: Call, argument: ConstructorArgument) -> str:
    """The user's words for an argument."""
    if not isinstance(call.node, p.Call):
        return ""
    named = next((each for name, each in call.node.keywords if name == argument.name), None)
    return run.text_of_argument(call.node, argument.position) if named is None else run.text(named)
