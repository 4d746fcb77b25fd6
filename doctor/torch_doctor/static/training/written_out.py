"""Values in dicts and lists, with the places where the source writes them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.values import Const, Mapping, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run


def item(dicts: list[p.Expr], name: str) -> p.Expr | None:
    """Where a keyword stands that came from one of these `**dicts`."""
    for given in dicts:
        for key, one in given.pairs if isinstance(given, p.Dict) else ():
            if isinstance(key, p.Const) and key.value == name:
                return one
    return dicts[0] if len(dicts) == 1 else None


def within(value: Value, node: p.Expr | p.Node) -> Iterator[tuple[Value, p.Node]]:
    """A value, or what is in a dict, list or tuple one by one, each with its place."""
    if isinstance(value, Mapping):
        for key, inner in value.fields.items():
            if isinstance(inner, Value):
                place = item([node], key[1]) if isinstance(node, p.Dict) and isinstance(key, tuple) else node
                yield from within(inner, place or node)
    elif isinstance(value, Sequence):
        elements = node.items if isinstance(node, p.Display) else ()
        exact = len(elements) == len(value.content.items) and not any(isinstance(each, p.Star) for each in elements)
        for number, each in enumerate(value.content.all()):
            yield from within(each, elements[number] if exact and number < len(elements) else node)
    elif not isinstance(value, Const):
        yield value, node


def name_of_graph(run: Run, value: Value, node: p.Expr) -> str:
    """What the source calls the one thing in a dict or list that has a graph; "" where there are several, or none."""
    if not isinstance(node, (p.Dict, p.Display)):
        return ""
    found = [place for each, place in within(value, node) if each.flow.graph is not False]
    return run.text(found[0]) if len(found) == 1 and found[0] is not node else ""


def names(run: Run, node: p.Node, number: int) -> list[str]:
    """What the source calls each item of a list, of which there are so many; "" where it does not write them out."""
    items = node.items if isinstance(node, p.Display) else ()
    written = len(items) == number and not any(isinstance(each, p.Star) for each in items)
    return [run.text(each) for each in items] if written else [""] * number
