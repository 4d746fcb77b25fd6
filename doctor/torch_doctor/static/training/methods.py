"""Calls methods of what is no object of the project's classes, by the sort of receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import library
from torch_doctor.static.language import courses, kept, opaque_calls
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.data import NEXT_METHODS, REORDERING_METHODS
from torch_doctor.static.tables.merits import TALLIES
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import container_methods, drawing, exit_stacks
from torch_doctor.static.training.computing import distributions, tensor_methods
from torch_doctor.static.training.data import transforming
from torch_doctor.static.training.frameworks import framework_calls, trainer_loops, trainers
from torch_doctor.static.training.module import module_methods
from torch_doctor.static.training.update import gradients, optimizer_methods, parameter_methods
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Content,
    Context,
    Default,
    Distribution,
    Either,
    Globals,
    Grads,
    Instance,
    Loader,
    Mapping,
    Method,
    Module,
    Number,
    OneOfTexts,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Tool,
    Unknown,
    Value,
    Zero,
    plain_from,
    summary,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from torch_doctor.static.run import Run


def called(run: Run, func: Method, call: Call) -> Value:
    """Call what was taken as an attribute of something whose class is not the project's."""
    of, name = func.of, func.name
    if name in REORDERING_METHODS and not isinstance(of, Module):
        drawing.reordered(run, call.node)
    handler = BY_NAME.get((of.__class__, name)) or METHODS.get(of.__class__, _opaque)
    return handler(run, of, name, call)


def call_method(run: Run, of: Value, name: str, call: Call) -> Value:
    """Call a method of something whose class is not the project's."""
    handler = BY_NAME.get((of.__class__, name)) or METHODS.get(of.__class__, _opaque)
    return handler(run, of, name, call)


def _opaque(run: Run, of: Value, name: str, call: Call) -> Value:
    return opaque_calls.opaque(run, Method(of, name), call)


def _of_any(run: Run, of: Either, name: str, call: Call) -> Value:
    return summary(call_method(run, option, name, call) for _, option in of.options)


def _of_distribution(run: Run, of: Distribution, name: str, call: Call) -> Value:
    return distributions.method(run, of, name, call.args) or _of_tool(run, of, name, call)


def _of_tool(run: Run, of: Tool, name: str, call: Call) -> Value:
    picture = transforming.transformed(run, of, call) if name == "__call__" else None
    if picture is not None:
        return picture
    trainer_loops.called(run, of, name, call)
    if call.args or call.keywords:
        _may_be_set(run, of)
    if call.args and call.args[0].tells_version:
        return plain_from(call.args)
    if name in MOVES and canonical(of.name).startswith(TALLIES):
        return of
    return optimizer_methods.tool_method(run, of, name, call)


def of_text(run: Run, of: Const | Plain, name: str, call: Call) -> Value | None:
    """What a method of a text returns; None where the text or an argument is not known."""
    known = texts.method(of, name, call.args) if not call.keywords else None
    if isinstance(known, (list, tuple)):
        kind = "list" if isinstance(known, list) else "tuple"
        return run.own(Sequence(kind, Content(tuple(Const(each) for each in known)), run.site(call.node)))
    return None if known is None else Const(known)


def _of_const(run: Run, of: Const, name: str, call: Call) -> Value:
    known = of_text(run, of, name, call)
    if known is not None:
        return known
    if name == "format" and isinstance(of.value, str):
        return texts.formatted(of.value, call.args, call.keywords) or plain_from((of, *call.args))
    return plain_from((of, *call.args))


def _of_plain(_: Run, of: Value, __: str, call: Call) -> Value:
    return plain_from((of, *call.args))


def _of_texts(run: Run, of: OneOfTexts, name: str, call: Call) -> Value:
    asked = call.args[0] if len(call.args) == 1 else None
    if name in ("startswith", "endswith", "split") and isinstance(asked, Const) and isinstance(asked.value, str):
        wanted = asked.value
        if name == "split" and wanted:
            columns = [text.split(wanted) for text in of.texts]
            if len({len(column) for column in columns}) == 1:
                parts = (OneOfTexts(tuple(each)) for each in zip(*columns, strict=True))
                return run.own(Sequence("list", Content(tuple(parts))))
        elif name != "split":
            found = of.answer(lambda text: text.startswith(wanted) if name == "startswith" else text.endswith(wanted))
            return Plain() if found is None else Const(found)
    return plain_from((of, *call.args))


def _of_globals(run: Run, of: Globals, name: str, call: Call) -> Value:
    key = texts.known(call.argument(0)) if name == "get" else None
    if key is not None:
        return run.attribute(of.namespace, key, call.node)
    return _opaque(run, of, name, call)


def _of_loader(run: Run, of: Loader, name: str, call: Call) -> Value:
    if name in NEXT_METHODS:
        return courses.next_of(run, of, call.node, call.receiver)
    return Plain() if name == "__len__" else Unknown()


def _of_stream(run: Run, of: Stream, name: str, call: Call) -> Value:
    if name in NEXT_METHODS:
        return courses.next_of(run, of, call.node, call.receiver)
    if not of.bar:
        return _opaque(run, of, name, call)
    return Plain()


def _may_be_set(run: Run, thing: Tool, depth: int = 3) -> None:
    """A library's object is given something, as a configuration is a file: its constants may be others from here on."""
    for key, value in list(thing.fields.items()):
        if isinstance(value, Const) and isinstance(key, str):
            run.heap.set(thing.fields, key, Plain(("set", thing.id, key)))
        elif isinstance(value, Tool) and depth:
            _may_be_set(run, value, depth - 1)


def _inherited(run: Run, of: Instance, name: str, call: Call) -> Value:
    kept.put_in(run, of, call.values)
    if name == "__init__":
        trainers.told(run, of, call)
        return NOTHING
    trainer_loops.called(run, of, name, call)
    known = trainer_loops.inherited(run, of, name, call) or framework_calls.inherited(run, of, name, call)
    if known is not None:
        return known
    bases = map(canonical, of.cls.libraries())
    return library.inherited(run, bases, name, call) or opaque_calls.opaque(run, Method(of, name), call)


BY_NAME: Final[dict[tuple[type[Value], str], Callable[[Run, Any, str, Call], Value]]] = {
    (Context, "__enter__"): exit_stacks.by_hand,
    (Context, "__exit__"): exit_stacks.by_hand,
    (Tensor, "backward"): gradients.of_method,
    (ParameterValue, "backward"): gradients.of_method,
}
"""What a method of this name of a value of this type does."""

METHODS: Final[dict[type[Value], Callable[[Run, Any, str, Call], Value]]] = {
    Either: _of_any,
    Optimizer: optimizer_methods.optimizer_method,
    Module: module_methods.module_method,
    Tensor: tensor_methods.tensor_method,
    ParameterValue: tensor_methods.tensor_method,
    Params: parameter_methods.params_method,
    Grads: parameter_methods.grads_method,
    Sequence: container_methods.sequence_method,
    Mapping: container_methods.mapping_method,
    Distribution: _of_distribution,
    Tool: _of_tool,
    Const: _of_const,
    OneOfTexts: _of_texts,
    Zero: _of_plain,
    Default: _of_plain,
    Plain: _of_plain,
    Number: _of_plain,
    Globals: _of_globals,
    Loader: _of_loader,
    Stream: _of_stream,
    Instance: _inherited,
}
"""What a method of a value of each type does."""
