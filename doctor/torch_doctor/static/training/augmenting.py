"""What a dataset does to its rows at random: the transforms that it surely applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import invocation
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import libraries, transforms
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import drawing, places
from torch_doctor.static.training.graph import running_sums
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Either,
    Fact,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Number,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site
    from torch_doctor.trace.events import Trail


Calls: TypeAlias = "list[tuple[Value, Value | None]]"


class Applied(Knowledge):
    """What an item of a data set is made with."""

    transforms: tuple[int, Calls] | None = per_run()  # on every path, while it is made, each with what it is given
    by_hand: list[tuple[Site, str]] = per_run(
        list
    )  # where chance decides, on every path, whether something is done to it
    views: set[int] = per_run(set)  # data sets and transforms that make several samples of one


STEPS = 300
"""Steps that the look at one item of a project's dataset may take."""
DEEPEST = 5


def augments(run: Run, value: Tool | Instance) -> Trail:
    """Where the random transforms of a dataset are built, and what they are called."""
    applied, by_hand = _applied(run, value) if isinstance(value, Instance) else (_given(value), [])
    found: dict[int, tuple[object, str]] = {}
    for transform in applied:
        seen = isinstance(value, Instance) and isinstance(run.resolve(transform), Instance)  # it was called, and drew
        for thing, name in _random_in(run, transform, seen=seen):
            if thing.born is not None:
                found.setdefault(thing.id, (thing.born, name))
    if not found:
        return tuple(dict.fromkeys(by_hand))
    return tuple(found.values())  # type: ignore[arg-type]  # sites, as checked


def decided(run: Run, node: p.If | p.Choice, drawn: int) -> None:
    """Note a branch that nobody knows beforehand, where chance decides whether something is done to an item.

    `drawn` is how often random numbers had been drawn or compared when its test began. Where the arm only picks something
    else, such as another row for a pair, that is what the data set is about.
    """
    applied = run.of(Applied).transforms
    if applied is None or run.fork_depth != applied[0] or drawing.consulted(run) == drawn:
        return
    if any(isinstance(part, p.Call) and _is_unseen(run, part.func) for part in walk(node.test)):
        return  # who may know that this object leaves nothing to chance
    if any(isinstance(part, p.Attribute) and _is_switched(run, part.name) for part in walk(node.test)):
        return
    if isinstance(node, p.Choice):
        arms = ((node.then, node.other), (node.other, node.then))
        changed = any(_computes_with(run, target, of) for target, of in arms)
    else:
        changed = any(_does_something_to(run, statement) for statement in (*node.body, *node.other))
    if changed:
        run.of(Applied).by_hand.append((run.site(node.test), run.text(node.test)))


def _is_switched(run: Run, name: str) -> bool:
    """Whether something besides constructors assigns an attribute of this name: it may be switched off for evaluation."""
    return any(name in unit.program.assigned for unit in (run.main, run.frame.unit))


def _is_unseen(run: Run, func: p.Expr) -> bool:
    """Whether a function is out of sight."""
    value = run.resolve(run.evaluate(func))
    return isinstance(value, Unknown) or (isinstance(value, Lib) and not libraries.heard_of(canonical(value.name)))


def _does_something_to(run: Run, statement: p.Stmt) -> bool:
    """Whether a variable gets what a call or a slice makes of its own value."""
    if isinstance(statement, p.Augment):
        target = statement.target
        return any(isinstance(part, p.Call) for part in walk(statement.value)) and isinstance(target, p.Name)
    if not isinstance(statement, p.Assign) or len(statement.targets) != 1:
        return False
    return _computes_with(run, statement.targets[0], statement.value)


def _computes_with(run: Run, target: p.Expr, of: p.Expr) -> bool:
    """Whether a call gets what is in the target, or a slice is taken of it."""
    made = (part for part in walk(of) if isinstance(part, p.Call) or _is_slice(part))
    return any(isinstance(part, p.Expr) and running_sums.reading(run, target, part) is not None for part in made)


def _is_slice(part: p.Node) -> bool:
    """Whether some part of a value is taken, or all of it in another order."""
    keys = part.key.items if isinstance(part, p.Index) and isinstance(part.key, p.Display) else ()
    return isinstance(part, p.Index) and any(isinstance(key, p.Slice) for key in (part.key, *keys))


def applied(run: Run, transform: Value, call: Call) -> None:
    """Note what an item of a data set is made with, where no branch leads around it."""
    known = run.of(Applied).transforms
    if known is not None and run.fork_depth == known[0]:
        known[1].append((transform, call.argument(0)))


def gives_views(run: Run, value: Tool | Instance) -> bool:
    """Whether a data set that was looked at makes several random samples of one: a model compares them."""
    makers = (value, *(_given(value) if isinstance(value, Tool) else ()))
    return any(isinstance(each, (Tool, Instance)) and each.id in run.of(Applied).views for each in makers)


def _are_views(run: Run, maker: Instance, calls: Calls) -> bool:
    """Whether random transforms get one sample several times."""
    given = [of for transform, of in calls if of is not None and any(_random_in(run, transform))]
    if len({id(of) for of in given}) == len(given):
        return False
    run.of(Applied).views.add(maker.id)
    return True


def made_by(run: Run, transform: Value, result: Value) -> Value:
    """What a transform has made of an item of a data set, marked where chance decides what."""
    if run.of(Applied).transforms is None:
        return result
    drew = isinstance(transform, Instance)
    return _marked(result) if any(_random_in(run, transform, seen=drew)) else result


def apart(value: Value) -> Value:
    """An item that transforms were applied to: what is not known to be made by a random one is taken as it was."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, Content(tuple(map(apart, value.content.items)), value.content.rest))
    if isinstance(value, Mapping):
        mapping = Mapping()
        mapping.fields.update((key, apart(item)) for key, item in value.fields.items() if isinstance(item, Value))
        return mapping
    return _with_chance(value, chance=bool(value.flow.chance))


def _marked(value: Value) -> Value:
    """What a random transform has made."""
    if isinstance(value, Either):
        return Either(tuple((facts, _marked(option)) for facts, option in value.options))
    if isinstance(value, Sequence):
        items = tuple(map(_marked, value.content.items))
        return Sequence(value.kind, Content(items, value.content.rest), names=value.names)
    return (
        Number(replace(value.flow, chance=True), value.symbol, value.size)
        if isinstance(value, Plain)
        else _with_chance(value, chance=True)
    )


def _with_chance(value: Value, *, chance: bool) -> Value:
    flow = replace(value.flow, chance=chance)
    if isinstance(value, Unknown):
        return Unknown(flow, value.holds, value.symbol, value.origin)
    return value.with_flow(flow) if isinstance(value, Tensor) else value


def _given(value: Tool) -> list[Value]:
    """The transforms that a library's dataset has: the one that was set last."""
    later = value.fields.get("transform")
    if isinstance(later, Value):
        return [later]
    return [*value.args, *(given for key, given in value.keywords.items() if key != "target_transform")]


def _applied(run: Run, value: Instance) -> tuple[list[Value], list[tuple[Site, str]]]:
    """What `__getitem__` calls on every path, and where it changes an item by chance; it is run aside."""
    applied: tuple[int, Calls] = (run.fork_depth, [])
    by_hand: list[tuple[Site, str]] = []
    moves = places.Moves(run)
    with run.of(Applied).override(transforms=applied, by_hand=by_hand), run.of(places.Placement).override(moves=moves):
        if not make_item(run, value) or _are_views(run, value, applied[1]):
            applied[1].clear()
            by_hand.clear()
    value.facts[Fact.MOVES] = tuple(moves.sites)  # not logged: it was looked at aside, once for all paths
    return [transform for transform, _ in applied[1]], by_hand


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
    drawn = run.of(drawing.Drawing)
    before = drawn.calls
    with drawn.override(calls=before), run.aside(STEPS):
        applied: tuple[int, Calls] = (run.fork_depth, [])
        try:
            with run.of(Applied).override(transforms=applied):
                invocation.enter(run, found[0], Call((value, Unknown()), {}, found[0].node))
        except OutOfBudget:
            return False
        if _are_views(run, value, applied[1]):
            return False
        return drawn.calls > before or any(any(_random_in(run, each, seen=True)) for each, _ in applied[1])
