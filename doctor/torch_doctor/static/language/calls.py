"""Calls: the arguments are evaluated, and each sort of callable goes its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.language import containers, instances, invocation, outside
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.data import REORDERING_METHODS
from torch_doctor.static.tables.memory import CHANGING
from torch_doctor.static.tables.training import AUTOCASTS
from torch_doctor.static.training import (
    autocasting,
    fitting,
    forwards,
    library_calls,
    loaders,
    loading,
    memory,
    methods,
    named_forwards,
    overwriting,
    pixels,
    reading,
    rows,
    settings,
    timing,
    unknown_methods,
    workers,
)
from torch_doctor.static.values import (
    Args,
    Bound,
    ClassValue,
    Const,
    Context,
    Either,
    FunctionValue,
    Instance,
    Keywords,
    Lib,
    Mapping,
    Method,
    Module,
    Partial,
    Plain,
    Spread,
    Super,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    either,
    fresh_symbol,
    held,
    join,
    plain_from,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from torch_doctor.static.executor import Executor
    from torch_doctor.static.frame import Frame


def evaluate_call(run: Executor, node: p.Call) -> Value:
    """A call in the source."""
    run.spend()
    if isinstance(node.func, p.Name) and node.func.id == "super" and run.frame.holder("super") is None:
        return _super(run, node)
    func = run.evaluate(node.func)
    if isinstance(node.func, p.Attribute) and node.func.name == "forward":
        named_forwards.called(run, func, node)
    if isinstance(func, Lib) and func.name in _ASK_TYPES:
        with run.override(only_types=True):
            return _called(run, func, node)
    return _called(run, func, node)


_ASK_TYPES = frozenset(("builtins.isinstance", "builtins.issubclass"))


def _called(run: Executor, func: Value, node: p.Call) -> Value:
    args: list[Value] = []
    for argument in node.args:
        if isinstance(argument, p.Star):
            content = containers.content_of(run, run.evaluate(argument.value))
            if content.rest is None:
                args.extend(content.items)
            else:
                args.append(Spread(content))
        else:
            args.append(run.resolve(run.evaluate(argument)))
    keywords: Keywords = {}
    for name, expression in node.keywords:
        value = run.resolve(run.evaluate(expression))
        if name is not None:
            keywords[name] = value
        elif isinstance(value, Mapping):
            for key, item in value.fields.items():
                if isinstance(key, tuple) and isinstance(key[1], str):
                    keywords[key[1]] = run.resolve(item)
            if "rest" in value.fields:
                keywords["**"] = value.fields["rest"]
        else:
            keywords["**"] = Unknown(value.flow, held((value,)))
    spelling = run.text(node.func)
    before = run.waits
    result = run.resolve(run.call(func, tuple(args), keywords, node, spelling))
    if run.clocks:
        timing.called(run, func, (tuple(args), keywords), before)
    if run.loop_depth:
        reading.called(run, func, tuple(args), node)
    return result


def _super(run: Executor, node: p.Call) -> Value:
    frame: Frame | None = run.frame
    if len(node.args) >= 2:  # noqa: PLR2004 - super(Class, self)
        named = run.resolve(run.evaluate(node.args[0]))
        self_value = run.resolve(run.evaluate(node.args[1]))
        around = run.frame.what.owner if run.frame.what is not None else None
        if not isinstance(named, ClassValue) and around is not None and run.text(node.args[0]) == around.name:
            named = around  # the name has been bound anew since: this is what it stood for
        known = isinstance(named, ClassValue) or (isinstance(named, Lib) and isinstance(self_value, Module))
        return Super(named, self_value) if known else Unknown()
    if node.args:
        return Plain()  # super(Class) alone is bound to nothing
    while frame is not None and (frame.what is None or frame.what.owner is None):
        frame = frame.closure
    if frame is None or frame.what is None or frame.what.owner is None or frame.self is None:
        return Unknown()
    return Super(frame.what.owner, frame.self)


def call(  # noqa: C901, PLR0911, PLR0912 - one branch per sort of callable
    run: Executor, func: Value, args: Args, keywords: Keywords, node: p.Node, name: str = ""
) -> Value:
    """Call a value; `name` is the user's spelling of it."""
    if run.overwritten:
        overwriting.called(run, func, node)
    settings.seeded(run, func, name, keywords, node)
    settings.checked(run, func, name, node)
    if run.seeding is not None:
        workers.seeding(run, func, args, node)
    if name.endswith(".set_epoch"):
        loaders.epoch_set(run, func, node)
    if run.load_reports:
        func = loading.meant(run, func, "", node)
    if isinstance(func, UnknownAttribute):
        return unknown_methods.method_of_unknown(run, func, args, keywords, node, name)
    if isinstance(func, (Plain, Const)):
        for value in (*args, *keywords.values()):
            outside.call_back(run, value, node)
        if name.rpartition(".")[2] in REORDERING_METHODS:
            rows.reordered(run, node)
        if run.drawing is not None:
            workers.drawn(run, func, node)
        if run.shares.arrays and name.rpartition(".")[2] in CHANGING:
            memory.changed(run, func, name.rpartition(".")[0], node)
        known = fitting.method(run, func, args, keywords, node) if isinstance(func, Plain) else None
        if known is None and isinstance(func, Plain):
            known = pixels.method(func, name.rpartition(".")[2])
        return known or plain_from((func, *args))
    func = run.resolve(func)
    if isinstance(func, FunctionValue):
        return invocation.called(run, func, args, keywords, node)
    if isinstance(func, Bound):
        if func.function.node.name == "forward" and isinstance(func.self, Module) and not run.modules_called:
            return forwards.call_module(run, func.self, args, keywords, node, name)
        return invocation.called(run, func.function, (func.self, *args), keywords, node)
    if isinstance(func, Module):
        return forwards.call_module(run, func, args, keywords, node, name)
    if isinstance(func, Lib):
        library = canonical(func.name)
        if library in AUTOCASTS:
            return autocasting.context(func.name, args, keywords, run.site(node))
        return library_calls.call_library(run, library, args, keywords, node, name)
    if isinstance(func, Method):
        if func.name in REORDERING_METHODS and not isinstance(func.of, Module):
            rows.reordered(run, node)
        return methods.call_method(run, func.of, func.name, args, keywords, node, name)
    if isinstance(func, ClassValue):
        return instances.instantiate(run, func, args, keywords, node)
    if isinstance(func, Partial):
        return run.call(func.func, (*func.args, *args), {**func.keywords, **keywords}, node, name)
    if isinstance(func, Either):
        return _any_of(run, func, args, keywords, node, name)
    if isinstance(func, Instance):
        found = func.cls.find("__call__")
        if found is not None and isinstance(found[0], FunctionValue):
            draws = run.draws
            result = invocation.called(run, found[0], (func, *args), keywords, node)
            if run.draws > draws:
                _apply(run, func)
            return result
    if isinstance(func, Tool):
        _apply(run, func)
        return methods.call_method(run, func, "__call__", args, keywords, node, name)
    if isinstance(func, Context):  # a grad-mode context used as a decorator by hand
        return args[0] if args else Unknown()
    return outside.opaque(run, func, args, keywords, node, name)


def _apply(run: Executor, transform: Value) -> None:
    """Note what an item of a data set is made with, where no branch leads around it."""
    if run.applied is not None and run.fork_depth == run.applied[0]:
        run.applied[1].append(transform)


def _any_of(run: Executor, func: Either, args: Args, keywords: Keywords, node: p.Node, name: str) -> Value:
    """Call each option on its own path."""
    (_, option), *others = func.options
    if not others:
        return run.call(option, args, keywords, node, name)
    results: list[Value] = []
    symbol, arm = run.deciding(func) or (fresh_symbol("option"), True)

    def first() -> bool:
        results.append(run.call(option, args, keywords, node, name))
        return True

    def second() -> bool:
        rest = others[0][1] if len(others) == 1 else either(others)
        results.append(run.call(rest, args, keywords, node, name))
        return True

    run.fork((({symbol: arm}, first), ({symbol: not arm}, second)), node, symbol)
    left, right = results if arm else reversed(results)
    joined: Value = join(left, right, symbol)
    return joined


EXPRESSIONS: Final[dict[type[p.Expr], Callable[[Executor, Any], Value]]] = {
    p.Call: evaluate_call,
}
