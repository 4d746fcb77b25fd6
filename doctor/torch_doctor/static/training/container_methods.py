"""Methods of lists, tuples, sets, deques and dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.static import program as p
from torch_doctor.static.dispatch import handles
from torch_doctor.static.domains.rows import classes
from torch_doctor.static.flow import blend
from torch_doctor.static.language import containers, item_targets
from torch_doctor.static.training import filling, written_out
from torch_doctor.static.training.data import class_orders, stretches
from torch_doctor.static.training.graph import emptying, keeping
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Content,
    Fact,
    Mapping,
    Plain,
    Sequence,
    Unknown,
    Value,
    hashable,
    held,
    join,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run


OfSequence: TypeAlias = "Callable[[Run, Sequence, Call], Value]"
OfMapping: TypeAlias = "Callable[[Run, Mapping, str, Call], Value]"
_SEQUENCES: dict[str, OfSequence] = {}
_MAPPINGS: dict[str, OfMapping] = {}
_REORDERING = frozenset(("pop", "popleft", "remove", "reverse", "sort", "rotate"))
"""Methods after which another item may be the last one."""
_KEEPING_ITEMS = frozenset(("copy", "count", "index", "reverse", "rotate", "sort"))
"""Methods after which a list has the items that it had."""


def sequence_method(run: Run, of: Sequence, name: str, call: Call) -> Value:
    """Call a method of a list, tuple, set or deque."""
    method = _SEQUENCES.get(name)
    if name in _REORDERING:
        reordered(run, of)
    if name not in _KEEPING_ITEMS:
        stretches.forget(run, of)
    return method(run, of, call) if method is not None else Plain()


@handles(_SEQUENCES, "append", "add", "appendleft", "insert", "put")
def _append(run: Run, of: Sequence, call: Call) -> Value:
    if not call.args:
        return Plain()
    name = run.text_of_argument(call.node, len(call.args) - 1)
    append_item(run, of, call.args[-1], call.node, call.receiver, name, ends=call.method == "append")
    return NOTHING


@handles(_SEQUENCES, "extend", "update")
def _extend(run: Run, of: Sequence, call: Call) -> Value:
    if not call.args:
        return Plain()
    extend_sequence(run, of, call.args[0], call.node, call.receiver)
    return NOTHING


@handles(_SEQUENCES, "pop", "popleft")
def _pop(run: Run, of: Sequence, call: Call) -> Value:
    content = of.content
    emptying.emptied(run, of)
    if content.items and content.rest is None and not call.args and not run.loop_depth:
        run.heap.set(of.fields, "items", Content(content.items[:-1]))
        return content.items[-1]
    return summary(content.all()) if content.all() else Unknown()


@handles(_SEQUENCES, "clear")
def _clear(run: Run, of: Sequence, _: Call) -> Value:
    clear_sequence(run, of)
    return NOTHING


@handles(_SEQUENCES, "copy")
def _copy(run: Run, of: Sequence, call: Call) -> Value:
    return filling.copied(of, run.own(Sequence(of.kind, of.content, run.site(call.node), run.frame.what)))


def append_item(
    run: Run, of: Sequence, value: Value, node: p.Node, receiver: str, name: str = "", *, ends: bool = True
) -> None:
    """Put an item at a sequence's end; `ends` is False where its place may be another."""
    content = of.content
    carries = blend(item.flow for item in content.all()).retained
    bounded = of.bounded or emptying.is_emptied(run, of.fields, "items", carries)
    retained = keeping.keep_item(run, value, carries, node, receiver, name, bounded=bounded)
    site = run.site(node)
    if of.id < run.position.loop_began and not of.fact(Fact.GROWN):
        run.heap.set(of.facts, Fact.GROWN, True)
    if site not in of.fact(Fact.FILLED):
        run.heap.set(of.facts, Fact.FILLED, (*of.fact(Fact.FILLED), site))
    if content.rest is None and len(content.items) < 64:
        run.heap.set(of.fields, "items", Content((*content.items, retained)))
    else:
        run.heap.set(
            of.fields,
            "items",
            Content(
                content.items,
                retained if content.rest is None else join(content.rest, retained),
                retained if ends else None,
            ),
        )


def reordered(run: Run, sequence: Sequence) -> None:
    """Another item may be the last one from here on."""
    if sequence.content.end is not None:
        run.heap.set(sequence.fields, "items", Content(sequence.content.items, sequence.content.rest))


def clear_sequence(run: Run, sequence: Sequence) -> None:
    """Empty a sequence."""
    emptying.emptied(run, sequence)
    run.heap.set(sequence.fields, "items", Content())


def extend_sequence(run: Run, sequence: Sequence, value: Value, node: p.Node, name: str) -> None:
    """Put the items of a value at a sequence's end."""
    filling.extended(run, sequence, value, node)
    content = containers.content_of(run, value)
    given = node.value if isinstance(node, p.Augment) else node.args[0] if isinstance(node, p.Call) else node
    for item, called in zip(content.items[:64], written_out.names(run, given, len(content.items)), strict=False):
        append_item(run, sequence, item, node, name, called)
    if content.rest is not None:
        append_item(run, sequence, content.rest, node, name, ends=False)


def mapping_method(run: Run, of: Mapping, name: str, call: Call) -> Value:
    """Call a method of a dict."""
    method = _MAPPINGS.get(name)
    return method(run, of, name, call) if method is not None else Plain()


@handles(_MAPPINGS, "items", "values", "keys")
def _listed(run: Run, of: Mapping, name: str, __: Call) -> Value:
    named = [(key[1], value) for key, value in of.fields.items() if isinstance(key, tuple)]
    rest = of.fields.get("rest")
    if name == "values":
        return Sequence("list", Content(tuple(value for _, value in named), rest))
    if name == "keys":
        return Sequence(
            "list", Content(tuple(Const(key) for key, _ in named), None if rest is None else _key(run, rest))
        )
    pairs = tuple(Sequence("tuple", Content((Const(key), value))) for key, value in named)
    return Sequence(
        "list", Content(pairs, None if rest is None else Sequence("tuple", Content((_key(run, rest), rest))))
    )


def _key(run: Run, value: Value) -> Value:
    """The key of such a value, in the order in which the dict has it."""
    return classes.numbered(run, Plain(), value)


@handles(_MAPPINGS, "most_common")
def _most_common(run: Run, of: Mapping, _: str, call: Call) -> Value:
    pairs = _listed(run, of, "items", call)
    rest = pairs.content.rest if isinstance(pairs, Sequence) else None
    return pairs if rest is None else Sequence("list", Content((), classes.reordered(run, rest, by_count=True)))


@handles(_SEQUENCES, "index")
def _index(run: Run, of: Sequence, _: Call) -> Value:
    return classes.numbered(run, Plain(), summary(of.content.all())) if of.content.all() else Plain()


@handles(_MAPPINGS, "get", "pop", "setdefault", "__getitem__")
def _get(run: Run, of: Mapping, name: str, call: Call) -> Value:
    key = call.argument(0) or NOTHING
    if not isinstance(key, Const):
        default = call.argument(1)
        if name == "setdefault" and default is not None:
            default = class_orders.counted_up(run, key, default, call.receiver, _second(call), call.node)
        if name == "setdefault" and "rest" not in of.fields:  # else it stands for the lists of all keys
            run.heap.set(of.fields, "rest", default or NOTHING)
        everything = (*of.values(), *((default,) if default is not None else ()))
        return containers.chosen(run, of, key) or (summary(everything) if everything else Unknown())
    found = of.fields.get(("key", key.value))
    if isinstance(found, Value):
        if name == "pop":
            run.heap.drop(of.fields, ("key", key.value))
        return run.resolve(found)
    default = call.argument(1) or NOTHING
    rest = of.fields.get("rest")
    found = default if rest is None else join(rest, default)
    if name == "setdefault":  # what lies there already, or this from here on
        run.heap.set(of.fields, ("key", key.value), found)
    return found


def _second(call: Call) -> p.Expr | None:
    """The second argument as written."""
    written = call.node.args if isinstance(call.node, p.Call) else ()
    return written[1] if len(written) > 1 else None


@handles(_MAPPINGS, "__setitem__")
def _set(run: Run, of: Mapping, _: str, call: Call) -> Value:
    node = call.node
    if len(call.args) == 2 and isinstance(node, p.Call) and len(node.args) == 2:
        target = p.Index(node.at, node.func, node.args[0])
        item_targets.set_item(run, of, *call.args, node, target)
    return NOTHING


@handles(_MAPPINGS, "update")
def _update(run: Run, of: Mapping, _: str, call: Call) -> Value:
    for value in call.args:
        if isinstance(value, Mapping):
            for key, item in value.fields.items():
                run.heap.set(of.fields, key, item)
        elif (pairs := _pairs(value)) is not None:
            for key, item in pairs:
                run.heap.set(of.fields, ("key", key), item)
        elif (words := class_orders.counted(run, value, call.node)) is not None:
            run.heap.set(of.fields, "rest", words)
        else:
            run.heap.set(of.fields, "rest", Unknown(value.flow, held((value,))))
    for name, item in call.keywords.items():
        run.heap.set(of.fields, ("key", name), item)
    return NOTHING


def _pairs(value: Value) -> list[tuple[object, Value]] | None:
    """The keys and values of a list of pairs; None for anything else."""
    content = value.content if isinstance(value, Sequence) else None
    if content is None or content.rest is not None:
        return None
    pairs = [each.content.items for each in content.items if isinstance(each, Sequence) and each.content.rest is None]
    found = [
        (pair[0].value, pair[1])
        for pair in pairs
        if len(pair) == 2 and isinstance(pair[0], Const) and hashable(pair[0].value)
    ]
    return found if len(found) == len(content.items) else None


@handles(_MAPPINGS, "clear")
def _emptied(run: Run, of: Mapping, _: str, __: Call) -> Value:
    emptying.emptied(run, of)
    for key in list(of.fields):
        run.heap.drop(of.fields, key)
    return NOTHING


@handles(_MAPPINGS, "copy", "to", "cuda")
def _copied(run: Run, of: Mapping, _: str, call: Call) -> Value:
    copy: Mapping = run.own(Mapping(run.site(call.node)))
    copy.fields.update(of.fields)
    return copy
