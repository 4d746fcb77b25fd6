"""The abstract executor: all parts together, with the project's files and the user's spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.attributes import UnknownAttribute
from torch_doctor.static.frame import Frame
from torch_doctor.static.owners import Owners
from torch_doctor.static.values import (
    Const,
    FunctionValue,
    Lib,
    Namespace,
    Plain,
    Unknown,
    Value,
)
from torch_doctor.trace import Scope, ScopeKind

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static import program as p
    from torch_doctor.static.calls import Args, Keywords
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Object
    from torch_doctor.trace import Trace

_IMPORT_DEPTH = 12
IMPORT_STEPS = 20_000
"""Steps that the top level of an imported file may take at least: it is executed once for all runs."""


class Executor(Owners):
    """Executes one file as a script, and what is called in it, across the project's files."""

    def __init__(
        self,
        trace: Trace,
        unit: Unit,
        imports: Imports,
        steps: int,
        shared: dict[Path, Namespace],
        objects: dict[int, Object],
    ) -> None:
        super().__init__(trace, unit, imports, steps)
        self.objects = dict(objects)
        self._lasting = objects  # those that the imported files made: they are there for all runs
        self._inside = {}
        self._remembered = {}
        self._driven = set()
        self._importing = 0
        self.units = shared  # files are executed once for all runs; what a run changes in them is undone at its end
        self.main = unit
        self.home = Namespace(unit)
        self.frame = self._top(unit, self.home)

    def restart(self, trace: Trace, steps: int) -> None:
        """Begin another run in the state that the file's top level left."""
        self.trace = trace
        self.steps_left = steps
        self.branches = {}
        self.assumed = {}
        self.guards = frozenset()
        self.fork_depth = self.loop_depth = self._importing = 0
        self.stack, self.modules_called, self.building = [], [], []
        self._iteration = self._loop = None
        self._remembered = {}
        self._driven = set()
        self.went_backward = set()
        self.frame = self._top(self.main, self.home)
        self.scope = Scope(kind=ScopeKind.ROOT, site=self.main.site((1, 1, 1, 1)))

    def _top(self, unit: Unit, namespace: Namespace) -> Frame:
        frame = Frame(unit, namespace)
        frame.fields = namespace.fields
        return frame

    def run(self) -> None:
        """Execute the file as a script."""
        self.block(self.main.program.body)

    # --- files ---

    def module_name(self) -> str:
        """`__name__` of the current file."""
        return "__main__" if self.frame.unit is self.main else self.frame.unit.source.path.stem

    def namespace(self, path: Path) -> Namespace | None:
        """A project file's globals; the file is executed when it is first asked for."""
        if path == self.main.source.path:
            return self.home
        if path in self.units:
            return self.units[path]
        unit = self.imports.unit(path)
        if unit is None or self._importing >= _IMPORT_DEPTH:
            return None
        namespace = Namespace(unit)
        self.units[path] = namespace
        outer = (self.frame, self._iteration, self._loop, self.assumed, self.guards, self.modules_called)
        self.frame = self._top(unit, namespace)
        self._iteration = self._loop = None
        self.modules_called = []
        self._importing += 1
        grad, log = self.grad, self.heap.aside()
        steps, self.steps_left = self.steps_left, max(self.steps_left, IMPORT_STEPS)
        outer_objects, self.objects = self.objects, dict(self._lasting)
        self.block(unit.program.body)
        self._lasting.update(self.objects)
        self.objects = outer_objects
        self.objects.update(self._lasting)
        self.steps_left = steps
        self.heap.set(self.state.fields, "grad", grad)
        self.heap.back(log)
        self._importing -= 1
        self.frame, self._iteration, self._loop, self.assumed, self.guards, self.modules_called = outer
        return namespace

    def namespace_of(self, value: Namespace, name: str) -> Any:  # noqa: ANN401 - a value or nothing
        """A name of a project file: its global, or the file of that name in its package."""
        found = value.fields.get(name)
        if found is not None:
            return self.resolve(found) if isinstance(found, Value) else found
        path = value.unit.source.path
        if path.name == "__init__.py":
            inner = self.imports.find(path, name, level=1)
            if inner is not None:
                return self._imported(inner)
        return None

    def _imported(self, path: Path) -> Value:
        if path.suffix != ".py":
            return _Package(path)
        return self.namespace(path) or Unknown()

    def attribute(self, value: Value, name: str, node: p.Node) -> Value:
        """Take an attribute."""
        if isinstance(value, _Package):
            inner = self.imports.find(value.path / "__init__.py", name, level=1)
            return self._imported(inner) if inner is not None else Unknown()
        return super().attribute(value, name, node)

    def _import(self, node: p.Import) -> bool:
        path = self.frame.unit.source.path
        found = self.imports.find(path, node.module)
        first = node.module.partition(".")[0]
        if node.alias is not None:
            self.bind_name(node.alias, self._imported(found) if found is not None else Lib(node.module))
            return True
        top = self.imports.find(path, first)
        if top is None:
            self.bind_name(first, Lib(first))
            return True
        if found is not None:
            self._imported(found)
        self.bind_name(first, self._imported(top))
        return True

    def _import_from(self, node: p.ImportFrom) -> bool:
        path = self.frame.unit.source.path
        found = self.imports.find(path, node.module, node.level)
        if found is None:
            for name, alias in node.names:
                if name != "*":
                    known = not node.level and node.module
                    self.bind_name(alias, Lib(f"{node.module}.{name}") if known else Unknown())
            if not node.level and any(name == "*" for name, _ in node.names):
                self._all_of_library(node.module)
            return True
        package = self._imported(found)
        for name, alias in node.names:
            if name == "*":
                if isinstance(package, Namespace):
                    for key, value in list(package.fields.items()):
                        if isinstance(key, str) and not key.startswith("_"):
                            self.bind_name(key, value)
                continue
            value = (
                self.attribute(package, name, node)
                if not isinstance(package, Namespace)
                else self.namespace_of(package, name)
            )
            self.bind_name(alias, value if isinstance(value, Value) else Unknown())
        return True

    def _all_of_library(self, module: str) -> None:
        """`from torch.nn import *`: what the tables know of it."""
        from torch_doctor.static.tables import functions, layers, losses  # noqa: PLC0415 - rarely needed

        prefix = f"{layers.canonical(module)}."
        for table in (layers.LAYERS, losses.LOSSES, functions.FUNCTIONS, layers.CONTAINERS, layers.MODULE_BASES):
            for name in table:
                if name.startswith(prefix) and "." not in name[len(prefix) :]:
                    self.bind_name(name[len(prefix) :], Lib(name))

    # --- calls ---

    def call(self, func: Value, args: Args, keywords: Keywords, node: p.Node, name: str = "") -> Value:
        """Call a value; `name` is the user's spelling of it."""
        if isinstance(func, UnknownAttribute):
            return self.method_of_unknown(func, args, keywords, node, name)
        if isinstance(func, (Plain, Const)):
            for value in (*args, *keywords.values()):
                self.call_back(value, node)
            return Plain()
        return super().call(func, args, keywords, node, name)

    # --- words ---

    def text(self, node: p.Node) -> str:
        """The user's spelling of an expression."""
        row, column, end_row, end_column = node.at
        lines = self.frame.unit.source.lines
        if row > len(lines):
            return ""
        if row == end_row:
            return lines[row - 1][column - 1 : end_column - 1]
        parts = [lines[row - 1][column - 1 :], *lines[row : end_row - 1], lines[end_row - 1][: end_column - 1]]
        return " ".join(part.strip() for part in parts)

    def inner_frame(self) -> Frame:
        """A frame for a comprehension's variables."""
        frame = Frame(self.frame.unit, self.frame.globals, self.frame)
        frame.what = self.frame.what
        frame.self = self.frame.self
        return frame

    def frame_for(self, function: FunctionValue) -> Frame:
        """A frame in which a function's parameters can be looked at."""
        frame = Frame(function.unit, function.closure.globals, function.closure)
        frame.what = function
        return frame


class _Package(Value):
    """A folder of the project without an `__init__.py`."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path
