"""Executes statements: assignments, branches, loops, contexts, and the jumps between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.frame import Frame, Landing
from torch_doctor.static.machine import Machine, constant
from torch_doctor.static.values import (
    MISSING,
    NOTHING,
    Bound,
    ClassValue,
    Const,
    Content,
    Context,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    fresh_symbol,
    summary,
)
from torch_doctor.trace import Kept, LoopEntered, LoopExited, LoopIterated, LoopKind, Scope, ScopeKind
from torch_doctor.trace.words import Holding

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.iteration import Course

TRANSPARENT = {"staticmethod": "static", "classmethod": "class", "property": "property"}
JOINS = frozenset(f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"))


class Statements(Machine):
    """The statements' part of the executor. A method returns False when the path ends with its statement."""

    _iteration: Landing | None = None
    _loop: Landing | None = None

    def block(self, body: tuple[p.Stmt, ...]) -> bool:
        """Execute statements in order; False when the path does not go on after them."""
        for statement in body:
            self.steps_left -= 1
            if self.steps_left < 0:
                self.spend()
            if not _STATEMENTS[statement.__class__](self, statement):
                return False
        return True

    # --- simple ones ---

    def _assign(self, node: p.Assign) -> bool:
        value = self.evaluate(node.value)
        for target in node.targets:
            named = self.named(value, target, node.value)
            if isinstance(target, p.Name) and isinstance(named, Tensor) and named.made_by in JOINS:
                named = self._concatenated(node, target, named)
            self.bind(target, named, node)
        return True

    def _concatenated(self, node: p.Assign, target: p.Name, value: Tensor) -> Value:
        """`outputs = torch.cat([outputs, new])`: the name keeps what it had and more."""
        if self.modules_called or not isinstance(node.value, p.Call) or not _reads(node.value, target.id):
            return value
        holder = self.frame.holder(target.id)
        old = holder.fields.get(target.id) if holder is not None else None
        carried = old.flow.kept if isinstance(old, Value) else frozenset()
        return self.keep(value, Holding.CONCATENATED, target.id, carried, node)

    def keep(
        self, value: Value, how: Holding, holder: str, carries: frozenset[int], node: p.Node, *, bounded: bool = False
    ) -> Value:
        """Write that a value is kept, and return it marked as such."""
        flow = value.flow
        if flow.graph is False or self.modules_called:
            return value
        if flow.graph is None and flow.forwards and flow.forwards <= self.went_backward:
            flow = replace(flow, graph=True)  # that it went backward shows that it had a graph
            value = self.reflow(value, flow)
        event = self.emit(Kept, node, value=self.fact(value), how=how, holder=holder, carries=carries, bounded=bounded)
        kept = frozenset((*flow.kept, *carries, event.index))
        new = Flow(flow.graph, flow.forwards, flow.graph_forwards, kept, flow.modules, flow.source, flow.loader)
        return self.reflow(value, new)

    def reflow(self, value: Value, flow: Flow) -> Value:
        """The same value with another history."""
        if isinstance(value, Tensor):
            return value.with_flow(flow)
        return Unknown(flow, value.holds if isinstance(value, Unknown) else frozenset())

    def _augment(self, node: p.Augment) -> bool:
        old = self.evaluate(node.target)
        value = self.evaluate(node.value)
        old = self.resolve(old)
        if isinstance(old, Sequence):
            self.extend_sequence(old, value, node, self.text(node.target))
            if not node.rebinds:
                return True
            self.bind(node.target, old, node)
            return True
        if self.updates_by_hand(node, old, value):
            return True
        result = self.operate(node.op, (old, value), node)
        if self.loop_depth and isinstance(result, Const) and not isinstance(result.value, str):
            result = Plain()  # a counter: two passes stand for many, so its value is not what it was counted to
        if node.op in "+-" and value.flow.graph is not False and not self.modules_called:
            plain = isinstance(old, (Const, Plain)) or (isinstance(old, (Tensor, Unknown)) and old.flow.graph is False)
            if plain or old.flow.kept:
                kept = self.keep(value, Holding.ACCUMULATED, self.text(node.target), old.flow.kept, node)
                result = self.operate(node.op, (old, kept), node)
        self.bind(node.target, result, node)
        return True

    def _annotate(self, node: p.Annotate) -> bool:
        if self.frame.owner is not None:
            self.heap.set(self.frame.owner.fields, ("annotation", node.name), node.annotation)
        return True

    def _evaluate(self, node: p.Evaluate) -> bool:
        value = self.evaluate(node.value)
        if isinstance(node.value, (p.Attribute, p.Name)):
            self.mentioned(value, node.value)
        return True

    def _return(self, node: p.Return) -> bool:
        value = NOTHING if node.value is None else self.evaluate(node.value)
        frame = self.frame
        landing = frame.returns
        if landing is not None:
            frame.returned.append((frozenset(self.assumed.items()), value))
            if self.fork_depth == landing.depth and self.loop_depth == landing.loops:
                landing.direct = True
            else:
                self.jump(landing)
        return False

    def _raise(self, _: p.Raise) -> bool:
        return False

    def _break(self, _: p.Break) -> bool:
        if self._loop is not None:
            self.jump(self._loop)
        return False

    def _continue(self, _: p.Continue) -> bool:
        if self._iteration is not None:
            self.jump(self._iteration)
        return False

    def _define(self, node: p.Define) -> bool:
        self.bind_name(node.function.name, self.function(node.function))
        return True

    def _delete(self, node: p.Delete) -> bool:
        for target in node.targets:
            if isinstance(target, p.Name):
                holder = self.frame.holder(target.id)
                if holder is self.frame or holder is self.frame.globals:
                    self.heap.drop(holder.fields, target.id)
            elif isinstance(target, p.Index):
                value = self.resolve(self.evaluate(target.value))
                if isinstance(value, Sequence) and isinstance(target.key, p.Slice):
                    self.clear(value)
            elif isinstance(target, p.Attribute):
                value = self.resolve(self.evaluate(target.value))
                if isinstance(value, Instance):
                    self.heap.drop(value.fields, target.name)
        return True

    def _outer(self, node: p.Outer) -> bool:
        for name in node.names:
            self.frame.outer[name] = node.is_global
        return True

    # --- names ---

    def bind_name(self, name: str, value: Value) -> None:
        """Assign a variable of the current frame."""
        frame = self.frame
        outer = frame.outer.get(name)
        fields = frame.fields
        if outer is True:
            fields = frame.globals.fields
        elif outer is False and frame.closure is not None:
            holder = frame.closure.holder(name)
            fields = fields if holder is None else holder.fields
        self.heap.set(fields, name, value)

    def bind(self, target: p.Expr, value: Value, node: p.Node) -> None:
        """Assign to a target: a name, attribute, item, or several at once."""
        if isinstance(target, p.Name):
            self.bind_name(target.id, value)
        elif isinstance(target, p.Attribute):
            self.set_attribute(self.resolve(self.evaluate(target.value)), target.name, value, node, target)
        elif isinstance(target, p.Index):
            holder = self.resolve(self.evaluate(target.value))
            self.set_item(holder, self.evaluate(target.key), value, node, target)
        elif isinstance(target, p.Display):
            for part, item in zip(target.items, self.unpack(value, target.items, node), strict=False):
                self.bind(part.value if isinstance(part, p.Star) else part, item, node)
        elif isinstance(target, p.Star):
            self.bind(target.value, value, node)

    # --- branches ---

    def _if(self, node: p.If) -> bool:
        truth, yes, no, symbol = self.condition(node.test)
        if truth is True:
            return self.block(node.body)
        if truth is False:
            return self.block(node.other)
        return self.fork(
            ((yes, lambda: self.block(node.body)), (no, lambda: self.block(node.other))), node.test, symbol
        )

    def _try(self, node: p.Try) -> bool:
        alive = self.block(node.body)
        if alive:
            alive = self.block(node.other)
        for handler in node.handlers:
            body = handler.body
            if not body or (all(isinstance(statement, p.Raise) for statement in body[-1:]) and alive):
                continue
            before = alive
            symbol = fresh_symbol("raised")

            def handled(handler: p.Handler = handler) -> bool:
                if handler.name is not None:
                    self.bind_name(handler.name, Plain())
                return self.block(handler.body)

            def passed(before: bool = before) -> bool:  # noqa: FBT001, FBT002 - bound now, the loop goes on
                return before

            alive = self.fork((({symbol: True}, handled), ({symbol: False}, passed)), node, symbol)
        final = self.block(node.final)
        return alive and final

    # --- contexts ---

    def _with(self, node: p.With) -> bool:
        context = self.resolve(self.evaluate(node.context))
        if isinstance(context, (Lib, Bound)) and isinstance(node.context, (p.Attribute, p.Name)):
            self.mentioned(context, node.context)
        if isinstance(context, Context):
            before = context.previous if context.previous is not None else self.grad
            restore = before[0] if isinstance(before, tuple) else before
            if context.previous is None:
                self.set_grad(context.name, context.enabled, node.context)
            alive = self.block(node.body)
            if alive:
                self.set_grad(context.name, restore, node.context, leave=True)  # type: ignore[arg-type]
            else:
                self._leave_dead(restore)
            return alive
        if isinstance(context, Suspended):
            return self._with_generator(node, context)
        entered: Value = context
        enter = self.attribute(context, "__enter__", node) if isinstance(context, Instance) else None
        if isinstance(enter, Bound):
            entered = self.call(enter, (), {}, node)
        if node.target is not None:
            self.bind(node.target, entered, node)
        alive = self.block(node.body)
        if isinstance(context, Instance):
            leave = self.attribute(context, "__exit__", node)
            if isinstance(leave, Bound):
                self.call(leave, (NOTHING, NOTHING, NOTHING), {}, node)
        return alive

    def _leave_dead(self, restore: Any) -> None:  # noqa: ANN401 - a Tri
        """Restore the grad mode in the states that left the block by jumping: they are on their way to a landing."""
        key = (id(self.state.fields), "grad")
        self.heap.set(self.state.fields, "grad", restore)
        for landing in (self._iteration, self._loop, self.frame.returns):
            if landing is None:
                continue
            for arrival in landing.arrivals:
                if key in arrival:
                    arrival[key] = (self.state.fields, "grad", restore)

    def _with_generator(self, node: p.With, context: Suspended) -> bool:
        """`with` on a project generator made a context manager: the block runs where it yields."""
        outer = self.frame
        alive = [True]

        def inside(value: Value) -> Value:
            inner, self.frame = self.frame, outer
            if node.target is not None:
                self.bind(node.target, value, node)
            alive[0] = self.block(node.body)
            self.frame = inner
            return NOTHING

        self.enter(context.function, context.args, context.keywords, node, on_yield=inside)
        return alive[0]

    # --- loops ---

    def _for(self, node: p.For) -> bool:
        course = self.course(node.over)

        def begin(number: int) -> bool:
            item = course.item(number)
            self.bind(node.target, item, node)
            return True

        alive = self.iterate(node, node.head, course, begin, lambda: self.block(node.body))
        return alive and self.block(node.other)

    def _while(self, node: p.While) -> bool:
        course = self.endless(node)
        stopped = [False]

        def begin(number: int) -> bool:
            truth, _, _, _ = self.condition(node.test)
            if truth is False:
                stopped[0] = True
                return False
            return True

        alive = self.iterate(node, node.head, course, begin, lambda: self.block(node.body))
        return alive and self.block(node.other)

    def iterate(
        self, node: p.Node, head: p.At, course: Course, begin: Callable[[int], bool], body: Callable[[], bool]
    ) -> bool:
        """Run a loop's passes, each in its own scope; False when no path leaves the loop."""
        site = self.frame.unit.site(head)
        outer_scope, assumed, guards = self.scope, self.assumed, self.guards
        outer_landings = (self._iteration, self._loop)
        number_of_loop = next(self.loops)
        quiet = bool(self.modules_called)
        if not quiet:
            self.emit(LoopEntered, site, loop=number_of_loop, loop_kind=course.kind, over=course.over)
        self._loop = Landing(self.heap.mark(), self.fork_depth)
        self.loop_depth += 1
        alive = True
        for number in range(1, course.passes + 1):
            self.scope = Scope(
                kind=ScopeKind.ITERATION,
                site=site,
                parent=outer_scope,
                loop=number_of_loop,
                number=number,
                loop_kind=course.kind,
            )
            if not quiet:
                self.emit(LoopIterated, site, loop=number_of_loop, number=number)
            self._iteration = Landing(self.heap.mark(), self.fork_depth)
            if not begin(number):
                break
            alive = self.land(self._iteration, alive=body())
            self.assumed, self.guards = assumed, guards
            if not alive:
                break
        self.loop_depth -= 1
        self.scope = outer_scope
        alive = self.land(self._loop, alive=alive)
        self._iteration, self._loop = outer_landings
        if not quiet:
            self.emit(LoopExited, site, loop=number_of_loop)
        return alive

    # --- definitions ---

    def function(self, node: p.Function) -> Value:
        """The value of a `def` or lambda, its decorators applied."""
        frame = self.frame
        # A class body's names are not in sight of its methods.
        closure = frame.closure if frame.owner is not None and frame.closure is not None else frame
        result: Value = FunctionValue(node, frame.unit, closure, frame.owner)
        for decorator in reversed(node.decorators):
            result = self.decorated(result, decorator)
        return result

    def _class(self, node: p.Class) -> bool:
        bases = tuple(self.resolve(self.evaluate(base)) for base in node.bases)
        cls = ClassValue(node.name, node, self.frame.unit, bases)
        outer = self.frame
        self.frame = Frame(outer.unit, outer.globals, outer)
        self.frame.owner = cls
        self.frame.fields = cls.fields
        self.block(node.body)
        self.frame = outer
        for decorator in node.decorators:
            applied = self.evaluate(decorator)
            names = [applied.name] if isinstance(applied, Lib) else []
            if isinstance(decorator, p.Call):
                func = self.evaluate(decorator.func)
                names = [func.name] if isinstance(func, Lib) else []
            cls.dataclass |= any(
                name in {"dataclasses.dataclass", "attr.s", "attr.dataclass", "attrs.define"} for name in names
            )
        self.bind_name(node.name, cls)
        return True

    def clear(self, sequence: Sequence) -> None:
        """Empty a sequence."""
        self.heap.set(sequence.fields, "items", Content())

    # --- provided elsewhere ---

    def condition(self, node: p.Expr) -> tuple[bool | None, dict[Any, bool], dict[Any, bool], Any]:
        """Decide a test: the outcome, the facts in each arm, and the symbol that decides."""
        raise NotImplementedError

    def named(self, value: Value, target: p.Expr, source: p.Expr) -> Value:
        """The value, given the role that its name tells when nothing else does."""
        raise NotImplementedError

    def text(self, node: p.Node) -> str:
        """The user's spelling of an expression."""
        raise NotImplementedError

    def mentioned(self, value: Value, node: p.Expr) -> None:
        """A value was named and nothing was done with it."""
        raise NotImplementedError

    def operate(self, op: str, operands: tuple[Value, ...], node: p.Node) -> Value:
        """Apply an operator."""
        raise NotImplementedError

    def updates_by_hand(self, node: p.Augment, old: Value, value: Value) -> bool:
        """Whether the statement is a hand-written update of parameters; it is written when so."""
        raise NotImplementedError

    def extend_sequence(self, sequence: Sequence, value: Value, node: p.Node, name: str) -> None:
        """Put the items of a value at a sequence's end."""
        raise NotImplementedError

    def set_attribute(self, value: Value, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
        """Assign an attribute."""
        raise NotImplementedError

    def set_item(self, holder: Value, key: Value, new: Value, node: p.Node, target: p.Index) -> None:
        """Assign an item."""
        raise NotImplementedError

    def unpack(self, value: Value, targets: tuple[p.Expr, ...], node: p.Node) -> list[Value]:
        """Take a value apart for several targets."""
        raise NotImplementedError

    def course(self, over: p.Expr) -> Course:
        """How a `for` goes through something."""
        raise NotImplementedError

    def endless(self, node: p.While) -> Course:
        """How a `while` goes."""
        raise NotImplementedError

    def decorated(self, function: Value, decorator: p.Expr) -> Value:
        """What a decorator makes of a function."""
        raise NotImplementedError

    def enter(
        self,
        function: FunctionValue,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        node: p.Node,
        on_yield: Callable[[Value], Value] | None = None,
    ) -> Value:
        """Execute a project function."""
        raise NotImplementedError

    def _import(self, node: p.Import) -> bool:
        raise NotImplementedError

    def _import_from(self, node: p.ImportFrom) -> bool:
        raise NotImplementedError


class Suspended(Value):
    """A call of a generator function that is used as a context manager: it runs when the block is entered."""

    __slots__ = ("args", "function", "keywords")

    def __init__(self, function: FunctionValue, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords


def _reads(node: p.Call, name: str) -> bool:
    """Whether a name is among a call's arguments, on its own or in a list."""
    for argument in node.args:
        parts = argument.items if isinstance(argument, p.Display) else (argument,)
        if any(isinstance(part, p.Name) and part.id == name for part in parts):
            return True
    return False


_STATEMENTS: dict[type[p.Stmt], Callable[[Any, Any], bool]] = {
    p.Assign: Statements._assign,
    p.Augment: Statements._augment,
    p.Annotate: Statements._annotate,
    p.Evaluate: Statements._evaluate,
    p.If: Statements._if,
    p.For: Statements._for,
    p.While: Statements._while,
    p.Try: Statements._try,
    p.With: Statements._with,
    p.Return: Statements._return,
    p.Raise: Statements._raise,
    p.Break: Statements._break,
    p.Continue: Statements._continue,
    p.Define: Statements._define,
    p.Class: Statements._class,
    p.Delete: Statements._delete,
    p.Outer: Statements._outer,
    p.Import: lambda machine, node: machine._import(node),
    p.ImportFrom: lambda machine, node: machine._import_from(node),
}

__all__ = ["MISSING", "Either", "LoopKind", "Mapping", "Statements", "Suspended", "constant", "summary"]
