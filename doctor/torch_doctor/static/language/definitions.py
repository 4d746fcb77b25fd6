"""Executes `def`, `lambda` and `class`, with what their decorators make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.language import (
    call_arguments,
    commands,
    decorators,
    invocation,
    memoized,
    opaque_calls,
    targets,
)
from torch_doctor.static.tables import frameworks
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import methods
from torch_doctor.static.training.evaluation import grad_modes
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.values import (
    Autocast,
    Bound,
    Call,
    ClassValue,
    Context,
    Fact,
    FunctionValue,
    Lib,
    Memo,
    Method,
    Suspended,
    Tool,
    Unknown,
    Value,
    held,
)
from torch_doctor.static.values.functions import Frame

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_STYLES = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "contextlib.contextmanager": "contextmanager",
}


_DATACLASSES = frozenset(("dataclasses.dataclass", "attr.s", "attr.dataclass", "attrs.define"))
_WRITE_CONSTRUCTORS = frozenset(("typing.NamedTuple", "pydantic.BaseModel", "pydantic.v1.BaseModel", "msgspec.Struct"))
"""Base classes that write the constructor of what derives from them, as `dataclass` does."""


def define_function(run: Run, node: p.Function) -> Value:
    """The value of a `def` or lambda, its decorators applied."""
    frame = run.frame
    # A class body's names are not in sight of its methods.
    closure = frame.closure if frame.owner is not None and frame.closure is not None else frame
    result: Value = FunctionValue(node, frame.unit, closure, frame.owner)
    for decorator in reversed(node.decorators):
        result = decorated(run, result, decorator)
    return result


def _define(run: Run, node: p.Define) -> bool:
    targets.bind_name(run, node.function.name, define_function(run, node.function))
    return True


def _class(run: Run, node: p.Class) -> bool:
    applied = [(decorator, run.resolve(run.evaluate(decorator))) for decorator in node.decorators]
    written = any(_is_dataclass(run, value, decorator) for decorator, value in applied)
    bases = tuple(run.resolve(run.evaluate(base)) for base in node.bases)
    written = written or any(isinstance(base, Lib) and base.name in _WRITE_CONSTRUCTORS for base in bases)
    if not written and any(_is_opaque(run, value, decorator) for decorator, value in applied):
        bases = (*bases, Unknown())  # it may have changed the class, or put another in its place
    cls = ClassValue(node.name, node, run.frame.unit, bases)
    outer = run.frame
    run.position.frame = Frame(outer.unit, outer.globals, outer)
    run.frame.owner = cls
    run.frame.fields = cls.fields
    run.block(node.body)
    run.position.frame = outer
    if written:
        run.heap.set(cls.facts, Fact.DATACLASS, value=True)
    _announce(run, cls, node)
    named = cls
    for decorator, value in reversed(applied):
        if isinstance(value, (FunctionValue, Bound)):
            made = decorators.apply(run, value, named, decorator)
            named = made if isinstance(made, ClassValue) else named
    targets.bind_name(run, node.name, named)
    return True


def _announce(run: Run, cls: ClassValue, node: p.Class) -> None:
    """Call the `__init_subclass__` that a class inherits, which may enter it in a table."""
    found = cls.find("__init_subclass__", after=cls)
    if found is not None and isinstance(found[0], FunctionValue):
        written = p.Call(node.at, p.Name(node.at, node.name), (), node.keywords)
        keywords = call_arguments.call_of(run, written).keywords
        keywords.pop("metaclass", None)
        invocation.enter(run, found[0], Call((cls,), keywords, node))


def _is_dataclass(run: Run, applied: Value, decorator: p.Expr) -> bool:
    """Whether a decorator writes the constructor of a class."""
    func = run.evaluate(decorator.func) if isinstance(decorator, p.Call) else applied
    return isinstance(func, Lib) and func.name in _DATACLASSES


def _lambda(run: Run, node: p.Function) -> Value:
    return define_function(run, node)


def decorated(run: Run, function: Value, decorator: p.Expr) -> Value:
    """What a decorator makes of a function; around one that is not in sight the function runs, nobody knows how."""
    applied = run.resolve(run.evaluate(decorator))
    if isinstance(function, FunctionValue):
        if commands.decorates(run, applied, function):
            return function
        name = canonical(applied.name) if isinstance(applied, Lib) else ""
        if memoized.keeps(run, applied, decorator):
            return _styled(function, style=_STYLES.get(name, ""), context=Memo())
        if name in _STYLES:
            return _styled(function, style=_STYLES[name])
        if isinstance(decorator, p.Attribute) and decorator.name in ("setter", "getter", "deleter"):
            return _accessor(run.resolve(run.evaluate(decorator.value)), decorator.name, function)
        if isinstance(applied, (Context, Autocast)):
            return _styled(function, context=applied)
        context = grad_modes.grad_context(run, name, decorator) if name else None
        if context is not None:
            return _styled(function, context=context)
    own = applied.function if isinstance(applied, Bound) else applied
    if isinstance(applied, (FunctionValue, Bound)) and getattr(own, "node", None) is not getattr(function, "node", ...):
        wrapped = decorators.apply(run, applied, function, decorator)
        if not isinstance(wrapped, Unknown):
            return wrapped
        return _styled(function, context=wrapped) if isinstance(function, FunctionValue) else function
    if isinstance(applied, Method) and isinstance(applied.of, Tool):
        methods.call_method(run, applied.of, applied.name, Call((function,), {}, decorator, ""))
    if isinstance(decorator, p.Call) and _is_engine(run.evaluate(decorator.func)):
        opaque_calls.call_back(run, function, decorator)  # the engine calls it beside its loop
    if isinstance(function, FunctionValue) and _is_opaque(run, applied, decorator):
        return _styled(function, context=applied if isinstance(applied, Unknown) else Unknown(holds=held((applied,))))
    return function


def _is_engine(made: Value) -> bool:
    """Whether a method of what owns a loop made the decorator: it calls the function beside that loop."""
    return isinstance(made, Method) and isinstance(made.of, Tool) and made.of.name in frameworks.OWNERS


def _is_opaque(run: Run, applied: Value, decorator: p.Expr) -> bool:
    """Whether nothing is known of a decorator: neither of itself, nor of what made it."""
    if isinstance(decorator, p.Call) and isinstance(func := run.evaluate(decorator.func), Lib):
        applied = func
    if isinstance(applied, (Unknown, Lib)):
        return not escaping.neutral(applied)
    return isinstance(applied, (Method, Suspended)) and not escaping.neutral(applied)


def _accessor(of: Value, name: str, function: FunctionValue) -> FunctionValue:
    """The property that `@x.setter`, `@x.getter` or `@x.deleter` makes of a property and a function."""
    if not isinstance(of, FunctionValue) or of.style != "property":
        return function
    getter = function if name == "getter" else of
    setter = function if name == "setter" else of.setter
    return FunctionValue(getter.node, getter.unit, getter.closure, getter.owner, of.style, getter.contexts, setter)


def _styled(function: FunctionValue, style: str = "", context: Value | None = None) -> FunctionValue:
    contexts = function.contexts if context is None else (context, *function.contexts)
    return FunctionValue(
        function.node,
        function.unit,
        function.closure,
        function.owner,
        style or function.style,
        contexts,
        function.setter,
    )


dispatch.STATEMENTS.update(
    {
        p.Define: _define,
        p.Class: _class,
    }
)


dispatch.EXPRESSIONS.update(
    {
        p.Function: _lambda,
    }
)
