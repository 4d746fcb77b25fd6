"""Models, and their parameters, that are thought to be kept as the best so far, and only get another name or holder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.kept import kept_by_records
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Either, Lib, Mapping, Module, Params, Sequence
from torch_doctor.trace import StateTaken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_DEEP = 2  # containers within containers
_SHALLOW = "copy.copy"
_CHOOSING = frozenset(("builtins.max", "builtins.min"))
_TAKING = frozenset(("parameters", "named_parameters"))


class KeptModule(NamedTuple):
    """A module in what is assigned, or owners of parameters: its expression, and what it lies under in the target."""

    modules: frozenset[int]
    node: p.Expr
    path: tuple[object, ...] = ()
    parameters: bool = False


class BestAliases(Observer, called=(Named(Lib, lambda name: name == _SHALLOW or name in _CHOOSING),)):
    """What is assigned where something is better than ever: `if acc > best: best_model = model`, `best = max(best, (acc, model))`.

    It must also be read elsewhere: what is saved at once is no alias for long.
    """

    writes = (StateTaken,)

    _kept: dict[tuple[p.Node, ...], dict[p.Node, frozenset[p.Node]]] = per_run(dict)  # by the body
    _copies: dict[p.Node, Module] = per_run(dict)  # what a shallow copy was made of
    _among: dict[p.Node, tuple[Value, ...]] = per_run(dict)  # what the best one is chosen of

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A shallow copy of a module has the same parameters; the best of several is one of them."""
        if isinstance(func, Lib) and func.name in _CHOOSING:
            if run.loop_depth:
                self._among[call.node] = tuple(call.args)
        elif call.args and isinstance(call.args[0], Module):
            self._copies[call.node] = call.args[0]

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """A module is kept in a loop, where the figure beside it becomes the best one."""
        if not run.loop_depth or run.modules_called or len(node.targets) != 1:
            return
        for kept in self._modules_in(node.value, value):
            beside = self._statements(run).get(node)
            if beside is None:
                return
            holder, path = _held(node.targets[0], kept.path)
            plain = kept.node is node.value and not kept.parameters and isinstance(kept.node, (p.Name, p.Attribute))
            if (
                holder is not None
                and not _is_renewed(run, node, holder, beside)
                and _is_read(run, node, holder, path, beside)
            ):
                run.emit(
                    StateTaken,
                    node if plain else kept.node,
                    module=min(kept.modules),
                    name=run.text(_owner(kept.node)),
                    alias=run.text(holder)
                    + "".join(f'["{each}"]' if isinstance(each, str) else f"[{each}]" for each in path),
                    parameters=kept.parameters or kept.node in self._copies,
                )

    def _statements(self, run: Run) -> dict[p.Node, frozenset[p.Node]]:
        """The assignments that keep something with the best figure, each with all that is done there."""
        body = run.stack[-1].node.body if run.stack else run.frame.unit.program.body
        if body not in self._kept:
            self._kept[body] = kept_by_records(body)
        return self._kept[body]

    def _modules_in(self, node: p.Expr, value: Value, path: tuple[object, ...] = ()) -> Iterator[KeptModule]:
        """The modules and the parameters in a value, as far as it is written out; of a choice, in what is chosen from."""
        original = self._copies.get(node)
        module = value if original is None else original
        if isinstance(module, Module):
            if original is not None or isinstance(node, (p.Name, p.Attribute)):
                yield KeptModule(frozenset((module.id,)), node, path)
        elif (owners := _owners(value)) and any(
            isinstance(each, p.Attribute) and each.name in _TAKING for each in walk(node)
        ):
            yield KeptModule(owners, node, path, parameters=True)
        elif isinstance(value, Either):
            for _, option in value.options[:1]:
                yield from self._modules_in(node, option, path)
        elif isinstance(node, p.Call):
            for item, held in zip(node.args, self._among.get(node, ()), strict=False):
                if isinstance(item, p.Display):
                    yield from self._modules_in(item, held, path)
        elif len(path) < _DEEP and isinstance(node, p.Display) and isinstance(value, Sequence):
            for place, (item, held) in enumerate(zip(node.items, value.content.all(), strict=False)):
                yield from self._modules_in(item, held, (*path, place))
        elif len(path) < _DEEP and isinstance(node, p.Dict) and isinstance(value, Mapping):
            for key, item in node.pairs:
                under = value.fields.get(("key", key.value)) if isinstance(key, p.Const) else None
                if isinstance(key, p.Const) and under is not None:
                    yield from self._modules_in(item, under, (*path, key.value))


def _held(target: p.Expr, path: tuple[object, ...]) -> tuple[p.Expr | None, tuple[object, ...]]:
    """What gets a part of a value, and under which path: of a target that unpacks, one of its own."""
    if isinstance(target, p.Display) and path and isinstance(path[0], int) and path[0] < len(target.items):
        target, path = target.items[path[0]], path[1:]
    return (target if isinstance(target, (p.Name, p.Attribute, p.Index)) else None), path


def _owners(value: Value) -> frozenset[int]:
    """The owners of the parameters that a list is made of; nothing where anything else is in it."""
    if isinstance(value, Params):
        return value.modules
    items = value.content.all() if isinstance(value, Sequence) else ()
    found = [each.modules for each in items if isinstance(each, Params)]
    return frozenset[int]().union(*found) if len(found) == len(items) else frozenset()


def _owner(node: p.Expr) -> p.Expr:
    """The model whose parameters an expression takes, or the expression itself; of a shallow copy, what is copied."""
    for each in walk(node):
        if isinstance(each, p.Attribute) and each.name in _TAKING:
            return each.value
    return node.args[0] if isinstance(node, p.Call) and node.args else node


def _loop(nodes: Iterable[p.Node], node: p.Node) -> p.For | p.While | None:
    """The innermost loop around a node."""
    around = [each for each in nodes if isinstance(each, (p.For, p.While)) and node in walk(*each.body)]
    return max(around, key=lambda each: each.at[0], default=None)


def _is_renewed(run: Run, node: p.Assign, holder: p.Expr, beside: frozenset[p.Node]) -> bool:
    """Whether the holder gets something else in the loop of an assignment, or after it: it is a passing name."""
    body = list(walk(*(run.stack[-1].node.body if run.stack else run.frame.unit.program.body)))
    loop = _loop(body, node)
    return any(
        isinstance(each, p.Assign)
        and each not in beside
        and (loop is None or each.at[0] >= loop.at[0])
        and any(_is_same(target, holder) for target in each.targets)
        and not isinstance(each.value, p.Const)
        for each in body
    )


def _is_read(run: Run, node: p.Assign, holder: p.Expr, path: tuple[object, ...], beside: frozenset[p.Node]) -> bool:
    """Whether what a holder has under a path is read anywhere else in the file, apart from comparisons.

    Who reads all of a container within the loop may want another part of it.
    """
    nodes = [each for each in run.frame.unit.nodes if each not in beside]
    stored = {part for each in nodes if isinstance(each, p.Assign) for target in each.targets for part in walk(target)}
    tested = {side for each in nodes if isinstance(each, p.Compare) for side in (each.left, each.right)}
    items: dict[p.Node, p.Index] = {
        each.value: each for each in nodes if isinstance(each, p.Index) and isinstance(each.key, p.Const)
    }
    loop = _loop(run.frame.unit.nodes, node)
    inside = frozenset(walk(*loop.body)) if path and loop is not None else frozenset()
    for each in nodes:
        if not _is_same(each, holder) or each in stored or each in tested:
            continue
        item = items.get(each)
        if item is None and each not in inside:
            return True
        if item is not None and (not path or (item not in stored and item not in tested and _key(item) == path[0])):
            return True
    return False


def _is_same(node: p.Node, holder: p.Expr) -> bool:
    """Whether a node has the name of a holder, or is an attribute of that name, of whatever object."""
    if isinstance(holder, p.Attribute):
        return isinstance(node, p.Attribute) and node.name == holder.name
    if isinstance(holder, p.Index):
        return isinstance(node, p.Index) and _key(node) == _key(holder) and _is_same(node.value, holder.value)
    return isinstance(node, p.Name) and isinstance(holder, p.Name) and node.id == holder.id


def _key(item: p.Index) -> object:
    return item.key.value if isinstance(item.key, p.Const) else None
