"""One run: the heap, the trace, where the execution stands, and the verbs by which its parts ask each other."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from torch_doctor.static import describing, dispatch
from torch_doctor.static import program as p
from torch_doctor.static.budget import SHARE_ALONE, OutOfBudget
from torch_doctor.static.decisions import Decisions
from torch_doctor.static.heap import Heap
from torch_doctor.static.hooks import key_of
from torch_doctor.static.knowing import Knowing
from torch_doctor.static.knowledge import overriding
from torch_doctor.static.options import Options
from torch_doctor.static.position import Position, Positioned
from torch_doctor.static.values import Either, Namespace, Object, Value
from torch_doctor.static.values.functions import top_frame
from torch_doctor.trace import GaveUp, GradModeEntered, GradModeExited, Site, TensorFact, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.static.heap import Changes
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.knowledge import Knowledge
    from torch_doctor.static.landing import Landing
    from torch_doctor.static.registry import Registry
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Loader, Symbol
    from torch_doctor.trace import Event, Tri

    K = TypeVar("K", bound=Knowledge)

T = TypeVar("T", bound=Object)


class Run(Positioned, Knowing):
    """Executes one file as a script, and what is called in it, across the project's files.

    The functions of `language` and `training` take it as `run`; they come back here for whatever depends on the sort of a
    node or value. What belongs to one kind of knowledge alone is kept by a class of its own, see `of`.
    """

    def __init__(
        self,
        trace: Trace,
        unit: Unit,
        imports: Imports,
        steps: float,
        shared: dict[Path, Namespace],
        objects: Registry,
        home: Namespace | None = None,
        wanted: frozenset[type[Event]] | None = None,
    ) -> None:
        dispatch.load()
        self.trace = trace
        self.imports = imports
        self.heap = Heap()
        self.steps_left = steps
        self.share = 0.0
        self.main = unit
        self.home = home or Namespace(unit)
        self.units = shared  # files are executed once for all runs; what a run changes in them is undone at its end
        self.objects = objects
        self.state = Object()  # fields: "grad" -> Tri, and what is on at the moment
        self.state.fields["grad"] = True
        self.loops = itertools.count(1)
        self.stamps = itertools.count(1)
        self.entered: set[p.Function] = set()
        self.brought: dict[Path, list[range]] = {}  # the numbers of the events of imported files
        self.dead_end = False  # the function entered last raised on all paths
        self.position = self._start()
        Knowing.__init__(self, wanted)

    def _start(self) -> Position:
        return Position(top_frame(self.main, self.home), self.main.site((1, 1, 1, 1)))

    def run(self) -> None:
        """Execute the file as a script, where that was not done already."""
        if not self.home.whole:
            self.dead_end = not self.block(self.main.program.body)

    def restart(self, trace: Trace, steps: float) -> None:
        """Begin another run in the state that the file's top level left."""
        self.trace = trace
        self.steps_left = steps
        self.dead_end = False
        self.share = SHARE_ALONE
        self.position = self._start()
        self.begin_again()

    @contextmanager
    def aside(self, steps: int) -> Iterator[None]:
        """What is executed within, in so many steps, leaves neither events nor changes."""
        mark, imports = self.heap.mark(), len(self.objects.brought)
        decisions = self.exchange(Decisions, Decisions(self.heap))
        inside = {
            "trace": Trace(self.trace.path),
            "entered": set(self.entered),
            "steps_left": min(steps, self.steps_left),
            "dead_end": self.dead_end,
            "position": self.position.moved(modules_called=()),
        }
        try:
            with overriding(self, inside):
                yield
        finally:
            self.heap.undo(mark)
            self.objects.forget_imports(imports)
            self.exchange(Decisions, decisions)

    # --- verbs ---

    def block(self, body: tuple[p.Stmt, ...]) -> bool:
        """Execute statements in order; False when the path does not go on after them."""
        handlers = dispatch.STATEMENTS
        for statement in body:
            self.steps_left -= 1
            if self.steps_left < 0:
                self.spend()
            if not handlers[statement.__class__](self, statement):
                return False
        return True

    def evaluate(self, node: p.Expr) -> Value:
        """The value of an expression."""
        value: Value = dispatch.EXPRESSIONS[node.__class__](self, node)
        return self.heap.current(value) if self.heap.changed else value

    def attribute(self, value: Value, name: str, node: p.Node) -> Value:
        """Take an attribute."""
        if isinstance(value, Either):
            value = self.resolve(value)
        for observe in self.observers.read[value.__class__, name]:
            observe(self, value, name, node)
        handler = dispatch.ATTRIBUTES.get(value.__class__, dispatch.ATTRIBUTES[Value])
        found: Value = handler(self, value, name, node)
        return found

    def call(self, func: Value, call: Call) -> Value:
        """Call a value."""
        if isinstance(func, Either):
            func = self.resolve(func)
        for observe in self.observers.invoked[key_of(func)]:
            observe(self, func, call)
        func = dispatch.VERBS["meant"](self, func, call)
        result: Value = dispatch.CALLS.get(func.__class__, dispatch.CALLS[Value])(self, func, call)
        return result

    def batch_of(self, loader: Loader) -> Value:
        """What one pass over a loader gets."""
        batch: Value = dispatch.VERBS["batch_of"](self, loader)
        return batch

    # --- events ---

    def site(self, node: p.Node) -> Site:
        """Where a node of the current file stands."""
        return self.position.frame.unit.site(node.at)

    def emit(self, kind: type[Any], node: p.Node | Site, **fields: Any) -> Any:
        """Write an event that happens here and now."""
        site = node if isinstance(node, Site) else self.site(node)
        position, trace = self.position, self.trace
        event: Event = kind(site=site, scope=position.scope, guards=position.guards, index=trace.next, **fields)
        return trace.add(event)

    def fact(self, value: Value, name: str = "") -> TensorFact:
        """What is known of a value, in the words of the trace."""
        return describing.fact(value, name)

    def give_up(self, node: p.Node, reason: str) -> None:
        """Say that something is not followed any further."""
        self.emit(GaveUp, node, reason=reason)

    def spend(self, steps: float = 1) -> None:
        """Count one step, or so many.

        Raises:
            OutOfBudget: there are none left.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            raise OutOfBudget

    # --- branches ---

    def decided(self, symbol: Symbol) -> Tri:
        """What the path has assumed of a test, or the setting of the run decides."""
        return self.of(Options).decided(symbol) if (found := self.assumed.get(symbol)) is None else found

    def assume(self, facts: dict[Symbol, bool], node: p.Node) -> None:
        """Let the current path hold these facts from here on."""
        decisions, position = self.of(Decisions), self.position
        position.assumed = decisions.implied(position.assumed, facts, self.of(Options).last)
        at = self.site(node), self.trace, self.of(Options).needs, partial(dispatch.VERBS["formula"], self)
        position.guards |= {(decisions.branch(symbol, node, *at), arm) for symbol, arm in facts.items()}

    def resolve(self, value: Value) -> Value:
        """The option that the current path allows, when there is only one."""
        if not isinstance(value, Either):
            return value
        options = value.under(self.position.assumed)
        if len(options) == 1:
            return options[0][1]
        if len(options) == len(value.options) or not options:
            return value
        return Either(tuple(options))

    def deciding(self, value: Either) -> tuple[Symbol, bool] | None:
        """The one test that leads to the first option on the current path, with its answer; None where it takes several."""
        open_facts = [(symbol, arm) for symbol, arm in value.options[0][0] if self.assumed.get(symbol) is not arm]
        return open_facts[0] if len(open_facts) == 1 else None

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
        position = self.position
        before = position.assumed, position.guards
        mark = self.heap.mark()
        position.fork_depth += 1
        self.assume(first_facts, node)
        first_alive = first()
        first_after = position.assumed, position.guards
        changes: Changes = self.heap.changes(mark) if first_alive else {}
        self.heap.undo(mark)
        position.assumed, position.guards = before
        self.assume(second_facts, node)
        second_alive = second()
        position.fork_depth -= 1
        if first_alive and second_alive:
            self.of(Options).joins(symbol, changes, mark, before[0])
            self.heap.merge(changes, mark, symbol)
            position.assumed, position.guards = before
        elif first_alive:
            self.heap.undo(mark)
            self.heap.apply(changes)
            position.assumed, position.guards = first_after
        elif not second_alive:
            position.assumed, position.guards = before
        return first_alive or second_alive

    def jump(self, landing: Landing) -> None:
        """Bring the current state to a landing, from within a branch."""
        landing.arrivals.append(self.heap.changes(landing.mark))

    def land(self, landing: Landing, *, alive: bool) -> bool:
        """Join the state that falls through (when `alive`) with those that jumped here; True when there is any."""
        return self.heap.land(landing.mark, landing.arrivals, alive=alive)

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
        self.objects.add(thing)
        return thing

    # --- words ---

    def text(self, node: p.Node) -> str:
        """The user's spelling of an expression."""
        return self.position.frame.unit.text(node.at)

    def text_of_argument(self, node: p.Node, position: int, name: str = "") -> str:
        """The user's spelling of a call's argument, given by its position or its name."""
        if isinstance(node, p.Call) and position < len(node.args):
            return self.text(node.args[position])
        keywords = dict(node.keywords) if isinstance(node, p.Call) else {}
        return self.text(keywords[name]) if name in keywords else ""
