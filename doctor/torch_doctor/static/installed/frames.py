"""Modules under construction, and the calls of functions of a library that are being followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astroid import nodes

from torch_doctor.static.installed.meanings import Defined, Known

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH = 12
"""Functions of a library that are followed inside each other."""


class Thing:
    """A module under construction: its class with all bases, and what its attributes are."""

    def __init__(self, classes: tuple[Known, ...]) -> None:
        self.classes = classes
        self.attributes: dict[str, list[Known]] = {}

    def own(self) -> Iterator[nodes.ClassDef]:
        """Those of its classes whose sources are the library's."""
        for known in self.classes:
            if isinstance(known.what, Defined) and isinstance(known.what.node, nodes.ClassDef):
                yield known.what.node

    def method(self, name: str, after: nodes.ClassDef | None = None) -> nodes.FunctionDef | None:
        """A method by its name, looked up behind a class where that is given."""
        for cls in self.own():
            if after is None:
                found = [node for node in cls.locals.get(name, ()) if isinstance(node, nodes.FunctionDef)]
                if found:
                    return found[-1]
            elif cls is after:
                after = None
        return None


class LibraryFrame:
    """A call of a function of the library: what its parameters stand for, and the module that it is a method of."""

    def __init__(
        self, function: nodes.FunctionDef, names: dict[str, Known], me: Thing | None = None, depth: int = 0
    ) -> None:
        self.function = function
        self.names = names
        self.me = me
        self.depth = depth
        self.known: dict[str, Known] = {}
        self.itself = _first_parameter(function) if me is not None else ""


def _first_parameter(function: nodes.FunctionDef) -> str:
    arguments = [*function.args.posonlyargs, *(function.args.args or [])]
    return arguments[0].name if arguments and not is_static(function) else ""


def is_static(function: nodes.FunctionDef) -> bool:
    """Whether a method gets no object."""
    return function.decorators is not None and any(
        isinstance(node, nodes.Name) and node.name == "staticmethod" for node in function.decorators.nodes
    )
