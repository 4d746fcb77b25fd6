"""Derivatives of functions that treat all numbers of a tensor alike: they are executed with single numbers."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any, Final

from torch_doctor.static import program as p
from torch_doctor.static.values import Const, FunctionValue, Lib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch_doctor.static.values import Value

STEPS: Final = 400
"""Nodes of one function that are executed at most."""
DEEPEST: Final = 4


class CannotTell(Exception):  # noqa: N818 - it ends an execution, it is no fault
    """What comes next is more than arithmetic with single numbers."""


class FunctionContext:
    """The `ctx` of a function: what was saved, and attributes."""

    def __init__(self) -> None:
        self.saved: tuple[Any, ...] = ()
        self.fields: dict[str, Any] = {}


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def _clamp(x: float, least: float | None = None, most: float | None = None, **bounds: float | None) -> float:
    least, most = bounds.get("min", least), bounds.get("max", most)
    x = x if least is None else max(x, least)
    return x if most is None else min(x, most)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh")},
    **{
        name: getattr(math, name) for name in ("erf", "erfc", "expm1", "log1p", "log2", "log10", "atan", "asin", "acos")
    },
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg", "pow")},
    "abs": abs,
    **dict.fromkeys(("div", "divide", "true_divide"), operator.truediv),
    **dict.fromkeys(("multiply", "mul"), operator.mul),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": _sigmoid,
    "expit": _sigmoid,
    "softplus": _softplus,
    "logsigmoid": lambda x: -_softplus(-x),
    "silu": lambda x: x * _sigmoid(x),
    "relu": lambda x: max(x, 0.0),
    "clamp": _clamp,
    "clip": _clamp,
    "maximum": max,
    "minimum": min,
    "where": lambda test, then, other: then if test else other,
    "zeros_like": lambda _: 0.0,
    "ones_like": lambda _: 1.0,
    **dict.fromkeys(("clone", "detach", "contiguous", "float", "double"), lambda x: x),
    "type_as": lambda x, _: x,
}
"""What functions and methods of torch do with one number, by the last word of their names."""
_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "is": operator.is_,
    "is not": operator.is_not,
}
_SAVES: Final = "save_for_backward"
_SAVED: Final = ("saved_tensors", "saved_variables")
_SAYS: Final = frozenset(("mark_dirty", "mark_non_differentiable", "set_materialize_grads", "mark_shared_storage"))


class Execution:
    """One call of a function of the project, with numbers for its arguments; `returns`: it has to return something."""

    def __init__(
        self, function: FunctionValue, names: Mapping[str, Any], deep: int = 0, *, returns: bool = True
    ) -> None:
        self._function = function
        self._names = dict(names)
        self._left = STEPS
        self._deep = deep
        self._returns = returns

    def result(self) -> Any:
        """What the function returns.

        Raises:
            CannotTell: it does something else than arithmetic.
        """
        found, value = self._block(self._function.node.body)
        if found is not self._returns:
            raise CannotTell
        return value

    def _block(self, body: tuple[p.Stmt, ...]) -> tuple[bool, Any]:
        """Executes statements; whether one of them returned, and what."""
        for statement in body:
            if isinstance(statement, p.Return):
                return True, None if statement.value is None else self._value(statement.value)
            inner: tuple[p.Stmt, ...] = ()
            if isinstance(statement, p.Assign):
                value = self._value(statement.value)
                for target in statement.targets:
                    self._bind(target, value)
            elif isinstance(statement, p.Augment):
                self._bind(statement.target, self._apply(statement.op, statement.target, statement.value))
            elif isinstance(statement, p.If):
                inner = statement.body if self._test(statement.test) else statement.other
            elif isinstance(statement, p.With):
                inner = statement.body
            elif not (isinstance(statement, p.Evaluate) and isinstance(statement.value, p.Const)):
                self._evaluate(statement)
            found, value = self._block(inner) if inner else (False, None)
            if found:
                return True, value
        return False, None

    def _evaluate(self, statement: p.Stmt) -> None:
        if not isinstance(statement, p.Evaluate):
            raise CannotTell
        call = statement.value
        if isinstance(call, p.Call) and isinstance(call.func, p.Attribute) and isinstance(call.func.value, p.Name):
            context = self._names.get(call.func.value.id)
            if isinstance(context, FunctionContext) and call.func.name == _SAVES:
                context.saved = tuple(self._value(each) for each in call.args)
                return
            if isinstance(context, FunctionContext) and call.func.name in _SAYS:
                return
        raise CannotTell

    def _bind(self, target: p.Expr, value: Any) -> None:
        if isinstance(target, p.Name):
            self._names[target.id] = value
        elif isinstance(target, p.Display) and isinstance(value, tuple) and len(value) == len(target.items):
            for each, part in zip(target.items, value, strict=True):
                self._bind(each, part)
        elif isinstance(target, p.Attribute) and isinstance(context := self._value(target.value), FunctionContext):
            context.fields[target.name] = value
        elif isinstance(target, p.Index) and isinstance(self._value(target.value), float):
            if self._test(target.key):  # `gradient[x < 0] = 0`
                self._bind(target.value, value)
        else:
            raise CannotTell

    def _test(self, node: p.Expr) -> bool:
        value = self._value(node)
        if not isinstance(value, bool):
            raise CannotTell
        return value

    def _value(self, node: p.Expr) -> Any:
        self._left -= 1
        if self._left < 0:
            raise CannotTell
        if isinstance(node, p.Const):
            return float(node.value) if type(node.value) is int else node.value
        if isinstance(node, p.Name):
            return self._names[node.id] if node.id in self._names else _number(self._outside(node))
        if isinstance(node, p.Attribute):
            return self._attribute(node)
        if isinstance(node, p.Index):
            return self._item(node)
        if isinstance(node, p.Display) and node.kind == "tuple":
            return tuple(self._value(each) for each in node.items)
        if isinstance(node, p.Operation):
            return self._apply(node.op, *node.operands)
        if isinstance(node, p.Compare):
            return self._apply(node.op, node.left, node.right)
        if isinstance(node, p.Choice):
            return self._value(node.then if self._test(node.test) else node.other)
        if isinstance(node, p.Logic):
            tests = [self._test(each) for each in node.operands]
            return not tests[0] if node.op == "not" else all(tests) if node.op == "and" else any(tests)
        if isinstance(node, p.Call):
            return self._call(node)
        raise CannotTell

    def _apply(self, op: str, *operands: p.Expr) -> Any:
        values = [self._value(each) for each in operands]
        if op in ("is", "is not"):
            return _OPERATORS[op](*values)
        if not all(isinstance(each, (float, bool)) for each in values):
            raise CannotTell
        if len(values) == 1:
            return (
                not values[0] if op == "~" and isinstance(values[0], bool) else -values[0] if op == "-" else _refuse()
            )
        return _OPERATORS[op](*values) if op in _OPERATORS else _refuse()

    def _attribute(self, node: p.Attribute) -> Any:
        if isinstance(node.value, p.Name) and isinstance(context := self._names.get(node.value.id), FunctionContext):
            if node.name in _SAVED:
                return context.saved
            if node.name in context.fields:
                return context.fields[node.name]
        raise CannotTell

    def _item(self, node: p.Index) -> Any:
        of = node.value
        if isinstance(of, p.Attribute) and of.name == "needs_input_grad":
            return True
        value, key = self._value(of), self._value(node.key)
        if not isinstance(value, tuple) or not isinstance(key, float) or not 0 <= key < len(value):
            raise CannotTell
        return value[int(key)]

    def _call(self, node: p.Call) -> Any:
        if any(isinstance(each, p.Star) for each in node.args) or any(name is None for name, _ in node.keywords):
            raise CannotTell
        func = self._outside(node.func)
        keywords = {str(name): self._value(each) for name, each in node.keywords}
        args = [self._value(each) for each in node.args]
        if isinstance(func, FunctionValue) and self._deep < DEEPEST:
            given = arguments(func, args, keywords)
            return Execution(func, given, self._deep + 1).result()
        if isinstance(func, Lib):
            first, _, name = func.name.rpartition(".")
            known = first.partition(".")[0] in ("torch", "math") and name in FUNCTIONS
        else:
            known = func is None and isinstance(node.func, p.Attribute) and node.func.name in FUNCTIONS
            name = node.func.name if isinstance(node.func, p.Attribute) else ""
            if known and isinstance(node.func, p.Attribute):
                args.insert(0, self._value(node.func.value))
        if not known or not all(isinstance(each, (float, bool)) for each in args):
            raise CannotTell
        try:
            return FUNCTIONS[name](*args, **keywords)
        except TypeError:  # more arguments than one number needs: a dimension, a base
            raise CannotTell from None

    def _outside(self, node: p.Expr) -> Value | None:
        """What a name, or an attribute of an imported module, stands for outside of the function."""
        if isinstance(node, p.Attribute):
            of = self._outside(node.value)
            return Lib(f"{of.name}.{node.name}") if isinstance(of, Lib) else None
        if not isinstance(node, p.Name) or node.id in self._names:
            return None
        holder = self._function.closure.holder(node.id)
        found = holder.fields.get(node.id) if holder is not None else None
        return found if isinstance(found, (Const, Lib, FunctionValue)) else None


def _refuse() -> Any:
    raise CannotTell


def _number(value: Value | None) -> Any:
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return float(value.value)
    raise CannotTell


def arguments(function: FunctionValue, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The names of a function with what it is called with.

    Raises:
        CannotTell: it takes other arguments, or any number of them.
    """
    names = dict(named)
    parameters = function.node.parameters
    if any(each.kind in ("args", "kwargs") for each in parameters) or len(given) > len(parameters):
        raise CannotTell
    for each, value in itertools.zip_longest(parameters, given, fillvalue=None):
        if each is None:
            continue
        if value is not None or parameters.index(each) < len(given):
            names[each.name] = value
        elif each.name not in names:
            if not isinstance(each.default, p.Const):
                raise CannotTell
            names[each.name] = float(each.default.value) if type(each.default.value) is int else each.default.value
    return names
