"""Evaluates names, attributes, literals and displays."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.hooks import key_of
from torch_doctor.static.language import aligning, containers, files, targets
from torch_doctor.static.training.graph import running_sums
from torch_doctor.static.values import (
    NOTHING,
    Const,
    Content,
    Deferred,
    Either,
    Lib,
    Making,
    Mapping,
    Params,
    Plain,
    Sequence,
    Unknown,
    Value,
    compound,
    hashable,
    held,
    join,
    summary,
    symbol_of,
    texts,
)
from torch_doctor.static.values.symbols import FORMATTED, SLICE

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_BUILTINS = frozenset(dir(builtins))


def _const(run: Run, node: p.Const) -> Value:
    return Const(node.value)


def _name(run: Run, node: p.Name) -> Value:
    name = node.id
    holder = run.position.frame.holder(name)
    if holder is not None:
        value: Value = holder.fields[name]
        if value.__class__ is Deferred or (value.__class__ is Either and holder.fields is run.frame.globals.fields):
            value = files.global_of(run, run.frame.globals, name)
        elif isinstance(value, Either):
            value = run.resolve(value)
        if value.__class__ is Lib or value.__class__ is Either:
            for observe in run.observers.named[key_of(value)]:
                observe(run, value, node)
        return value
    if name == "__name__":
        return Const(files.module_name(run))
    if name == "__file__":
        return texts.of((texts.FOLDER,))
    if name in _BUILTINS:
        return Lib(f"builtins.{name}")
    taken = files.from_stars(run, run.frame.globals, name)
    if taken is not None:
        return taken
    below = files.import_in_another_cell(run, name)
    if below is not None:
        run.block((below,))
        holder = run.frame.holder(name)
        return Unknown() if holder is None else files.global_of(run, run.frame.globals, name)
    return files.from_all_of_library(run, name) or Unknown()


def _attribute(run: Run, node: p.Attribute) -> Value:
    holder = run.evaluate(node.value)
    value = run.attribute(holder, node.name, node)
    value = run.resolve(value) if isinstance(value, Either) else value
    if isinstance(value, Lib):
        for observe in run.observers.named[key_of(value)]:
            observe(run, value, node)
        return Lib(value.name, reported=True)
    return value


def _opaque(run: Run, _: p.Opaque) -> Value:
    return Unknown()


def _text(run: Run, node: p.Text) -> Value:
    values = [run.evaluate(part) for part in node.parts]
    if not all(isinstance(value, Const) for value in values):
        for observe in run.observers.shown:
            observe(run, tuple(values), node)
    between = (
        Plain(compound(*symbol_of(value), FORMATTED, how)) if how and not isinstance(value, Const) else value
        for value, how in zip(values, node.formats, strict=True)
    )
    return texts.made([next(between) if part is None else Const(part) for part in node.layout]) or Plain()


def _star(run: Run, node: p.Star) -> Value:
    return run.evaluate(node.value)


def _walrus(run: Run, node: p.Walrus) -> Value:
    value = running_sums.carried_on(run, node.target, node.value, run.evaluate(node.value), node)
    targets.bind_name(run, node.target.id, value)
    return value


def _slice(run: Run, node: p.Slice) -> Value:
    bounds = [NOTHING if part is None else run.evaluate(part) for part in (node.lower, node.upper, node.step)]
    upper = bounds[1]
    counted = isinstance(upper, Plain) and upper.size is not None and upper.size.name == "size"
    long = Making(SLICE, (upper,)) if counted and node.lower is node.step is None else None
    return Plain(compound(SLICE, *map(aligning.bound, bounds)), size=long)


def _display(run: Run, node: p.Display) -> Value:
    values = [(item, run.evaluate(item.value if isinstance(item, p.Star) else item)) for item in node.items]
    parameters = [value for item, value in values if isinstance(item, p.Star) and isinstance(value, Params)]
    if parameters and len(parameters) == len(values):
        modules = frozenset[int]().union(*(each.modules for each in parameters))
        return Params(modules, whole=all(each.whole for each in parameters))
    items: list[Value] = []
    rest: list[Value] = []
    for item, value in values:
        if isinstance(item, p.Star):
            content = containers.content_of(run, value)
            if content.rest is None and not rest:
                items.extend(content.items)
            else:
                rest.extend(content.all())
        elif rest:
            rest.append(value)
        else:
            items.append(value)
    content = Content(tuple(items), summary(rest) if rest else None)
    return run.own(Sequence(node.kind, content, run.site(node), run.frame.what))


def _dict(run: Run, node: p.Dict) -> Value:
    mapping: Mapping = run.own(Mapping(run.site(node), run.frame.what))
    for key_node, value_node in node.pairs:
        value = run.evaluate(value_node)
        if key_node is None:
            value = run.resolve(value)
            if isinstance(value, Mapping):
                mapping.fields.update(value.fields)
            else:
                mapping.fields["rest"] = Unknown(value.flow, held((value,)))
            continue
        key = run.evaluate(key_node)
        if isinstance(key, Const) and hashable(key.value):
            mapping.fields["key", key.value] = value
        else:
            old = mapping.fields.get("rest")
            mapping.fields["rest"] = value if old is None else join(old, value)
    return mapping


def _yield(run: Run, node: p.Yield) -> Value:
    value = NOTHING if node.value is None else run.evaluate(node.value)
    if run.frame.on_yield is not None:
        return run.frame.on_yield(value)
    if node.many:
        run.frame.yielded.extend(containers.content_of(run, value).all())
    else:
        run.frame.yielded.append(value)
    return Unknown()


dispatch.EXPRESSIONS.update(
    {
        p.Const: _const,
        p.Name: _name,
        p.Attribute: _attribute,
        p.Slice: _slice,
        p.Display: _display,
        p.Dict: _dict,
        p.Text: _text,
        p.Star: _star,
        p.Walrus: _walrus,
        p.Yield: _yield,
        p.Opaque: _opaque,
    }
)
