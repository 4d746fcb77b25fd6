"""Builds the containers of Python and of `collections`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.rows import classes, holding
from torch_doctor.static.flow import blend
from torch_doctor.static.language import containers, streams
from torch_doctor.static.library import library
from torch_doctor.static.training import filling
from torch_doctor.static.training.data import stretches
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import (
    Args,
    Call,
    Const,
    Content,
    Lib,
    Mapping,
    Module,
    Params,
    Partial,
    Plain,
    Sequence,
    Unknown,
    Value,
    hashable,
    held,
    leaves,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


@library(*(f"builtins.{name}" for name in ("list", "tuple", "set", "frozenset", "sorted", "reversed")))
def sequence(run: Run, name: str, call: Call) -> Value:
    """A list, tuple or set of the items of something."""
    name = name.removeprefix("builtins.")
    kind = name if name in ("tuple", "set") else "list"
    if not call.args:
        return run.own(Sequence(kind, Content(), run.site(call.node), run.frame.what))
    if isinstance(call.args[0], Params):
        return call.args[0]
    stream = streams.stream_of(run, call.args[0])
    content = stream.content or Content((), stream.item)
    if content.end is not None and name not in ("list", "tuple"):
        content = Content(content.items, content.rest)
    if name == "sorted" and content.rest is not None:
        counts = classes.by_count(run, call.keywords.get("key"), content.rest, call.node)
        content = Content(content.items, classes.reordered(run, content.rest, by_count=counts))
    made: Sequence = run.own(Sequence(kind, content, run.site(call.node), run.frame.what))
    if name in ("list", "tuple"):
        filling.copied(call.args[0], made)
    if kind != "set":
        stretches.listed(run, call.args[0], made)
    return made


@library("builtins.dict", "collections.OrderedDict")
def mapping(run: Run, _: str, call: Call) -> Value:
    """A dict; one of parameters with their names is what they are."""
    if len(call.args) == 1 and isinstance(call.args[0], Params) and not call.keywords:
        return call.args[0]
    return dictionary(run, call)


@library("itertools.chain", "itertools.chain.from_iterable")
def chained(run: Run, name: str, call: Call) -> Value | None:
    """The items of several, one after the other: parameters, or a stream that is none of them; None for a single one."""
    if not any(isinstance(value, Params) for value in leaves(*call.args, decided=run.resolve, more=parameters.GIVING)):
        if len(call.args) < 2 or all(isinstance(value, Sequence) for value in call.args):
            return None
        escaping.hand_over(run, name, call.args, (), call.node)  # which of them an item comes from is not followed
        return Unknown(blend(value.flow for value in call.args), held(call.args))
    modules, whole = parameters.parameters_in(run, call.args)
    return Params(modules, whole=whole)


@library("collections.defaultdict")
def with_default(run: Run, _: str, call: Call) -> Mapping:
    """A dict whose items a factory makes."""
    return dictionary(run, call.with_args(call.args[1:]), call.args[:1])


@library("collections.Counter")
def counter(run: Run, _: str, call: Call) -> Mapping:
    """A dict of numbers, in which what is not there is 0."""
    made = dictionary(run, call, (Lib("builtins.int"),))
    if call.args:
        _tagged(run, made, classes.COUNTED, call)
    return made


def _tagged(run: Run, made: Mapping, kind: str, call: Call) -> None:
    """A dict whose keys are the different words among some rows, in an order that follows from these."""
    item, rest = containers.element_of(run, call.args[0]), made.fields.get("rest")
    if isinstance(rest, Value):
        order = classes.ordered(run, kind, call.args[0], item, call.node)
        made.fields["rest"] = holding.with_rows(rest, rest.flow.rows | order)


@library("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys")
def from_keys(run: Run, _: str, call: Call) -> Mapping:
    """A dict with these keys, in their order, and one value for all."""
    made: Mapping = run.own(Mapping(run.site(call.node), run.frame.what))
    content = containers.content_of(run, call.args[0]) if call.args else Content()
    value = call.argument(1, "value") or Plain()
    for item in content.items:
        made.fields[("key", item.value) if isinstance(item, Const) and hashable(item.value) else "rest"] = value
    if content.rest is not None:
        made.fields["rest"] = value
        _tagged(run, made, classes.SEEN, call)
    return made


@library("collections.namedtuple")
def named_tuple_class(_: Run, __: str, call: Call) -> Value:
    """A class of tuples whose items have names."""
    given = call.argument(1, "field_names")
    if isinstance(given, Const) and isinstance(given.value, str):
        return Partial(_NAMED_TUPLE, (Const(tuple(given.value.replace(",", " ").split())),), {})
    items = given.content.all() if isinstance(given, Sequence) and given.content.rest is None else (Unknown(),)
    names = tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))
    return Partial(_NAMED_TUPLE, (Const(names),), {}) if len(names) == len(items) else Unknown()


@library("collections.namedtuple()")
def named_tuple(run: Run, _: str, call: Call) -> Value | None:
    """A tuple of such a class: what is given by position comes first."""
    given = call.args[0] if call.args else None
    if not isinstance(given, Const) or not isinstance(given.value, tuple):
        return None
    items = {**dict(zip(given.value, call.args[1:], strict=False)), **call.keywords}
    content = Content(tuple(items.get(name, Unknown()) for name in given.value))
    return run.own(Sequence("tuple", content, run.site(call.node), run.frame.what, names=given.value))


_NAMED_TUPLE = Lib("collections.namedtuple()")


@library("copy.copy")
def copied(run: Run, _: str, call: Call) -> Value | None:
    """`copy.copy(dictionary)`; what it makes of a module has the same parts and parameters."""
    if call.args and isinstance(call.args[0], Module):
        return call.args[0]
    if not call.args or not isinstance(call.args[0], Mapping):
        return None
    return dictionary(run, Call(call.args[:1], {}, call.node))


@library("functools.partial")
def partial(_: Run, __: str, call: Call) -> Value | None:
    """A function with some of its arguments."""
    return Partial(call.args[0], call.args[1:], call.keywords) if call.args else None


@library("collections.deque")
def deque(run: Run, _: str, call: Call) -> Value:
    """Make a `collections.deque`."""
    content = containers.content_of(run, call.args[0]) if call.args else Content()
    bounded = "maxlen" in call.keywords or len(call.args) > 1
    return run.own(Sequence("deque", content, run.site(call.node), run.frame.what, bounded=bounded))


def dictionary(run: Run, call: Call, factory: Args = ()) -> Mapping:
    """Make a dict, or one of `collections`; `factory` is what a `defaultdict` was given."""
    mapping: Mapping = run.own(Mapping(run.site(call.node), run.frame.what))
    for value in call.args:
        if isinstance(value, Mapping):
            mapping.fields.update(value.fields)
        elif isinstance(value, Sequence):
            for item in value.content.all():
                if (
                    isinstance(item, Sequence)
                    and len(item.content.items) == 2
                    and isinstance(item.content.items[0], Const)
                ):
                    mapping.fields["key", item.content.items[0].value] = item.content.items[1]
                else:
                    mapping.fields["rest"] = containers.element_of(run, item)
        else:
            mapping.fields["rest"] = Unknown(value.flow, held((value,)))
    for key, value in call.keywords.items():
        mapping.fields["key", key] = value
    if factory and isinstance(factory[0], Lib) and factory[0].name in ("builtins.list", "builtins.dict"):
        empty = (
            Sequence("list", Content(), run.site(call.node))
            if factory[0].name.endswith("list")
            else Mapping(run.site(call.node))
        )
        mapping.fields["rest"] = run.own(empty)
    elif factory:
        mapping.fields["rest"] = Plain()
    return mapping
