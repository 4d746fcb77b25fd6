"""Calls Python's built-in functions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import courses, kept, named_things, narrowing, streams, targets
from torch_doctor.static.language.defaults import by_default
from torch_doctor.static.language.shape_items import sizes_of
from torch_doctor.static.library import library
from torch_doctor.static.tables import functions, models, outdated, words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import cuts
from torch_doctor.static.training.device import exchanging
from torch_doctor.static.training.module import registering
from torch_doctor.static.training.unresolved import packages
from torch_doctor.static.values import (
    NOTHING,
    VERSION,
    Call,
    ClassValue,
    Const,
    Default,
    Either,
    Fact,
    Instance,
    Lib,
    Making,
    Method,
    Module,
    Namespace,
    Object,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    fresh_symbol,
    plain_from,
    shapes,
    texts,
)
from torch_doctor.static.values.shapes import number
from torch_doctor.static.values.symbols import LENGTH

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


_PLAIN = "id dir input repr format hash callable"
"""Functions whose result says nothing of what trains."""
_CONVERTED = {"int": "int64", "float": "floating"}
"""What a tensor makes of numbers that these return."""


@library("builtins.next")
def next_item(run: Run, _: str, call: Call) -> Value:
    """`next(iterator)`: of a loader's it takes a batch."""
    return courses.next_of(run, _first(call), call.node, run.text_of_argument(call.node, 0))


@library("builtins.isinstance")
def is_instance(run: Run, _: str, call: Call) -> Value | None:
    """`isinstance(value, cls)`."""
    if len(call.args) != 2:
        return None
    return narrowing.asked(run, call.args[0], call.args[1], call.node)


@library("torch.is_tensor")
def is_tensor(run: Run, _: str, call: Call) -> Value | None:
    """`torch.is_tensor(value)`, which is `isinstance(value, torch.Tensor)`."""
    return narrowing.asked(run, call.args[0], Lib("torch.Tensor"), call.node) if call.args else None


@library("builtins.getattr", "builtins.hasattr")
def get_attribute(run: Run, name: str, call: Call) -> Value | None:
    """`getattr(thing, name)` and `hasattr(thing, name)`."""
    if len(call.args) < 2:
        return None
    thing, key = call.args[0], texts.known(call.args[1])
    asks = name == "builtins.hasattr"
    if key is None:
        if asks:
            return Plain()
        if isinstance(thing, Lib):
            builder = models.member(thing.name, None)
            return Unknown() if builder is None else Lib(builder)
        if not isinstance(thing, (ClassValue, Instance, Namespace)):
            return Unknown()
        return named_things.one_of(run, call.args[1], lambda each: run.attribute(thing, each, call.node)) or Unknown()
    if asks:
        answer = _has_attribute(run, thing, key)
        if key in functions.METHODS:
            narrowing.to_tensor(run, thing, answer, call.node)
        return answer
    return run.attribute(thing, key, call.node)


@library("builtins.vars", "builtins.locals", "builtins.globals")
def attributes_of(run: Run, name: str, call: Call) -> Value:
    """`vars(thing)` is its `__dict__`, `globals()` that of the file; what lies in those of variables is not followed."""
    if name == "builtins.globals":
        return run.attribute(run.frame.globals, "__dict__", call.node)
    return run.attribute(run.resolve(call.args[0]), "__dict__", call.node) if call.args else Unknown()


@library("builtins.setattr")
def set_attribute(run: Run, _: str, call: Call) -> Value | None:
    """`setattr(thing, name, value)`."""
    if len(call.args) != 3:
        return None
    thing, key, value = call.args
    attribute = p.Attribute(call.node.at, p.Const(call.node.at, None), "")
    text = texts.known(key)
    if text is None:
        registering.perhaps_replaced(run, thing, value)
        if not isinstance(value, Module):
            kept.perhaps_set(run, thing)
    if text is None and isinstance(thing, Object):
        exchanging.perhaps_attributes(run, thing)
    targets.set_attribute(run, thing, text or UnknownName.among(thing), value, call.node, attribute)
    return NOTHING


@library("builtins.delattr")
def delete_attribute(run: Run, _: str, call: Call) -> Value | None:
    """`delattr(thing, name)`."""
    if len(call.args) != 2 or not isinstance(call.args[1], Const):
        return None
    targets.delete_attribute(run, call.args[0], str(call.args[1].value))
    return NOTHING


@library("builtins.len")
def length(run: Run, _: str, call: Call) -> Value:
    """`len(value)`."""
    first = _first(call)
    if isinstance(first, Sequence) and first.content.rest is None and not run.loop_depth:
        return Const(len(first.content.items))
    if isinstance(first, Stream) and first.bar and first.loader:
        return Plain(("len", first.loader))
    if isinstance(first, Tensor):
        return Plain(fresh_symbol(LENGTH), Making("size", (first,), of=0))
    if sizes_of(first) == ():  # the shape of a single number
        return Const(0)
    if isinstance(first, Object):
        return Plain((LENGTH, first.counted if isinstance(first, Sequence) else first.id))
    return Plain(fresh_symbol(LENGTH))


@library("builtins.any", "builtins.all")
def any_or_all(run: Run, name: str, call: Call) -> Value:
    """Whether one of the items is true, or all are: known where the items are, or those that decide it."""
    first = _first(call)
    content = streams.stream_of(run, first).content
    items = () if content is None else content.items
    known = [bool(item.value) for item in items if isinstance(item, Const) and not isinstance(item, Default)]
    wanted = name == "builtins.any"
    if wanted in known:
        return Const(wanted)
    ends = content is not None and content.rest is None and len(known) == len(items)
    return Const(not wanted) if ends else plain_from((first, *items))


@library("builtins.type")
def type_of(_: Run, __: str, call: Call) -> Value | None:
    """`type(value)`; with three arguments it makes a class."""
    return narrowing.type_of(call.args[0]) if len(call.args) == 1 else None


@library(*(f"builtins.{name}" for name in ("float", "int", "str", "bool", "abs", "round")))
def converted(run: Run, name: str, call: Call) -> Value:
    """A number, string or truth value that is made of another value."""
    first, name = _first(call), name.removeprefix("builtins.")
    if isinstance(first, Const):
        try:
            made = Const(getattr(builtins, name)(first.value))
        except (TypeError, ValueError, OverflowError):
            return Plain()
        return by_default(made, first.symbol) if isinstance(first, Default) else made
    if name == "bool" and isinstance(first, Plain):
        return first
    if name != "str" and first.tells_version:
        return plain_from((first,))
    if name == "str" and isinstance(first, (Plain, Unknown)):
        return texts.made((first,)) or Plain()
    of = first if isinstance(first, Tensor) else shapes.read_from(first.size) if isinstance(first, Plain) else None
    size = None if name not in _CONVERTED else shapes.read(of, _CONVERTED[name]) if of else number((_CONVERTED[name],))
    if name in ("int", "float") and isinstance(first, Plain):
        return plain_from((first,), first.symbol, size=size)
    if name in ("abs", "round") and isinstance(first, Tensor):
        return run.call(Method(first, name), call.with_args(call.args[1:]))
    return plain_from([], flow=cuts.cut(run, first.flow, first, name, call.node), size=size)


@library("builtins.super", "builtins.object")
def opaque(_: Run, __: str, ___: Call) -> Unknown:
    """An object of which nothing is known."""
    return Unknown()


@library("builtins.print")
def printed(_: Run, __: str, ___: Call) -> Const:
    """`print(value)`."""
    return NOTHING


@library(*(f"builtins.{name}" for name in words(_PLAIN)))
def plain(_: Run, name: str, call: Call) -> Plain:
    """What holds no graph and nothing that trains; which names a library has depends on its version."""
    return Plain(fresh_symbol(VERSION) if packages.asks_version(name, (), call) else None)


def _first(call: Call) -> Value:
    return call.argument(0) or NOTHING


def _has_attribute(run: Run, thing: Value, name: str) -> Value:
    if isinstance(thing, Either):
        answers = [_has_attribute(run, option, name) for _, option in thing.options]
        return narrowing.deciding(thing, answers) or Plain()
    if isinstance(thing, Tensor) and name in functions.METHODS:
        return Const(value=True)
    if isinstance(thing, Const):
        return Const(hasattr(thing.value, name))
    if isinstance(thing, (Instance, Module)) and thing.cls is not None and not thing.cls.opaque_base():
        if name in thing.fields or thing.cls.find(name):
            return Const(value=True)
        return Const(value=False) if _is_empty(run, thing) or not thing.cls.libraries() else Plain()
    if isinstance(thing, Lib):
        return Plain((VERSION, thing.name, name))
    if name in outdated.SUCCESSORS:
        return Plain((VERSION, name))  # only an old torch does not have it
    if isinstance(thing, Module) and name == "module":
        return Plain(("flag", "wrapped"))
    return Plain()


def _is_empty(run: Run, thing: Instance | Module) -> bool:
    """Whether it is a module whose base was not initialised yet: it has no parameter, buffer or layer."""
    if not isinstance(thing, Module) or thing not in run.building or thing.cls is None:
        return False
    of_torch = all(canonical(name).startswith(("torch.nn.", "builtins.")) for name in thing.cls.libraries())
    return of_torch and thing.fact(Fact.INITIALISED) is False
