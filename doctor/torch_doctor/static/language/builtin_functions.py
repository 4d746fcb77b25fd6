"""Calls Python's built-in functions and the containers of `collections`."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import PASSES, UNROLLED
from torch_doctor.static.language import containers, narrowing, operators, outside, streams, targets
from torch_doctor.static.tables import functions, libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import cuts, sums
from torch_doctor.static.values import (
    COUNTER,
    NOTHING,
    VERSION,
    Args,
    Const,
    Content,
    Either,
    Fact,
    Instance,
    Keywords,
    Lib,
    Mapping,
    Module,
    Object,
    Params,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    plain_from,
    summary,
)
from torch_doctor.static.values.shapes import number
from torch_doctor.trace import (
    BatchTaken,
)

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor


_CONVERTED = {"int": "int64", "float": "floating"}
"""What a tensor makes of numbers that these return."""


def call_builtin(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one branch per function
    """Call a built-in function of Python's by its bare name."""
    first = args[0] if args else NOTHING
    if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed"):
        kind = name if name in ("tuple", "set") else "list"
        if not args:
            return run.own(Sequence(kind, Content(), run.site(node), run.frame.what))
        if isinstance(first, Params):
            return first
        stream = streams.stream_of(run, first)
        content = stream.content or Content((), stream.item)
        made: Sequence = run.own(Sequence(kind, content, run.site(node), run.frame.what))
        return made
    if name in ("enumerate", "zip"):
        return streams.passed_through(run, libraries.PASS_THROUGH[name], args, keywords)
    if name == "iter":
        return streams.stream_of(run, first)
    if name == "next":
        stream = streams.stream_of(run, first)
        if stream.loader:
            run.emit(BatchTaken, node, loader=stream.loader, name=run.text_of_argument(node, 0))
        return stream.item
    if name == "range":
        return _range(run, args)
    if name == "dict":
        return dictionary(run, args, keywords, node)
    if name == "isinstance" and len(args) == 2:  # noqa: PLR2004 - its two arguments
        return narrowing.asked(run, first, args[1], node)
    if name in ("getattr", "hasattr") and len(args) > 1:
        return _get_attribute(run, name, args, node)
    if name == "setattr" and len(args) > 2:  # noqa: PLR2004 - its three arguments
        key = args[1]
        attribute = p.Attribute(node.at, p.Const(node.at, None), "")
        text = str(key.value) if isinstance(key, Const) else UnknownName.among(first)
        targets.set_attribute(run, first, text, args[2], node, attribute)
        return NOTHING
    if name in ("map", "filter"):
        run.rows.samples += 1
        mapped = _mapped(run, name, args, node)
        run.rows.samples -= 1
        return mapped
    if name in ("sum", "max", "min"):
        return _reduced(run, name, args, node)
    if name == "len":
        if isinstance(first, Sequence) and first.content.rest is None and not run.loop_depth:
            return Const(len(first.content.items))
        if isinstance(first, Stream) and first.bar and first.loader:
            return Plain(("len", first.loader))
        return Plain(("len", first.id)) if isinstance(first, Object) else Plain()
    if name == "type" and len(args) == 1:
        return narrowing.type_of(first)
    if name == "id":
        return Plain()
    if name in ("float", "int", "str", "bool", "abs", "round"):
        if isinstance(first, Const):
            try:
                return Const(getattr(builtins, name)(first.value))
            except (TypeError, ValueError, OverflowError):
                return Plain()
        if name == "bool" and isinstance(first, Plain):
            return first
        size = number((_CONVERTED[name],)) if name in _CONVERTED else None
        if name == "int" and isinstance(first, Plain):
            return plain_from((first,), first.symbol, size=size)
        if name in ("abs", "round") and isinstance(first, Tensor):
            return first
        return plain_from([], flow=cuts.cut(run, first.flow, first, name, node), size=size)
    if name in ("super", "object"):
        return Unknown()
    if name == "print":
        return NOTHING
    if name in (
        "vars",
        "globals",
        "locals",
        "dir",
        "input",
        "open",
        "repr",
        "format",
        "any",
        "all",
        "hash",
        "callable",
    ):
        return Plain()
    return outside.opaque(run, Lib(f"builtins.{name}"), args, keywords, node, spelling)


def _range(run: Executor, args: Args) -> Value:
    numbers = [value.value for value in args if isinstance(value, Const) and isinstance(value.value, int)]
    if numbers and len(numbers) == len(args) and len(args) <= 3:  # noqa: PLR2004 - start, stop, step
        try:
            counted = range(*numbers)
        except ValueError:
            return Stream(Plain())
        if len(counted) <= PASSES:
            return Stream(Plain(), Content(tuple(Const(number) for number in counted)))
    from_zero = len(args) == 1 or (isinstance(args[0], Const) and args[0].value == 0) if args else False
    return Stream(Plain((COUNTER, None)) if from_zero else Plain())


def _get_attribute(run: Executor, name: str, args: Args, node: p.Node) -> Value:
    thing, key = args[0], args[1]
    if not isinstance(key, Const) or not isinstance(key.value, str):
        return Plain() if name == "hasattr" else Unknown()
    if name == "hasattr":
        if isinstance(thing, Either):
            answers = [_get_attribute(run, name, (option, key), node) for _, option in thing.options]
            return narrowing.deciding(thing, answers) or Plain()
        if isinstance(thing, Tensor) and key.value in functions.METHODS:
            return Const(value=True)
        if isinstance(thing, Const):
            return Const(hasattr(thing.value, key.value))
        if isinstance(thing, (Instance, Module)) and thing.cls is not None and not thing.cls.opaque_base():
            if key.value in thing.fields or thing.cls.find(key.value):
                return Const(value=True)
            return Const(value=False) if _is_empty(run, thing) or not thing.cls.libraries() else Plain()
        if isinstance(thing, Lib):
            return Plain((VERSION, thing.name, key.value))
        if isinstance(thing, Module) and key.value == "module":
            return Plain(("flag", "wrapped"))
        return Plain()
    return run.attribute(thing, key.value, node)


def _is_empty(run: Executor, thing: Instance | Module) -> bool:
    """Whether it is a module whose base was not initialised yet: it has no parameter, buffer or layer."""
    if not isinstance(thing, Module) or thing not in run.building or thing.cls is None:
        return False
    of_torch = all(canonical(name).startswith(("torch.nn.", "builtins.")) for name in thing.cls.libraries())
    return of_torch and thing.fact(Fact.INITIALISED) is False


def _mapped(run: Executor, name: str, args: Args, node: p.Node) -> Value:
    function, *iterables = args
    if not iterables:
        return Unknown()
    stream = streams.stream_of(run, iterables[0])
    if name == "filter":
        if isinstance(iterables[0], Params):
            return iterables[0]
        return Stream(stream.item, None, stream.loader)
    if (
        stream.content is not None
        and stream.content.rest is None
        and len(iterables) == 1
        and len(stream.content.items) <= UNROLLED
    ):
        items = tuple(run.call(function, (item,), {}, node) for item in stream.content.items)
        return Stream(summary(items) if items else Unknown(), Content(items))
    return Stream(run.call(function, tuple(streams.stream_of(run, iterable).item for iterable in iterables), {}, node))


def _reduced(run: Executor, name: str, args: Args, node: p.Node) -> Value:
    if name != "sum" and len(args) > 1:
        values: tuple[Value, ...] = args
    else:
        stream = streams.stream_of(run, args[0]) if args else Stream(Plain())
        values = stream.content.all() if stream.content is not None else (stream.item,)
    if not values or all(isinstance(value, (Const, Plain)) for value in values):
        made = plain_from(values)
        return sums.summed_up(run, args[0], values, made, node) if name == "sum" and values else made
    result: Value = values[0]
    for value in values[1:]:
        result = operators.operate(run, "+", (result, value), node)
    if isinstance(result, Params):
        return Tensor(Flow(graph=run.grad, modules=result.modules))
    return sums.summed_up(run, args[0], values, result, node) if name == "sum" else result


def deque(run: Executor, args: Args, keywords: Keywords, node: p.Node) -> Value:
    """Make a `collections.deque`."""
    content = containers.content_of(run, args[0]) if args else Content()
    bounded = "maxlen" in keywords or len(args) > 1
    return run.own(Sequence("deque", content, run.site(node), run.frame.what, bounded=bounded))


def dictionary(run: Executor, args: Args, keywords: Keywords, node: p.Node, factory: Args = ()) -> Value:
    """Make a dict, or one of `collections`; `factory` is what a `defaultdict` was given."""
    mapping: Mapping = run.own(Mapping(run.site(node), run.frame.what))
    for value in args:
        if isinstance(value, Mapping):
            mapping.fields.update(value.fields)
        elif isinstance(value, Sequence):
            for item in value.content.all():
                if (
                    isinstance(item, Sequence)
                    and len(item.content.items) == 2
                    and isinstance(item.content.items[0], Const)
                ):  # noqa: PLR2004 - key and value
                    mapping.fields["key", item.content.items[0].value] = item.content.items[1]
                else:
                    mapping.fields["rest"] = containers.element_of(run, item)
    for key, value in keywords.items():
        mapping.fields["key", key] = value
    if factory and isinstance(factory[0], Lib) and factory[0].name in ("builtins.list", "builtins.dict"):
        empty = (
            Sequence("list", Content(), run.site(node)) if factory[0].name.endswith("list") else Mapping(run.site(node))
        )
        mapping.fields["rest"] = run.own(empty)
    elif factory:
        mapping.fields["rest"] = Plain()
    return mapping
