"""The state of one abstract execution, and what every part of it may ask for."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from torch_doctor.static import program as p
from torch_doctor.static import windows
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.heap import Changes, Heap
from torch_doctor.static.program.walking import asks_version, tells_processes_apart
from torch_doctor.static.values import (
    VERSION,
    Const,
    Either,
    Object,
    ParameterValue,
    Symbol,
    Tensor,
    Value,
)
from torch_doctor.trace import (
    Branch,
    BranchKind,
    DatasetBuilt,
    Event,
    GaveUp,
    GradModeEntered,
    GradModeExited,
    Guards,
    Scope,
    ScopeKind,
    Site,
    TensorFact,
    Trace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_doctor.static.flow import Flow, Part
    from torch_doctor.static.frame import Frame, Landing
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import FunctionValue, Module, Namespace
    from torch_doctor.trace import Retained, Tri

T = TypeVar("T", bound=Object)

STEPS = 12_000
"""Statements and calls that the longest script may take: less than a second."""
DEPTH = 24
"""Project functions that may be inside each other."""
RECURSIONS = 2
"""How often one function may be inside itself."""


class Machine:
    """What the parts of the executor share: frames, heap, assumptions, scope, grad mode, and the trace they write."""

    def __init__(self, trace: Trace, unit: Unit, imports: Imports, steps: int = STEPS) -> None:
        self.trace = trace
        self.imports = imports
        self.heap = Heap()
        self.steps_left = steps
        self.loops = itertools.count(1)
        self.turns: dict[
            int, int
        ] = {}  # loaders whose batches loops take all of, by the number in the symbol of a turn
        self.objects: dict[int, Object] = {}
        self.assumed: dict[Symbol, bool] = {}
        self.guards: Guards = frozenset()
        self.fork_depth = 0
        self.dead_end = False  # the function entered last raised on all paths
        self.stack: list[FunctionValue] = []
        self.modules_called: list[Module] = []
        self.mode_tests = 0  # branches being executed that may have asked for the mode of a module
        self.clocks = False  # a clock has been read
        self.waits = 0  # calls since then that may wait for the GPU
        self.copies = 0  # and those that copy to a device
        self.waiting: set[int] = set()  # modules whose forward may
        self.only_types = False  # what is being evaluated is asked for its type alone
        self.outdated: set[tuple[int, Site, str]] = set()  # uses that were told: the trace, the place and the name
        self.arms = 0  # arms of branches, decided ones too, that are being executed
        self.called_in: tuple[int, Guards, int] = (
            0,
            frozenset(),
            0,
        )  # arms, guards, newest object when the last was called
        self.building: list[Object] = []
        self.state = Object()  # fields: "grad" -> Tri, "stamp" -> int
        self.state.fields["grad"] = True
        self.entered: set[p.Function] = set()
        self.went_backward: set[int] = set()
        self.parts_gone_backward: set[Part] = set()
        self.kept_undecided: list[tuple[Retained, Flow]] = []  # before anything showed whether a graph hangs on them
        self.namespaces: dict[str, Namespace] = {}
        self.branches: dict[Symbol, int] = {}
        self.equalities: dict[Symbol, dict[Symbol, None]] = {}  # what was compared, with which constants
        self._written: dict[p.Node, tuple[bool, bool]] = {}
        self.stamps = itertools.count(1)
        self.loop_depth = 0
        self.root_name = ""
        self.scales = False  # there is a gradient scaler
        self.cleared: set[Symbol] = set()  # what is not known, but has a `zero_grad`
        self.lineage: dict[tuple[int, int], Any] = {}
        self.datasets: dict[int, DatasetBuilt] = {}
        self.placing: dict[p.Node, bool] = {}  # functions and classes: whether they name devices
        self.loads = False  # whether a data loader was ever built
        self.draws = self.reorders = 0  # calls that draw random numbers, and those that draw many or reorder
        self.frame: Frame
        self.scope = Scope(kind=ScopeKind.ROOT, site=unit.site((1, 1, 1, 1)))

    # --- events ---

    def site(self, node: p.Node) -> Site:
        """Where a node of the current file stands."""
        return self.frame.unit.site(node.at)

    def emit(self, kind: type[Any], node: p.Node | Site, **fields: Any) -> Any:  # noqa: ANN401 - the fields of any event
        """Write an event that happens here and now."""
        site = node if isinstance(node, Site) else self.site(node)
        event: Event = kind(site=site, scope=self.scope, guards=self.guards, index=self.trace.next, **fields)
        return self.trace.add(event)

    def fact(self, value: Value, name: str = "") -> TensorFact:
        """What is known of a value, in the words of the trace."""
        flow = value.flow
        known = value if isinstance(value, Tensor) else None
        if isinstance(value, Either):
            known = self.agreed(value)
        common = {
            "name": name,
            "graph": flow.graph,
            "source": flow.source,
            "forwards": flow.forwards,
            "graph_forwards": flow.graph_forwards,
            "retained": flow.retained,
            "cuts": flow.cuts,
            "leaf": isinstance(value, ParameterValue) and not value.declared,
            "loader": flow.loader,
        }
        if known is None:
            return TensorFact(**common)  # type: ignore[arg-type]  # the fields' types are those of the class
        return TensorFact(
            kind=known.kind,
            made_at=known.made_at,
            made_by=known.made_by,
            trail=known.trail,
            scalar=known.scalar,
            **common,  # type: ignore[arg-type]  # as above
        )

    def agreed(self, value: Either) -> Tensor | None:
        """A tensor of the kind that all options have; None when they differ."""
        tensors = [option for _, option in value.options]
        first = tensors[0]
        if isinstance(first, Tensor) and all(isinstance(t, Tensor) and t.kind is first.kind for t in tensors):
            if all(isinstance(t, Tensor) and t.scalar is first.scalar for t in tensors):
                return first
            return Tensor(first.flow, first.kind, first.made_at, first.made_by, first.trail)
        return None

    def give_up(self, node: p.Node, reason: str) -> None:
        """Say that something is not followed any further."""
        self.emit(GaveUp, node, reason=reason)

    def spend(self) -> None:
        """Count one step.

        Raises:
            OutOfBudget: there are none left.
        """
        self.steps_left -= 1
        if self.steps_left < 0:
            raise OutOfBudget

    # --- branches ---

    def decided(self, symbol: Symbol) -> Tri:
        """What the current path has assumed of a test."""
        return self.assumed.get(symbol)

    def equals(self, symbol: Symbol) -> list[Symbol]:
        """The tests known so far that fail where this one holds: the same thing cannot equal two constants."""
        if symbol[0] != "==" or symbol[2][0] != "const":
            return []
        asked = self.equalities.setdefault(symbol[1], {})
        asked[symbol] = None
        return [other for other in asked if other[2] != symbol[2]]

    def branch(self, symbol: Symbol, node: p.Node) -> int:
        """The number of the branch that a symbol decides."""
        number = self.branches.get(symbol)
        if number is None:
            number = self.branches[symbol] = len(self.trace.branches)
            kind = self._kind(symbol, node)
            self.trace.branches.append(Branch(self.site(node), kind, windows.every(symbol)))
        return number

    def _kind(self, symbol: Symbol, node: p.Node) -> BranchKind:
        if symbol[0] == "raised":
            return BranchKind.RAISED
        written = self._written.get(node)
        if written is None:  # a loop's test is met again and again, with other symbols
            compares = isinstance(node, p.Compare) and node.op in ("<", "<=", ">", ">=")
            written = self._written[node] = (asks_version(node), compares and not tells_processes_apart(node))
        asks, measures = written
        if asks or _mentions(symbol, VERSION):
            return BranchKind.VERSION
        if _mentions(symbol, "%"):
            return BranchKind.PERIODIC
        if measures:
            return BranchKind.MEASURE
        return BranchKind.FLAG if symbol[0] in ("flag", ".", "is") else BranchKind.UNKNOWN

    def assume(self, facts: dict[Symbol, bool], node: p.Node) -> None:
        """Let the current path hold these facts from here on."""
        self.assumed = {**self.assumed, **facts}
        for symbol, arm in facts.items():
            if arm and (others := self.equals(symbol)):
                self.assumed |= dict.fromkeys(others, False)
        self.guards = self.guards | {(self.branch(symbol, node), arm) for symbol, arm in facts.items()}

    def resolve(self, value: Value) -> Value:
        """The option that the current path allows, when there is only one."""
        if not isinstance(value, Either):
            return value
        assumed = self.assumed
        options = [
            (facts, option)
            for facts, option in value.options
            if all(assumed.get(symbol, arm) is arm for symbol, arm in facts)
        ]
        if len(options) == 1:
            return options[0][1]
        if len(options) == len(value.options) or not options:
            return value
        return Either(tuple(options))

    def deciding(self, value: Either) -> tuple[Symbol, bool] | None:
        """The one test that leads to the first option on the current path, with its answer; None where it takes several."""
        open_facts = [(symbol, arm) for symbol, arm in value.options[0][0] if self.assumed.get(symbol) is not arm]
        return open_facts[0] if len(open_facts) == 1 else None

    @contextmanager
    def override(self, **fields: Any) -> Iterator[None]:
        """Some fields have other values within, and the values that they had again behind, however it ends."""
        before = {name: getattr(self, name) for name in fields}
        try:
            for name, value in fields.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def fork(
        self,
        arms: Sequence[tuple[dict[Symbol, bool], Callable[[], bool]]],
        node: p.Node,
        symbol: Symbol | None,
    ) -> bool:
        """Run two arms from the same state, each under its facts, and join what they leave; True when a path goes on.

        An arm returns whether its path goes on. Where only one does, its facts keep holding.
        """
        (first_facts, first), (second_facts, second) = arms
        assumed, guards = self.assumed, self.guards
        mark = self.heap.mark()
        self.fork_depth += 1
        self.assume(first_facts, node)
        first_alive = first()
        first_after = (self.assumed, self.guards)
        changes: Changes = self.heap.changes(mark) if first_alive else {}
        self.heap.undo(mark)
        self.assumed, self.guards = assumed, guards
        self.assume(second_facts, node)
        second_alive = second()
        self.fork_depth -= 1
        if first_alive and second_alive:
            self.heap.merge(changes, mark, symbol)
            self.assumed, self.guards = assumed, guards
            return True
        if second_alive:
            return True
        if first_alive:
            self.heap.undo(mark)
            self.heap.apply(changes)
            self.assumed, self.guards = first_after
            return True
        self.assumed, self.guards = assumed, guards
        return False

    def jump(self, landing: Landing) -> None:
        """Bring the current state to a landing, from within a branch."""
        landing.arrivals.append(self.heap.changes(landing.mark))

    def land(self, landing: Landing, *, alive: bool) -> bool:
        """Join the state that falls through (when `alive`) with those that jumped here; True when there is any."""
        arrivals = landing.arrivals
        if not alive and arrivals:
            self.heap.undo(landing.mark)
            self.heap.apply(arrivals[0])
            arrivals = arrivals[1:]
            alive = True
        for arrival in arrivals:
            self.heap.merge(arrival, landing.mark)
        return alive

    # --- grad mode ---

    @property
    def grad(self) -> Tri:
        """Whether autograd records."""
        mode: Tri = self.state.fields["grad"]
        return mode

    def set_grad(self, context: str, enabled: Tri, node: p.Node | Site, *, leave: bool = False) -> Tri:
        """Switch the grad mode and return what it was."""
        before = self.grad
        self.heap.set(self.state.fields, "grad", enabled)
        self.emit(GradModeExited if leave else GradModeEntered, node, context=context, enabled=enabled)
        return before

    # --- objects ---

    def own(self, thing: T) -> T:
        """Remember an object by its number."""
        self.objects[thing.id] = thing
        return thing


def _mentions(symbol: tuple[Any, ...], word: str) -> bool:
    waiting: list[Any] = [symbol]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif part == word:
            return True
    return False


def constant(value: Value) -> object:
    """The Python value of a constant, None for anything else."""
    return value.value if isinstance(value, Const) else None
