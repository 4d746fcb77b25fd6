"""Evaluates expressions: names, operators, comparisons, displays, and the decisions that tests make."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.flow import EMPTY, Flow, blend
from torch_doctor.static.iteration import PASSES, UNROLLED, Course
from torch_doctor.static.statements import Statements
from torch_doctor.static.values import (
    NOTHING,
    ClassValue,
    Const,
    Content,
    Either,
    FunctionValue,
    Grads,
    Instance,
    Lib,
    Loader,
    Mapping,
    Missing,
    Module,
    Object,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
    held,
    join,
    summary,
)
from torch_doctor.trace import Kind, LoopEntered, LoopExited, LoopIterated, LoopKind, Scope, ScopeKind, Source

if TYPE_CHECKING:
    from collections.abc import Callable

Decision = tuple[bool | None, dict[Symbol, bool], dict[Symbol, bool], Symbol | None]

_BUILTINS = frozenset(dir(builtins))
_NEGATIVE = {"!=": "==", "is not": "is", "not in": "in"}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: left is right or left == right,
    "in": lambda left, right: left in right,
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_LARGE = 1_000_000


class Expressions(Statements):
    """The expressions' part of the executor."""

    def evaluate(self, node: p.Expr) -> Value:
        """The value of an expression."""
        return _EXPRESSIONS[node.__class__](self, node)

    # --- names and literals ---

    def _const(self, node: p.Const) -> Value:
        return Const(node.value)

    def _name(self, node: p.Name) -> Value:
        name = node.id
        holder = self.frame.holder(name)
        if holder is not None:
            value: Value = holder.fields[name]
            return self.resolve(value) if isinstance(value, Either) else value
        if name == "__name__":
            return Const(self.module_name())
        if name in _BUILTINS:
            return Lib(f"builtins.{name}")
        return Unknown()

    def _attribute(self, node: p.Attribute) -> Value:
        value = self.attribute(self.evaluate(node.value), node.name, node)
        return self.resolve(value) if isinstance(value, Either) else value

    def _opaque(self, _: p.Opaque) -> Value:
        return Unknown()

    def _text(self, node: p.Text) -> Value:
        values = [self.evaluate(part) for part in node.parts]
        if values and all(isinstance(value, Plain) for value in values):
            return Plain(("text", node.at, *(value.symbol for value in values if isinstance(value, Plain))))
        return Plain()

    def _star(self, node: p.Star) -> Value:
        return self.evaluate(node.value)

    def _walrus(self, node: p.Walrus) -> Value:
        value = self.evaluate(node.value)
        self.bind_name(node.target.id, value)
        return value

    def _slice(self, node: p.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.evaluate(part)
        return Plain()

    def _display(self, node: p.Display) -> Value:
        items: list[Value] = []
        rest: list[Value] = []
        for item in node.items:
            if isinstance(item, p.Star):
                content = self.content(self.evaluate(item.value))
                if content.rest is None and not rest:
                    items.extend(content.items)
                else:
                    rest.extend(content.all())
            elif rest:
                rest.append(self.evaluate(item))
            else:
                items.append(self.evaluate(item))
        content = Content(tuple(items), summary(rest) if rest else None)
        return self.own(Sequence(node.kind, content, self.site(node), self.frame.what))

    def _dict(self, node: p.Dict) -> Value:
        mapping: Mapping = self.own(Mapping(self.site(node), self.frame.what))
        for key_node, value_node in node.pairs:
            value = self.evaluate(value_node)
            if key_node is None:
                value = self.resolve(value)
                if isinstance(value, Mapping):
                    mapping.fields.update(value.fields)
                else:
                    mapping.fields["rest"] = Unknown(value.flow, held((value,)))
                continue
            key = self.evaluate(key_node)
            if isinstance(key, Const) and _hashable(key.value):
                mapping.fields["key", key.value] = value
            else:
                old = mapping.fields.get("rest")
                mapping.fields["rest"] = value if old is None else join(old, value)
        return mapping

    def _lambda(self, node: p.Function) -> Value:
        return self.function(node)

    def _yield(self, node: p.Yield) -> Value:
        value = NOTHING if node.value is None else self.evaluate(node.value)
        if self.frame.on_yield is not None:
            return self.frame.on_yield(value)
        if node.many:
            self.frame.yielded.extend(self.content(value).all())
        else:
            self.frame.yielded.append(value)
        return Unknown()

    def _choice(self, node: p.Choice) -> Value:
        truth, yes, no, symbol = self.condition(node.test)
        if truth is not None:
            return self.evaluate(node.then if truth else node.other)
        result: list[Value] = []

        def arm(branch: p.Expr) -> Callable[[], bool]:
            def run() -> bool:
                result.append(self.evaluate(branch))
                return True

            return run

        self.fork(((yes, arm(node.then)), (no, arm(node.other))), node, symbol)
        joined: Value = join(result[0], result[1], symbol)
        return joined

    # --- decisions ---

    def condition(self, node: p.Expr) -> Decision:
        """Decide a test: the outcome (None: both), the facts in each arm, and the symbol that decides."""
        if isinstance(node, p.Logic):
            if node.op == "not":
                truth, yes, no, symbol = self.condition(node.operands[0])
                return (
                    (None if truth is None else not truth),
                    no,
                    yes,
                    symbol if truth is not None else _negated(symbol),
                )
            return self._connective(node)
        if isinstance(node, p.Compare):
            value, negated = self._compared(node)
            return self._decision(value, negated=negated)
        return self._decision(self.resolve(self.evaluate(node)))

    def _decision(self, value: Value, *, negated: bool = False) -> Decision:
        truth = self.truth(value)
        if truth is not None:
            return truth is not negated, {}, {}, None
        symbol = value.symbol if isinstance(value, (Plain, Unknown)) else fresh_symbol()
        while symbol[0] == "not":
            symbol, negated = symbol[1], not negated
        assumed = self.decided(symbol)
        if assumed is not None:
            return assumed is not negated, {}, {}, None
        if negated:
            return None, {symbol: False}, {symbol: True}, _negated(symbol)
        return None, {symbol: True}, {symbol: False}, symbol

    def _connective(self, node: p.Logic) -> Decision:
        conjunction = node.op == "and"
        facts: dict[Symbol, bool] = {}
        single: Decision | None = None
        symbols: list[Symbol] = []
        for operand in node.operands:
            decision = self.condition(operand)
            truth, yes, no, symbol = decision
            if truth is None:
                facts.update(yes if conjunction else no)
                symbols.append(symbol or fresh_symbol())
                single = decision
            elif truth is not conjunction:
                return truth, {}, {}, None
        if not symbols:
            return conjunction, {}, {}, None
        if len(symbols) == 1 and single is not None:
            return single
        whole: Symbol = (node.op, *symbols)
        assumed = self.decided(whole)
        if assumed is not None:
            return assumed, {}, {}, None
        strong = {**facts, whole: conjunction}
        weak = {whole: not conjunction}
        return (None, strong, weak, whole) if conjunction else (None, weak, strong, whole)

    def truth(self, value: Value) -> bool | None:  # noqa: PLR0911 - one line per sort of value
        """Whether a value counts as true; None when that is not known."""
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, Sequence):
            content = value.content
            return True if content.items else False if content.rest is None else None
        if isinstance(value, Mapping):
            return True if value.fields else None
        if isinstance(value, Either):
            found = {self.truth(option) for _, option in value.options}
            return found.pop() if len(found) == 1 else None
        if isinstance(value, (Object, Lib, FunctionValue)):
            return True
        return None

    def _logic(self, node: p.Logic) -> Value:
        if node.op == "not":
            truth, yes, _, _ = self.condition(node.operands[0])
            if truth is not None:
                return Const(not truth)
            symbol, arm = next(iter(yes.items()))
            return Plain(("not", symbol) if arm else symbol)
        truth, yes, no, _ = self.condition(node)
        if truth is not None and all(isinstance(operand, (p.Compare, p.Logic)) for operand in node.operands):
            return Const(truth)
        values = [self.evaluate(operand) for operand in node.operands]
        for value in values[:-1]:
            known = self.truth(value)
            if known is (node.op == "or"):
                return value
            if known is None:
                break
        else:
            return values[-1]
        if all(isinstance(value, (Plain, Const)) for value in values) and truth is None:
            facts = yes if node.op == "and" else no
            symbol = list(facts)[-1]
            return Plain(symbol if node.op == "and" or not facts[symbol] else ("not", symbol))
        return summary([value for value in values if not (isinstance(value, Const) and value.value is None)] or values)

    def _compare(self, node: p.Compare) -> Value:
        value, negated = self._compared(node)
        if isinstance(value, Const):
            return Const(bool(value.value) is not negated)
        if isinstance(value, Plain) and negated:
            return Plain(("not", value.symbol))
        return value

    def _compared(self, node: p.Compare) -> tuple[Value, bool]:
        """The outcome of the positive form of a comparison, and whether it is to be negated."""
        left, right = self.resolve(self.evaluate(node.left)), self.resolve(self.evaluate(node.right))
        op = _NEGATIVE.get(node.op, node.op)
        negated = op != node.op
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(bool(_COMPARE[op](left.value, right.value))), negated
            except (TypeError, ValueError):
                return Plain(), negated
        if op == "in" and isinstance(left, Const):
            found = self._contains(left, right)
            if found is not None:
                return Const(found), negated
        if op in ("is", "==") and isinstance(right, Const) and right.value is None and _never_none(left):
            return Const(value=False), negated
        if (left.flow is not EMPTY or right.flow is not EMPTY) and (
            isinstance(left, Tensor) or isinstance(right, Tensor)
        ):
            return Tensor(blend((left.flow, right.flow)).cut()), negated
        return Plain((("is" if op == "is" else op), symbol_of(left), symbol_of(right))), negated

    def _contains(self, item: Const, holder: Value) -> bool | None:
        if isinstance(holder, Sequence):
            content = holder.content
            if content.rest is None and all(isinstance(value, Const) for value in content.items):
                return any(isinstance(value, Const) and value.value == item.value for value in content.items)
        if isinstance(holder, Mapping) and "rest" not in holder.fields and ("key", item.value) in holder.fields:
            return True
        return None

    # --- operators ---

    def _operation(self, node: p.Operation) -> Value:
        return self.operate(node.op, tuple(self.resolve(self.evaluate(operand)) for operand in node.operands), node)

    def operate(self, op: str, operands: tuple[Value, ...], node: p.Node) -> Value:
        """Apply an operator."""
        if all(isinstance(value, Const) for value in operands):
            return _computed(op, [value.value for value in operands if isinstance(value, Const)])
        if isinstance(operands[0], Sequence):
            made = self._on_sequence(op, operands, node)
            if made is not None:
                return made
        if all(isinstance(value, (Const, Plain)) for value in operands):
            return Plain((op, *(symbol_of(value) for value in operands)))
        flow = self.recorded(blend(value.flow for value in operands))
        holds = held(operands)
        arithmetic = (Tensor, ParameterValue, Params, Grads, Const, Plain)
        if any(isinstance(value, (Tensor, ParameterValue)) for value in operands) or (
            all(isinstance(value, arithmetic) for value in operands)
        ):
            params = frozenset().union(*(value.modules for value in operands if isinstance(value, Params)))
            if params and self.grad is not False:
                flow = Flow(
                    self.grad,
                    flow.forwards,
                    flow.graph_forwards,
                    flow.kept,
                    flow.modules | params,
                    flow.source,
                    flow.loader,
                )
            made = Tensor(flow, _kind_of(op, operands), *_origin(op, operands), scalar=_scalar(operands))
            if any(isinstance(v, Grads) or (isinstance(v, Tensor) and v.made_by == "gradient") for v in operands):
                made.made_by = "gradient"
            return made
        return Unknown(flow, holds)

    def _on_sequence(self, op: str, operands: tuple[Value, ...], node: p.Node) -> Value | None:
        first = operands[0]
        assert isinstance(first, Sequence)
        if op == "+" and isinstance(operands[1], Sequence):
            carries = first.flow.kept
            added = operands[1].content
            if operands[1].flow.graph is not False:
                name = self.text(node.operands[0]) if isinstance(node, p.Operation) else self.text(node)
                items = tuple(self.keep_item(item, carries, node, name, bounded=False) for item in added.items)
                added = Content(items, added.rest)
            content = _appended(first.content, added)
            return self.own(Sequence(first.kind, content, self.site(node), self.frame.what))
        if op == "*":
            times = operands[1]
            content = first.content
            if isinstance(times, Const) and isinstance(times.value, int) and times.value <= UNROLLED:
                made = Content(content.items * times.value, content.rest)
            else:
                made = Content(content.items, summary(content.all()) if content.all() else None)
            return self.own(Sequence(first.kind, made, self.site(node), self.frame.what))
        return None

    def recorded(self, flow: Flow) -> Flow:
        """What the current grad mode leaves of a computation's history."""
        grad = self.grad
        if grad is True or flow.graph is False:
            return flow
        if grad is False:
            return Flow(False, flow.forwards, source=flow.source, loader=flow.loader)
        return Flow(None, flow.forwards, flow.graph_forwards, flow.kept, flow.modules, flow.source, flow.loader)

    # --- containers ---

    def content(self, value: Value) -> Content:
        """What an iterable holds."""
        value = self.resolve(value)
        if isinstance(value, Sequence):
            return value.content
        if isinstance(value, Module):
            children = self.listed(value)
            if children is not None:
                return children
        if isinstance(value, Mapping):
            keys = [key[1] for key in value.fields if isinstance(key, tuple)]
            return Content(tuple(Const(key) for key in keys), Plain() if "rest" in value.fields else None)
        if isinstance(value, Const) and isinstance(value.value, str):
            return Content((), Plain())
        return Content((), self.element(value))

    def element(self, value: Value) -> Value:
        """One item of something whose items are not told apart."""
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return Tensor(value.flow, value.kind, value.made_at, value.made_by, value.trail)
        if isinstance(value, Params):
            one = Params(value.modules, whole=value.whole)
            if not value.named:
                return one
            return self.own(Sequence("tuple", Content((Plain(), one))))
        if isinstance(value, Loader):
            return Unknown(Flow(source=Source.LOADER, loader=value.id))
        if isinstance(value, (Plain, Const)):
            return Plain()
        if isinstance(value, Either):
            return summary(self.element(option) for _, option in value.options)
        if isinstance(value, (Sequence, Mapping)):
            content = self.content(value).all()
            return summary(content) if content else Unknown()
        if isinstance(value, Instance):
            return self.item_of_instance(value)
        return Unknown(value.flow, held((value,)))

    def unpack(self, value: Value, targets: tuple[p.Expr, ...], node: p.Node) -> list[Value]:
        """Take a value apart for several targets."""
        value = self.resolve(value)
        if isinstance(value, Either):
            parts = [self.unpack(option, targets, node) for _, option in value.options]
            return [summary(column) for column in zip(*parts, strict=True)]
        if isinstance(value, (Sequence, Module)):
            content = self.content(value)
            starred = next((i for i, target in enumerate(targets) if isinstance(target, p.Star)), None)
            if content.rest is None and starred is None and len(content.items) == len(targets):
                return list(content.items)
            if content.rest is None and starred is not None and len(content.items) >= len(targets) - 1:
                tail = len(targets) - starred - 1
                items = content.items
                middle = items[starred : len(items) - tail]
                rest = self.own(Sequence("list", Content(middle), self.site(node), self.frame.what))
                return [*items[:starred], rest, *items[len(items) - tail :]]
            one = summary(content.all()) if content.all() else Unknown()
            return [one] * len(targets)
        one = self.element(value)
        if isinstance(one, Sequence) and isinstance(value, Unknown):
            one = Unknown(value.flow, value.holds)
        return [one] * len(targets)

    def _index(self, node: p.Index) -> Value:
        value = self.resolve(self.evaluate(node.value))
        key = self.resolve(self.evaluate(node.key))
        return self.item(value, key, node)

    def item(self, value: Value, key: Value, node: p.Index) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per sort of value
        """`value[key]`."""
        if isinstance(value, Either):
            return summary(self.item(option, key, node) for _, option in value.options)
        if isinstance(value, Sequence) or (isinstance(value, Module) and self.listed(value) is not None):
            content = self.content(value)
            if isinstance(node.key, p.Slice):
                if isinstance(value, Module):
                    return self.sliced(value, content, node)
                kept = Content((), summary(content.all()) if content.all() else None)
                return self.own(Sequence(value.kind, kept, value.born, self.frame.what))
            if isinstance(key, Const) and isinstance(key.value, int) and content.rest is None:
                try:
                    return content.items[key.value]
                except IndexError:
                    return Unknown()
            if isinstance(key, Const) and key.value == 0 and content.items:
                return content.items[0]
            return self.resolve(summary(content.all())) if content.all() else Unknown()
        if isinstance(value, Mapping):
            if isinstance(key, Const) and _hashable(key.value):
                found = value.fields.get(("key", key.value))
                if isinstance(found, Value):
                    return self.resolve(found)
                return value.fields.get("rest") or Unknown()
            everything = value.values()
            return self._chosen(value, key) or (summary(everything) if everything else Unknown())
        if isinstance(value, Tensor):
            return Tensor(value.flow, value.kind, value.made_at, value.made_by, value.trail)
        if isinstance(value, Module):
            return self.attribute(value, str(key.value) if isinstance(key, Const) else "?", node)
        if isinstance(value, Plain):
            return Plain(("[]", value.symbol, symbol_of(key)))
        if isinstance(value, Instance):
            return self.item_of_instance(value, key, node)
        if isinstance(value, Lib):
            return value  # a generic alias: List[int]
        if isinstance(value, Unknown):
            return Unknown(value.flow, value.holds, ("[]", value.symbol, symbol_of(key)))
        return Unknown(value.flow, held((value,)))

    def _chosen(self, mapping: Mapping, key: Value) -> Value | None:
        """A dict's value under a key that is not known: one option per key, told apart by the key."""
        options = [(k[1], v) for k, v in mapping.fields.items() if isinstance(k, tuple) and isinstance(v, Value)]
        if "rest" in mapping.fields or not options:
            return None
        result: Value = options[-1][1]
        for name, value in reversed(options[:-1]):
            result = join(value, result, ("==", symbol_of(key), ("const", name)))
        return self.resolve(result)

    def _comprehension(self, node: p.Comprehension) -> Value:
        outer = self.frame
        frame = self.inner_frame()
        self.frame = frame
        items: list[Value] = []
        exact = self._clause(node, 0, items)
        self.frame = outer
        if node.kind == "dict":
            mapping: Mapping = self.own(Mapping(self.site(node), outer.what))
            for pair in items:
                key, value = pair.content.items if isinstance(pair, Sequence) else (Plain(), pair)
                if isinstance(key, Const) and exact and _hashable(key.value):
                    mapping.fields["key", key.value] = value
                else:
                    old = mapping.fields.get("rest")
                    mapping.fields["rest"] = value if old is None else join(old, value)
            return mapping
        kind = "list" if node.kind == "generator" else node.kind
        content = Content(tuple(items)) if exact else Content((), summary(items) if items else None)
        return self.own(Sequence(kind, content, self.site(node), outer.what))

    def _clause(self, node: p.Comprehension, depth: int, items: list[Value]) -> bool:
        """Run the clauses from `depth` on and collect the elements; True when these are exactly the items."""
        if depth == len(node.clauses):
            value = self.evaluate(node.element)
            if node.key is not None:
                value = Sequence("tuple", Content((self.evaluate(node.key), value)))
            items.append(value)
            return True
        clause = node.clauses[depth]
        course = self.course(clause.over)
        loud = course.kind is LoopKind.BATCHES and not self.modules_called
        exact = course.passes != PASSES or self.counted(course)
        passes = course.passes if exact or loud else 1
        number_of_loop = next(self.loops) if loud else 0
        outer_scope = self.scope
        site = self.site(node)
        if loud:
            self.emit(LoopEntered, site, loop=number_of_loop, loop_kind=course.kind, over=course.over)
        for number in range(1, passes + 1):
            if loud:
                self.scope = Scope(
                    ScopeKind.ITERATION, site, outer_scope, loop=number_of_loop, number=number, loop_kind=course.kind
                )
                self.emit(LoopIterated, site, loop=number_of_loop, number=number)
            self.bind(clause.target, course.item(number), p.Const(node.at, None))
            skip = False
            for test in clause.tests:
                truth = self.condition(test)[0]
                exact &= truth is not None
                skip |= truth is False
            if not skip:
                exact &= self._clause(node, depth + 1, items)
        self.scope = outer_scope
        if loud:
            self.emit(LoopExited, site, loop=number_of_loop)
        return exact

    # --- provided elsewhere ---

    def module_name(self) -> str:
        """`__name__` of the current file."""
        raise NotImplementedError

    def listed(self, module: Module) -> Content | None:
        """The children of a module that is a list of modules; None for any other."""
        raise NotImplementedError

    def item_of_instance(self, value: Instance, key: Value | None = None, node: p.Node | None = None) -> Value:
        """One item of an object of a project class."""
        raise NotImplementedError

    def sliced(self, module: Module, content: Content, node: p.Index) -> Value:
        """A stretch of a module that is a list of modules."""
        raise NotImplementedError

    def keep_item(self, value: Value, carries: frozenset[int], node: p.Node, receiver: str, *, bounded: bool) -> Value:
        """A value on its way into a container."""
        raise NotImplementedError

    def inner_frame(self) -> Any:  # noqa: ANN401 - a Frame
        """A frame for a comprehension's variables."""
        raise NotImplementedError

    def counted(self, course: Course) -> bool:
        """Whether the passes of a course are exactly the loop's items."""
        raise NotImplementedError


def symbol_of(value: Value) -> Symbol:
    """What identifies a value in a test."""
    if isinstance(value, (Plain, Unknown)):
        return value.symbol
    if isinstance(value, Const):
        return ("const", value.value if _hashable(value.value) else repr(value.value))
    if isinstance(value, Object):
        return ("object", value.id)
    if isinstance(value, Lib):
        return ("lib", value.name)
    return fresh_symbol()


def _negated(symbol: Symbol | None) -> Symbol | None:
    return None if symbol is None else symbol[1] if symbol[0] == "not" else ("not", symbol)


def _never_none(value: Value) -> bool:
    if isinstance(value, Either):
        return all(_never_none(option) for _, option in value.options)
    return isinstance(value, (Object, Tensor, Params, Grads, FunctionValue, ClassValue, Tool, Optimizer, Lib))


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _computed(op: str, values: list[Any]) -> Value:
    if any(isinstance(value, (int, float)) and abs(value) > _LARGE for value in values):
        return Plain()
    try:
        if len(values) == 1:
            return Const(-values[0]) if op == "-" else Plain()
        if op not in _ARITHMETIC or (op in "*%" and any(isinstance(value, (str, bytes)) for value in values)):
            return Plain()
        return Const(_ARITHMETIC[op](*values))
    except (TypeError, ValueError, ArithmeticError):
        return Plain()


def _appended(left: Content, right: Content) -> Content:
    if left.rest is None:
        return Content((*left.items, *right.items), right.rest)
    return Content(left.items, summary((left.rest, *right.all())))


def _kind_of(op: str, operands: tuple[Value, ...]) -> Kind:
    kinds = [value.kind for value in operands if isinstance(value, Tensor)]
    if Kind.LOSS in kinds:
        return Kind.LOSS
    others = [value for value in operands if not isinstance(value, Tensor)]
    scaled = op in "*/+-" and len(kinds) == 1 and all(isinstance(value, (Const, Plain)) for value in others)
    return kinds[0] if scaled and kinds[0] in (Kind.LOGITS, Kind.NOISE) else Kind.UNKNOWN


def _origin(op: str, operands: tuple[Value, ...]) -> tuple[Any, str]:
    if _kind_of(op, operands) in (Kind.UNKNOWN, Kind.LOSS):
        return None, ""
    first = next(value for value in operands if isinstance(value, Tensor))
    return first.made_at, first.made_by


def _scalar(operands: tuple[Value, ...]) -> bool | None:
    found = [
        True if isinstance(value, (Const, Plain)) else value.scalar if isinstance(value, Tensor) else None
        for value in operands
    ]
    return True if all(found) else None if None in found else False


_EXPRESSIONS: dict[type[p.Expr], Callable[[Any, Any], Value]] = {
    p.Const: Expressions._const,
    p.Name: Expressions._name,
    p.Attribute: Expressions._attribute,
    p.Call: lambda machine, node: machine.evaluate_call(node),
    p.Index: Expressions._index,
    p.Slice: Expressions._slice,
    p.Operation: Expressions._operation,
    p.Compare: Expressions._compare,
    p.Logic: Expressions._logic,
    p.Choice: Expressions._choice,
    p.Display: Expressions._display,
    p.Dict: Expressions._dict,
    p.Comprehension: Expressions._comprehension,
    p.Text: Expressions._text,
    p.Star: Expressions._star,
    p.Walrus: Expressions._walrus,
    p.Yield: Expressions._yield,
    p.Opaque: Expressions._opaque,
    p.Function: Expressions._lambda,
}

__all__ = ["Expressions", "Missing", "symbol_of"]
