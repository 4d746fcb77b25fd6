"""Parses the files of libraries with astroid, one at a time, and tells what a name at their top level means."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING

from astroid import nodes
from astroid.builder import AstroidBuilder
from astroid.exceptions import AstroidError
from astroid.manager import AstroidManager

from torch_doctor.static.installed.meanings import UNCLEAR, Defined, Dotted, Known, Literal
from torch_doctor.static.tables.canonical import canonical

if TYPE_CHECKING:
    from torch_doctor.static.installed.sources import LibrarySources, Place

MOST_FILES = 24
"""Files that are parsed for one question."""
MOST_READ = 1_500_000
"""Bytes of them."""


class _Builder(AstroidBuilder):  # type: ignore[misc]
    """Builds the tree of one file, and follows nothing that it imports or assigns."""

    def delayed_assattr(self, node: nodes.AssignAttr) -> None:
        """Leave attributes alone: whose they are would be inferred, from torch's own sources in the end."""

    def add_from_names_to_locals(self, node: nodes.ImportFrom, *_: object) -> None:
        """Bind the names that a file imports; star imports are looked up elsewhere."""
        for name, alias in node.names:
            if name != "*":
                node.parent.set_local(alias or name, node)


class ParsedFiles:
    """The parsed files of one question; those of the questions before stay parsed (`library.trees`)."""

    def __init__(self, library: LibrarySources) -> None:
        self.library = library
        self._builder = _Builder(AstroidManager(), apply_transforms=False)
        self._modules: dict[str, nodes.Module | None] = {}
        self._left = MOST_READ
        self._meant: dict[tuple[str, str], Known] = {}

    def definition(self, place: Place) -> Defined | None:
        """The class or function that stands at a place."""
        module = self._module(place)
        found = module.locals.get(place.name, ()) if module is not None else ()
        definitions = [node for node in found if isinstance(node, (nodes.ClassDef, nodes.FunctionDef))]
        return Defined(definitions[-1]) if definitions else None

    def _module(self, place: Place) -> nodes.Module | None:
        if place.module not in self._modules:
            raw = self.library.raw(place.path)
            self._modules[place.module] = None
            if len(self._modules) <= MOST_FILES and len(raw) <= self._left:
                self._left -= len(raw)
                trees = self.library.trees
                if place.path not in trees:
                    trees[place.path] = self._parsed(raw, place)
                self._modules[place.module] = trees[place.path]
        return self._modules[place.module]

    def _parsed(self, raw: bytes, place: Place) -> nodes.Module | None:
        try:
            return self._builder.string_build(raw.decode("utf-8"), place.module, str(place.path))
        except (AstroidError, UnicodeDecodeError, RecursionError, ValueError):
            return None

    def dotted(self, name: str) -> Known:
        """What a dotted name means, wherever it is defined."""
        first = name.partition(".")[0]
        if first == "torch":
            return Known(Dotted(canonical(name)))
        if first in sys.stdlib_module_names:
            return Known(Dotted(name))
        place = self.library.find(name)
        found = self.definition(place) if place is not None else None
        return Known(found or Dotted(name))

    def top_level(self, module: nodes.Module, name: str) -> Known:
        """What a name means at the top level of a file."""
        key = (module.name, name)
        if key not in self._meant:
            self._meant[key] = UNCLEAR  # of itself
            found = [self._bound(module, node, name) for node in module.locals.get(name, ())]
            meant = list(dict.fromkeys(each for each in found if each.what != Literal(None)))
            if not found:
                self._meant[key] = self._elsewhere(module, name)
            elif len(meant) == 1 or isinstance(module.locals[name][-1], (nodes.ClassDef, nodes.FunctionDef)):
                self._meant[key] = found[-1] if len(meant) != 1 else meant[0]
        return self._meant[key]

    def _elsewhere(self, module: nodes.Module, name: str) -> Known:
        if hasattr(builtins, name):
            return Known(Dotted(f"builtins.{name}"))
        place = self.library.find(f"{module.name}.{name}")  # by a star import
        found = self.definition(place) if place is not None else None
        return Known(found) if found is not None else UNCLEAR

    def _bound(self, module: nodes.Module, node: nodes.NodeNG, name: str) -> Known:
        match node:
            case nodes.ClassDef() | nodes.FunctionDef():
                return Known(Defined(node))
            case nodes.Import():
                real = next((real for real, alias in node.names if alias == name), name)
                return Known(Dotted(real))
            case nodes.ImportFrom():
                real = next(real for real, alias in node.names if (alias or real) == name)
                source = module.relative_to_absolute_name(node.modname, node.level) if node.level else node.modname
                return self.dotted(f"{source}.{real}")
            case nodes.AssignName(parent=nodes.Assign() as assign):
                return self.plain(module, assign.value)
            case _:
                return UNCLEAR

    def plain(self, module: nodes.Module, expression: nodes.NodeNG) -> Known:
        """What an expression means that stands at the top level: a constant, or a name with dots."""
        match expression:
            case nodes.Const():
                return Known(Literal(expression.value))
            case nodes.Name():
                return self.top_level(module, expression.name)
            case nodes.Attribute():
                return self.member(self.plain(module, expression.expr), expression.attrname)
            case _:
                return UNCLEAR

    def member(self, owner: Known, name: str) -> Known:
        """What an attribute of a module means."""
        return self.dotted(f"{owner.what.name}.{name}") if isinstance(owner.what, Dotted) else UNCLEAR
