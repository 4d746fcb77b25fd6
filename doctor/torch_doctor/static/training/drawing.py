"""Random numbers: what draws them and puts things in random order, and which data sets are built with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import PART
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import data
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    Call,
    Const,
    Fact,
    Instance,
    Making,
    Plain,
    Spread,
    Tensor,
    Value,
    constant,
    fresh_symbol,
    latest,
)
from torch_doctor.trace import Kind, Reordered

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args


class Drawing(Knowledge):
    """How often random numbers were drawn."""

    calls: int = per_run(int)  # calls that draw random numbers which may matter
    reorders: int = per_run(int)  # and those that draw many, or reorder
    last: Reordered | None = per_path()  # what was put in random order last
    tosses: int = per_run(int)  # comparisons with a number between 0 and 1 that was drawn


GENERATOR = "generator"
"""Begins the symbol of a generator of random numbers: where it was made, the newest object then, its number, its text."""
GENERATORS = frozenset(("numpy.random.default_rng", "numpy.random.RandomState", "random.Random"))


@library_family(GENERATORS, stage=Stage.ADAPTER)
def generator(run: Run, name: str, call: Call) -> Plain:
    """A generator of its own."""
    symbol = (GENERATOR, run.site(call.node), latest(), fresh_symbol(), run.text(call.node))
    return Plain(symbol, Making(GENERATOR, (), of=name))


DRAWN = "drawn"
"""Begins the symbol of a random number between 0 and 1."""


@library_family(data.draws, stage=Stage.NOTE)
def drawn(run: Run, name: str, call: Call) -> None:
    """Note that a library's function draws random numbers, and whether it puts something in random order."""
    if _always_one(name.rpartition(".")[2], call):
        return
    if any(map(elsewhere.decided, run.assumed)):
        return  # whoever decides about it may know that it never happens
    drawing = run.of(Drawing)
    drawing.calls += 1
    if not name.startswith("random."):  # which gives one number at a time, and no rows
        drawing.reorders += 1
    if name in data.REORDERING:
        reordered(run, call.node, call)


def _always_one(name: str, call: Call) -> bool:
    """Whether what is drawn is one number each time, by its bounds or its spread."""
    first, second = (constant(call.args[i]) if len(call.args) > i else None for i in (0, 1))
    if name in data.BETWEEN:
        return first is not None and first == second
    return name in data.AROUND and second is not None and second == 0


@library_family(data.chances)
def chance(_: Run, __: str, call: Call) -> Plain | None:
    """A number between 0 and 1; None where it is an array of them."""
    bounds = [constant(value) for value in call.args]
    return Plain((DRAWN, fresh_symbol())) if bounds in ([], [0, 1]) and not call.keywords else None


def compared(run: Run, op: str, left: Value, right: Value) -> bool | None:
    """The outcome of a comparison of a random number between 0 and 1 with what none of them reaches; else None.

    Such a number has been drawn for nothing.
    """
    if op not in _SMALLER:
        return None
    limit, smaller = constant(right), _SMALLER[op]
    if _between_0_and_1(right):
        left, limit, smaller = right, constant(left), not smaller
    if _between_0_and_1(left) and elsewhere.chosen(right):
        run.of(Drawing).calls -= 1
    if not _between_0_and_1(left) or not isinstance(limit, (int, float)) or 0 < limit < 1:
        run.of(Drawing).tosses += _between_0_and_1(left) and not elsewhere.chosen(right)
        return None
    run.of(Drawing).calls -= 1
    return smaller is (limit >= 1)


_SMALLER = {"<": True, "<=": True, ">": False, ">=": False}


def _between_0_and_1(value: Value) -> bool:
    if isinstance(value, Plain):
        return bool(value.symbol[0] == DRAWN)
    return isinstance(value, Tensor) and value.kind is Kind.NOISE and value.origin.operation == "torch.rand"


def handed_over(run: Run, values: Args) -> None:
    """Random numbers between 0 and 1 go to code out of sight: nobody knows what they are drawn for."""
    run.of(Drawing).calls -= sum(map(_between_0_and_1, values))


def consulted(run: Run) -> int:
    """How often random numbers were drawn that may matter, or compared."""
    return run.of(Drawing).calls + run.of(Drawing).tosses


def read(value: Value | None) -> Plain | None:
    """The number that is read from a tensor, where it is one between 0 and 1 that was drawn; else None."""
    return Plain((DRAWN, fresh_symbol())) if value is not None and _between_0_and_1(value) else None


def reordered(run: Run, node: p.Node, call: Call | None = None) -> None:
    """Note that something is put in random order, by a call of a library's function, if it is one."""
    run.of(Drawing).reorders += 1
    if not run.modules_called:
        anew = call is not None and not _told(call)
        run.of(Drawing).last = run.emit(Reordered, node, anew=anew, seed="" if call is None else _seed(call))


def at(run: Run, node: p.Node) -> frozenset[int]:
    """The number of what put something in random order last, if the call at `node` did."""
    last = run.of(Drawing).last
    return frozenset((last.index,)) if last is not None and last.site == run.site(node) else frozenset()


def among(run: Run, numbers: frozenset[int]) -> frozenset[int]:
    """Those of some events that put something in random order, `PART` left out."""
    events = run.trace.at(*sorted(numbers - {PART}))
    return frozenset(event.index for event in events if isinstance(event, Reordered))


def chosen_from(run: Run, numbers: frozenset[int], rows: str) -> None:
    """Say of those among some events that draw rows which ones they have chosen from."""
    for event in run.trace.at(*sorted(among(run, numbers))):
        run.trace.replace(event, of=rows)


_SEEDS = frozenset(("generator", "random_state", "seed", "**"))
"""Arguments that say which random numbers a call gets."""
SEEDED = "seeded"
"""Begins the symbol of a generator of torch that was just seeded with a number."""
_GENERATOR_PLACE = 2
"""That of `generator` among the arguments of `random_split`."""


def _told(call: Call) -> bool:
    """Whether a call may be told which random numbers it gets, or not to draw any."""
    given = {key for key, value in call.keywords.items() if not (isinstance(value, Const) and value.value is None)}
    spread = any(isinstance(value, Spread) for value in call.args)
    third = call.argument(_GENERATOR_PLACE)  # of other functions, a constant is there
    return bool(given & _SEEDS) or spread or "shuffle" in given or not (third is None or isinstance(third, Const))


def seeded(func: Plain, call: Call) -> Plain | None:
    """A generator that is seeded with a number in sight; None for any other call."""
    method = func.symbol[2] if func.symbol[0] == "." else ""
    number = constant(call.args[0]) if method == "manual_seed" and len(call.args) == 1 else None
    return None if number is None else Plain((SEEDED, number))


def _seed(call: Call) -> str:
    """The number that seeds what a call draws; "" where none does, or where that is not known."""
    given = call.argument(_GENERATOR_PLACE, *sorted(_SEEDS))
    if isinstance(given, Plain) and given.symbol[0] == SEEDED:
        return repr(given.symbol[1])
    named = next((call.keywords[key] for key in ("random_state", "seed") if key in call.keywords), None)
    return repr(named.value) if isinstance(named, Const) and type(named.value) is int else ""


def remember_arguments(run: Run, thing: Instance, call: Call, before: tuple[int, int]) -> None:
    """Keep what an object of a project class was built with, and whether its constructor drew random numbers."""
    thing.facts[Fact.ARGUMENTS] = (call.args, call.keywords)
    drawing = run.of(Drawing)
    thing.facts[Fact.DREW] = drawing.calls > before[0] or drawing.reorders > before[1]
    thing.facts[Fact.REORDERED] = drawing.reorders > before[1]
