"""Calls: the arguments are evaluated, and each sort of callable goes its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch, library
from torch_doctor.static import program as p
from torch_doctor.static.hooks import key_of
from torch_doctor.static.language import (
    call_arguments,
    command_lines,
    commands,
    defaults,
    instances,
    invocation,
    kept,
    opaque_calls,
    refusing,
)
from torch_doctor.static.options import Options
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.data import REORDERING_METHODS
from torch_doctor.static.tables.functions import INPUT_LATER, NUMPY_NAMES
from torch_doctor.static.tables.memory import CHANGING
from torch_doctor.static.tables.training import AUTOCASTS
from torch_doctor.static.training import (
    augmenting,
    channel_order,
    drawing,
    fitting,
    list_sums,
    methods,
    pixels,
    splitting,
)
from torch_doctor.static.training.checkpoint import loading
from torch_doctor.static.training.data import arrays, class_orders, loaders, tokenizing
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.module import forwards
from torch_doctor.static.training.unresolved import unknown_methods
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Const,
    Context,
    Default,
    Distribution,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Method,
    Module,
    Number,
    Partial,
    Plain,
    Super,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    Zero,
    compound,
    either,
    fresh_symbol,
    held,
    join,
    plain_from,
    texts,
)
from torch_doctor.static.values.symbols import OPTION
from torch_doctor.trace import Escaped, Source, ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values.functions import Frame
    from torch_doctor.static.values.symbols import Conditions, Symbol


def evaluate_call(run: Run, node: p.Call) -> Value:
    """A call in the source."""
    run.spend()
    if isinstance(node.func, p.Name) and node.func.id == "super" and run.frame.holder("super") is None:
        return _super(run, node)
    func = run.evaluate(node.func)
    call = call_arguments.call_of(run, node)
    for observe in run.observers.calling[key := key_of(func)]:
        observe(run, func, call)
    result = refusing.refused(run) if refusing.refuses(func, call) else run.call(func, call)
    if isinstance(result, Either):
        result = run.resolve(result)
    for tell in run.observers.called[key]:
        tell(run, func, call, result)
    return result


def _super(run: Run, node: p.Call) -> Value:
    frame: Frame | None = run.frame
    if len(node.args) >= 2:
        named = run.resolve(run.evaluate(node.args[0]))
        self_value = run.resolve(run.evaluate(node.args[1]))
        around = run.frame.what.owner if run.frame.what is not None else None
        written = run.text(node.args[0])  # the class's name may have been bound anew since; `__class__` is its cell
        if not isinstance(named, ClassValue) and around is not None and written in (around.name, "__class__"):
            named = around
        known = isinstance(named, ClassValue) or (isinstance(named, Lib) and isinstance(self_value, Module))
        return Super(named, self_value) if known else Unknown()
    if node.args:
        return Plain()  # super(Class) alone is bound to nothing
    while frame is not None and (frame.what is None or frame.what.owner is None):
        frame = frame.closure
    if frame is None or frame.what is None or frame.what.owner is None or frame.self is None:
        return Unknown()
    return Super(frame.what.owner, frame.self)


def _meant(run: Run, func: Value, call: Call) -> Value:
    """Tell those that watch calls of this one; what is called, where it is not what it seems."""
    if call.name.endswith(".set_epoch"):
        loaders.epoch_set(run, func, call.node)
    return loading.meant(run, func, "", call.node) if isinstance(func, Plain) else channel_order.stood_for(func)


def _plain(run: Run, func: Const | Plain, call: Call) -> Value:
    """A method of a number, a string or an array, or anything that somebody put among the settings."""
    if isinstance(func, Plain) and call.method == "update" and func.symbol[0] == ".":
        kept.perhaps_set_in(run, func.symbol[1])
    if isinstance(func, Plain) and func.symbol[0] == "." and call.method not in CHANGING and _trains(call):
        return opaque_calls.opaque(run, func, call)
    if isinstance(func, Plain) and func.symbol[0] == "." and not call.values:
        _updates(run, call)
    for value in call.values:
        opaque_calls.call_back(run, value, call.node)
    if call.method in REORDERING_METHODS:
        drawing.reordered(run, call.node)
    for observe in run.observers.changed if call.method in CHANGING else ():
        observe(run, func, call)
    known = None
    if isinstance(func, Plain):
        known = (
            list_sums.array_mean(run, func, call)
            or command_lines.method(run, func, call)
            or commands.method(run, func, call)
            or fitting.method(run, func, call)
            or class_orders.method(run, func, call)
            or pixels.method(run, func, call)
            or defaults.got(run, func, call)
            or drawing.seeded(func, call)
            or _of_text(run, func, call)
        )
    made = arrays.method(func, call) if isinstance(func, Plain) else None
    if isinstance(known, Plain) and made is not None and known.size is None:
        return plain_from((known,), known.symbol, known.flow, made)
    symbol = arrays.reduced(func) if isinstance(func, Plain) else None
    return known or plain_from((func, *call.args), symbol, size=made)


def _of_text(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of a text that was joined of others; None for those of anything else."""
    joined = func.symbol[0] == "." and func.symbol[1][0] == texts.TEXT
    if joined and func.symbol[2] in texts.SAME:
        return Plain(func.symbol[1])
    if joined and func.symbol[2] == "joinpath":
        return texts.made((Plain(func.symbol[1]), *call.args), between="/")
    return methods.of_text(run, Plain(func.symbol[1]), func.symbol[2], call) if joined else None


def _updates(run: Run, call: Call) -> None:
    """Say of an optimizer that somebody put among the settings that it clears and steps, whatever it has."""
    if call.method == "zero_grad":
        run.emit(ZeroGrad, call.node, target=0, name=call.receiver, modules=frozenset(), whole=False)
    elif call.method == "step":
        run.emit(Escaped, call.node, to=call.name)


def _trains(call: Call) -> bool:
    """Whether it is given what trains, or is trained on: a module, an optimizer, a loss, a batch."""
    return any(
        held((value,)) or (value.flow.forwards and value.flow.graph is not False) or value.flow.source is Source.LOADER
        for value in call.values
    )


def _bound(run: Run, func: Bound, call: Call) -> Value:
    """A method of the project; a forward that is called by its name is one like any other."""
    if func.function.node.name == "forward" and isinstance(func.self, Module) and not run.modules_called:
        return forwards.call_module(run, func.self, call)
    return invocation.called(run, func.function, call.with_first(func.self))


def _library(run: Run, func: Lib, call: Call) -> Value:
    name = canonical(func.name)
    if name in AUTOCASTS:
        return autocasting.context(func.name, call, run.site(call.node))
    if name.startswith("torch."):
        call = call.in_words(NUMPY_NAMES).led_by(*() if name in INPUT_LATER else ("input", "tensors"))
    result = library.called(run, name, call) or opaque_calls.opaque(run, Lib(name), call)
    return splitting.read(run, name, call, result)


def _partial(run: Run, func: Partial, call: Call) -> Value:
    given = (*func.args, *call.args)
    return run.call(func.func, Call(given, {**func.keywords, **call.keywords}, call.node, call.name))


def _instance(run: Run, func: Instance, call: Call) -> Value:
    """An object of a class of the project, by its `__call__`."""
    found = func.cls.find("__call__")
    if found is None or not isinstance(found[0], FunctionValue):
        return opaque_calls.opaque(run, func, call)
    draws = run.of(drawing.Drawing).calls
    result = invocation.called(run, found[0], call.with_first(func))
    if run.of(drawing.Drawing).calls == draws:
        return result
    augmenting.applied(run, func, call)
    return augmenting.made_by(run, func, result)


def _unknown(run: Run, func: Unknown, call: Call) -> Value:
    """Something that is not known; perhaps a tokenizer."""
    return tokenizing.encoded(run, func, func, "__call__", call) or opaque_calls.opaque(run, func, call)


def _tool(run: Run, func: Tool, call: Call) -> Value:
    """An object of a library's class."""
    augmenting.applied(run, func, call)
    return augmenting.made_by(run, func, methods.call_method(run, func, "__call__", call))


def _context(_: Run, __: Context, call: Call) -> Value:
    """A grad mode that decorates a function by hand."""
    return call.argument(0) or Unknown()


def _chosen(facts: Conditions) -> Symbol:
    """The symbol of an option being the right one: where several tests lead to it, the same each time it is asked for."""
    return compound(OPTION, *sorted(facts, key=repr)) if facts else fresh_symbol(OPTION)


def _any_of(run: Run, func: Either, call: Call) -> Value:
    """Call each option on its own path."""
    (facts, option), *others = func.options
    if not others:
        return run.call(option, call)
    results: dict[bool, Value] = {}
    symbol, arm = run.deciding(func) or (_chosen(facts), True)
    run.of(Options).chooses(symbol, option, others[0][1], run.assumed)

    def first() -> bool:
        results[arm] = run.call(option, call)
        return True

    def second() -> bool:
        if len(others) == 1:  # no other is left, so its tests hold
            run.position.assumed = {**dict(others[0][0]), **run.assumed}
        rest = others[0][1] if len(others) == 1 else either(others)
        results[not arm] = run.call(rest, call)
        return True

    ways = {arm: first, not arm: second}
    run.fork((({symbol: True}, ways[True]), ({symbol: False}, ways[False])), call.node, symbol)
    joined: Value = join(results[True], results[False], symbol)
    return joined


dispatch.CALLS.update(
    {
        Unknown: _unknown,
        UnknownAttribute: unknown_methods.method_of_unknown,
        Const: _plain,
        Zero: _plain,
        Default: _plain,
        Plain: _plain,
        Number: _plain,
        FunctionValue: invocation.called,
        Bound: _bound,
        Module: forwards.call_module,
        Lib: _library,
        Method: methods.called,
        Value: opaque_calls.opaque,
        ClassValue: instances.instantiate,
        Partial: _partial,
        Either: _any_of,
        Instance: _instance,
        Tool: _tool,
        Distribution: _tool,
        Context: _context,
    }
)

dispatch.EXPRESSIONS.update(
    {
        p.Call: evaluate_call,
    }
)
dispatch.VERBS["meant"] = _meant
