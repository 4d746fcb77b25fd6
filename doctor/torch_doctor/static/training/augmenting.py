"""What a dataset does to its rows at random: the transforms that it surely applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import invocation
from torch_doctor.static.tables import transforms
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import drawing, places
from torch_doctor.static.values import Call, Const, Fact, FunctionValue, Instance, Plain, Sequence, Tool, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace.events import Trail


class Applied(Knowledge):
    """What an item of a data set is made with."""

    def __init__(self) -> None:
        self.transforms: tuple[int, list[Value]] | None = None  # on every path, while it is made


STEPS = 300
"""Steps that the look at one item of a project's dataset may take."""
DEEPEST = 5


def augments(run: Run, value: Tool | Instance) -> Trail:
    """Where the random transforms of a dataset are built, and what they are called."""
    applied = list(_applied(run, value)) if isinstance(value, Instance) else _given(value)
    found: dict[int, tuple[object, str]] = {}
    for transform in applied:
        seen = isinstance(value, Instance) and isinstance(run.resolve(transform), Instance)  # it was called, and drew
        for thing, name in _random_in(run, transform, seen=seen):
            if thing.born is not None:
                found.setdefault(thing.id, (thing.born, name))
    return tuple(found.values())  # type: ignore[arg-type]  # sites, as checked


def _given(value: Tool) -> list[Value]:
    """The transforms that a library's dataset has: the one that was set last."""
    later = value.fields.get("transform")
    if isinstance(later, Value):
        return [later]
    return [*value.args, *(given for key, given in value.keywords.items() if key != "target_transform")]


def _applied(run: Run, value: Instance) -> Iterator[Value]:
    """What `__getitem__` calls on every path: it is run aside, and nothing of it happens."""
    applied: tuple[int, list[Value]] = (run.fork_depth, [])
    moves = places.Moves(run)
    with run.of(Applied).override(transforms=applied), run.of(places.Placement).override(moves=moves):
        if not make_item(run, value):
            applied[1].clear()
    value.facts[Fact.MOVES] = tuple(moves.sites)  # not logged: it was looked at aside, once for all paths
    yield from applied[1]


def make_item(run: Run, value: Instance) -> bool:
    """Execute `__getitem__` of a project's data set aside, for whoever listens; whether that can be followed to its end."""
    found = value.cls.find("__getitem__")
    if found is None or not isinstance(found[0], FunctionValue):
        return False
    with run.aside(STEPS):
        try:
            invocation.enter(run, found[0], Call((value, Plain()), {}, found[0].node))
        except OutOfBudget:
            return False
    return True


def _random_in(
    run: Run, value: Value, depth: int = DEEPEST, *, seen: bool = False
) -> Iterator[tuple[Tool | Instance, str]]:
    """The random transforms that a transform consists of."""
    value = run.resolve(value)
    if isinstance(value, Tool):
        name = canonical(value.name)
        settings = {key: _constant(given) for key, given in value.keywords.items()}
        if transforms.random(name, [_constant(given) for given in value.args], settings):
            yield value, name.rpartition(".")[2]
        elif depth and name.rpartition(".")[2] in ("Compose", "Sequential"):
            for given in (*value.args, *value.keywords.values()):
                yield from _random_in(run, given, depth - 1)
    elif isinstance(value, Sequence) and depth:
        for item in value.content.items:
            yield from _random_in(run, item, depth - 1)
    elif isinstance(value, Instance) and (seen or _draws(run, value)):
        yield value, value.cls.name


def _constant(value: Value) -> object:
    """A number, or a tuple of them; an Ellipsis for what is not known."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence) and value.content.rest is None:
        return tuple(_constant(item) for item in value.content.items)
    return ...


def _draws(run: Run, value: Instance) -> bool:
    """Whether a transform of a project's class, which a library's calls, surely draws random numbers: it is run aside."""
    found = value.cls.find("__call__") or value.cls.find("forward")
    if found is None or not isinstance(found[0], FunctionValue):
        return False
    before = run.of(drawing.Drawing).calls
    with run.aside(STEPS):
        applied: tuple[int, list[Value]] = (run.fork_depth, [])
        try:
            with run.of(Applied).override(transforms=applied):
                invocation.enter(run, found[0], Call((value, Unknown()), {}, found[0].node))
        except OutOfBudget:
            return False
        drew = run.of(drawing.Drawing).calls > before or any(
            any(_random_in(run, each, seen=True)) for each in applied[1]
        )
    run.of(drawing.Drawing).calls = before
    return drew
