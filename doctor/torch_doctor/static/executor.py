"""The abstract executor: one execution of a file as a script, and the tables that say what each node does."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.frame import Landing, top_frame
from torch_doctor.static.language import (
    assignments,
    attributes,
    branches,
    calls,
    comprehensions,
    conditions,
    contexts,
    definitions,
    expressions,
    files,
    items,
    loops,
    operators,
    statements,
)
from torch_doctor.static.machine import Machine
from torch_doctor.static.tables import training
from torch_doctor.static.training import datasets, memory, splitting
from torch_doctor.static.values import Namespace, Tool, Value
from torch_doctor.trace import Scope, ScopeKind, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any, Final

    from torch_doctor.static.flow import Flow
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.training.loading import LoadReport
    from torch_doctor.static.training.module_parts import Inside
    from torch_doctor.static.training.places import Moves
    from torch_doctor.static.training.workers import Draws
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Args, Call, Loader, Module, Object, Symbol, Tensor
    from torch_doctor.trace import Overwritten, Repeated, Site


class Executor(Machine):
    """Executes one file as a script, and what is called in it, across the project's files.

    The functions of `language` and `training` take it as `run`; they come back here for whatever depends on the sort of a
    node or value.
    """

    def __init__(
        self,
        trace: Trace,
        unit: Unit,
        imports: Imports,
        steps: int,
        shared: dict[Path, Namespace],
        objects: dict[int, Object],
        home: Namespace | None = None,
    ) -> None:
        super().__init__(trace, unit, imports, steps)
        self.objects = dict(objects)
        self.lasting = objects  # those that the imported files made: they are there for all runs
        self.iteration: Landing | None = None
        self.loop: Landing | None = None
        self.inside: dict[int, tuple[int, Inside]] = {}
        self.remembered: dict[Any, tuple[Value, int, Flow]] = {}
        self.applied: tuple[int, list[Value]] | None = None  # what an item of a data set is made with, on every path
        self.items: dict[int, Value] = {}  # what the project's data sets give, by their numbers
        self.played: dict[Symbol, Value] = {}  # what an unknown value turned out to be, by use
        self.driven: set[int] = set()
        self.constants = False  # whether any weights were set to a constant
        self.straight: dict[
            int, tuple[Value, Module]
        ] = {}  # tensors, by id, and the constant layer that they came from
        self.repeated: dict[int, Repeated] = {}  # modules that a list holds several times
        self.built_in_forward: set[Site] = set()  # constructions of which it was said that a forward makes them
        self.plain_tensors: set[Site] = set()  # attributes of which it was said that a forward uses them
        self.overwritten: dict[int, tuple[Value, Overwritten]] = {}  # values in the place of what returned them, by id
        self.load_reports: dict[int, LoadReport] = {}  # what loads of weights returned, by id
        self.importing = 0
        self.states: dict[int, tuple[Tensor, int]] = {}  # tensors of state dicts, by id, with the event that took them
        self.scales = any(isinstance(thing, Tool) and thing.name in training.SCALERS for thing in objects.values())
        self.met_at: set[Site] = set()  # constructions of which it was said that they meet tensors of another device
        self.default_device = False  # what nobody moves is where the model is: by a setting, or as all is on the CPU
        self.rows = splitting.Rows()
        self.sent_away: set[object] = set()  # loaders, and sorts of data sets, of which something was moved to a device
        self.moved: tuple[p.Node | None, Value | None] = (
            None,
            None,
        )  # the last call that moved a tensor, and the tensor
        self.moves: Moves | None = None  # what is moved while an item of a data set is made
        self.lost: dict[int, tuple[Value, p.Node, str]] = {}  # what a statement moved, by id, if it is a tensor
        self.blamed: set[object] = set()  # what was on the CPU and met something that is not
        self.scatters = False  # the module that is being called moves what it is given itself
        self.outer_call: tuple[Site | None, str] = (None, "")  # where it was called, and as what
        self.outer_arguments: Args = ()  # and with what
        self.shares = memory.Shares()
        self.drawing: Draws | None = None  # what random numbers are drawn from while an item of a data set is made
        self.seeding: dict[str, tuple[Site, str] | None] | None = (
            None  # the seeds of libraries, while a worker is set up
        )
        self.raw: Site | None = None  # where pictures were read that a layer of the module being called got as they are
        self.passing = False  # calls of the project's functions are not entered
        self.units = shared  # files are executed once for all runs; what a run changes in them is undone at its end
        self.main = unit
        self.home = home or Namespace(unit)
        self.frame = top_frame(unit, self.home)

    def restart(self, trace: Trace, steps: int) -> None:
        """Begin another run in the state that the file's top level left."""
        self.trace = trace
        self.steps_left = steps
        self.branches = {}
        self.assumed = {}
        self.guards = frozenset()
        self.fork_depth = self.loop_depth = self.importing = self.arms = self.mode_tests = 0
        self.stack, self.modules_called, self.building = [], [], []
        self.iteration = self.loop = None
        self.remembered = {}
        self.played = {}
        self.driven = set()
        self.constants, self.straight = False, {}
        self.repeated = {}
        self.built_in_forward = set()
        self.plain_tensors = set()
        self.sent_away, self.blamed, self.lost = set(), set(), {}
        self.datasets = {}
        self.overwritten = {}
        self.load_reports = {}
        self.went_backward = set()
        self.parts_gone_backward = set()
        self.kept_undecided = []
        self.frame = top_frame(self.main, self.home)
        self.scope = Scope(kind=ScopeKind.ROOT, site=self.main.site((1, 1, 1, 1)))

    @contextmanager
    def aside(self, steps: int) -> Iterator[None]:
        """What is executed within, in so many steps, leaves neither events nor changes."""
        mark, saved = self.heap.mark(), {name: getattr(self, name) for name in _PASSING}
        self.trace = Trace(self.trace.path)
        self.branches, self.entered, self.stack, self.modules_called = {}, set(self.entered), [*self.stack], []
        self.steps_left = min(steps, self.steps_left)
        try:
            yield
        finally:
            self.heap.undo(mark)
            for name, value in saved.items():
                setattr(self, name, value)

    def run(self) -> None:
        """Execute the file as a script, where it has not been executed already."""
        if not self.home.whole:
            self.block(self.main.program.body)

    # --- what depends on the sort of a node or value ---

    def block(self, body: tuple[p.Stmt, ...]) -> bool:
        """Execute statements in order; False when the path does not go on after them."""
        for statement in body:
            self.steps_left -= 1
            if self.steps_left < 0:
                self.spend()
            if not _STATEMENTS[statement.__class__](self, statement):
                return False
        return True

    def evaluate(self, node: p.Expr) -> Value:
        """The value of an expression."""
        value = _EXPRESSIONS[node.__class__](self, node)
        return self.heap.current(value) if self.heap.changed else value

    def attribute(self, value: Value, name: str, node: p.Node) -> Value:
        """Take an attribute."""
        found = attributes.ATTRIBUTES.get(value.__class__, attributes.of_unknown)
        return found(self, self.resolve(value), name, node)

    def call(self, func: Value, call: Call) -> Value:
        """Call a value."""
        return calls.call(self, func, call)

    def batch_of(self, loader: Loader) -> Value:
        """What one pass over a loader gets."""
        return datasets.batch_of(self, loader)

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

    def text_of_argument(self, node: p.Node, position: int) -> str:
        """The user's spelling of a call's argument."""
        if isinstance(node, p.Call) and position < len(node.args):
            return self.text(node.args[position])
        return ""


_PASSING = (
    "assumed",
    "branches",
    "building",
    "dead_end",
    "entered",
    "fork_depth",
    "frame",
    "guards",
    "iteration",
    "loop",
    "loop_depth",
    "modules_called",
    "scope",
    "stack",
    "steps_left",
    "trace",
)
"""What of the state belongs to where the execution stands."""

_STATEMENTS: Final[dict[type[p.Stmt], Callable[[Executor, Any], bool]]] = {
    **statements.STATEMENTS,
    **assignments.STATEMENTS,
    **branches.STATEMENTS,
    **contexts.STATEMENTS,
    **loops.STATEMENTS,
    **definitions.STATEMENTS,
    **files.STATEMENTS,
}
_EXPRESSIONS: Final[dict[type[p.Expr], Callable[[Executor, Any], Value]]] = {
    **expressions.EXPRESSIONS,
    **calls.EXPRESSIONS,
    **branches.EXPRESSIONS,
    **comprehensions.EXPRESSIONS,
    **conditions.EXPRESSIONS,
    **items.EXPRESSIONS,
    **definitions.EXPRESSIONS,
    **operators.EXPRESSIONS,
}
