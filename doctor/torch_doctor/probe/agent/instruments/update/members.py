"""Members of a `ModuleList` that no line of the script can reach: `for layer in self.layers[:-1]`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...watching.watch import Watch

NOT_RUNNING = frozenset(
    {"append", "extend", "insert", "parameters", "named_parameters", "train", "eval", "apply", "to", "state_dict"}
)
"""Methods of a list of modules that call none of its members."""


def out_of_reach(watch: Watch, root: Any, part: Any) -> bool:
    """Whether a part of a module belongs to a member of a list that no line reaches, while others are reached."""
    kind = watch.torch.nn.ModuleList
    for owner in root.modules():
        for name, container in owner._modules.items():
            if type(container) is kind:
                for number, member in enumerate(container):
                    if any(each is part for each in member.modules()):
                        reached = _reached(watch, name, len(container))
                        return bool(reached) and number not in reached
    return False


def _reached(watch: Watch, name: str, count: int) -> set[int]:
    """The members, by their numbers, that lines with the attribute `name` may reach: all where a line may reach any."""
    found: set[int] = set()
    for tree in watch.recorder.index.trees().values():
        around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            constant = isinstance(node, ast.Constant) and node.value == name
            if constant and isinstance(around.get(node), ast.Call):  # `getattr(self, "layers")`
                return set(range(count))
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                found |= set(_by_line(node, around, count))
    return found


def _by_line(node: ast.Attribute, around: dict[ast.AST, ast.AST], count: int) -> Iterator[int]:
    outer = around.get(node)
    if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id == "len":
        return
    if isinstance(outer, ast.Attribute) and outer.attr in NOT_RUNNING:
        return
    asked = outer.slice if isinstance(outer, ast.Subscript) and outer.value is node else None
    if isinstance(asked, ast.Slice):
        parts = [None if part is None else _number(part) for part in (asked.lower, asked.upper, asked.step)]
        if not any(part is not None and known is None for part, known in zip(_parts(asked), parts, strict=True)):
            yield from range(count)[slice(*parts)]
            return
    elif asked is not None and (number := _number(asked)) is not None:
        yield from range(count)[number : number + 1 or None]
        return
    yield from range(count)


def _parts(asked: ast.Slice) -> tuple[ast.expr | None, ...]:
    return asked.lower, asked.upper, asked.step


def _number(node: ast.expr) -> int | None:
    """A whole number that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def is_replaced(owner: Any, name: str, parameter: Any) -> bool:
    """Whether a module has something else under the name of a parameter now: what came of the old one says nothing of it."""
    kept = getattr(owner, "_parameters", None)
    return bool(name) and isinstance(kept, dict) and kept.get(name.rpartition(".")[2]) is not parameter
