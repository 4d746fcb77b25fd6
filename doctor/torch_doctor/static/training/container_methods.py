"""Methods of lists, tuples, sets, deques and dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import blend
from torch_doctor.static.language import containers
from torch_doctor.static.training import keeping
from torch_doctor.static.values import (
    NOTHING,
    Args,
    Const,
    Content,
    Fact,
    Keywords,
    Mapping,
    Plain,
    Sequence,
    Unknown,
    Value,
    held,
    join,
    summary,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def sequence_method(
    run: Executor, of: Sequence, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
) -> Value:  # noqa: PLR0911 - one branch per method
    """Call a method of a list, tuple, set or deque."""
    if name in ("append", "add", "appendleft", "insert", "put") and args:
        append_item(run, of, args[-1], node, receiver)
        return NOTHING
    if name in ("extend", "update") and args:
        extend_sequence(run, of, args[0], node, receiver)
        return NOTHING
    if name in ("pop", "popleft"):
        content = of.content
        if content.items and content.rest is None and not args and not run.loop_depth:
            run.heap.set(of.fields, "items", Content(content.items[:-1]))
            return content.items[-1]
        return summary(content.all()) if content.all() else Unknown()
    if name == "clear":
        clear_sequence(run, of)
        return NOTHING
    if name == "copy":
        return run.own(Sequence(of.kind, of.content, run.site(node), run.frame.what))
    return Plain()


def append_item(run: Executor, of: Sequence, value: Value, node: p.Node, receiver: str) -> None:
    """Put an item at a sequence's end."""
    content = of.content
    carries = blend(item.flow for item in content.all()).retained
    kept = keeping.keep_item(run, value, carries, node, receiver, bounded=of.bounded)
    site = run.site(node)
    if site not in of.fact(Fact.FILLED):
        run.heap.set(of.facts, Fact.FILLED, (*of.fact(Fact.FILLED), site))
    if content.rest is None and len(content.items) < 64:  # noqa: PLR2004 - more items than that are not told apart
        run.heap.set(of.fields, "items", Content((*content.items, kept)))
    else:
        run.heap.set(
            of.fields, "items", Content(content.items, kept if content.rest is None else join(content.rest, kept))
        )


def clear_sequence(run: Executor, sequence: Sequence) -> None:
    """Empty a sequence."""
    run.heap.set(sequence.fields, "items", Content())


def extend_sequence(run: Executor, sequence: Sequence, value: Value, node: p.Node, name: str) -> None:
    """Put the items of a value at a sequence's end."""
    content = containers.content_of(run, value)
    for item in content.items[:64]:
        append_item(run, sequence, item, node, name)
    if content.rest is not None:
        append_item(run, sequence, content.rest, node, name)


def mapping_method(run: Executor, of: Mapping, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:  # noqa: PLR0911 - one branch per method
    """Call a method of a dict."""
    named = [(key[1], value) for key, value in of.fields.items() if isinstance(key, tuple)]
    rest = of.fields.get("rest")
    if name == "items":
        pairs = tuple(Sequence("tuple", Content((Const(key), value))) for key, value in named)
        return Sequence("list", Content(pairs, None if rest is None else Sequence("tuple", Content((Plain(), rest)))))
    if name == "values":
        return Sequence("list", Content(tuple(value for _, value in named), rest))
    if name == "keys":
        return Sequence("list", Content(tuple(Const(key) for key, _ in named), None if rest is None else Plain()))
    if name in ("get", "pop", "setdefault", "__getitem__"):
        key = args[0] if args else NOTHING
        if isinstance(key, Const):
            found = of.fields.get(("key", key.value))
            if isinstance(found, Value):
                return run.resolve(found)
            default = args[1] if len(args) > 1 else NOTHING
            if name == "setdefault":
                run.heap.set(of.fields, ("key", key.value), default)
            return default if rest is None else join(rest, default)
        chosen = containers.chosen(run, of, key)
        everything = of.values()
        return chosen or (summary(everything) if everything else Unknown())
    if name == "update":
        for value in args:
            if isinstance(value, Mapping):
                for key_, item in value.fields.items():
                    run.heap.set(of.fields, key_, item)
            else:
                run.heap.set(of.fields, "rest", Unknown(value.flow, held((value,))))
        for key_, item in keywords.items():
            run.heap.set(of.fields, ("key", key_), item)
        return NOTHING
    if name == "clear":
        for key_ in list(of.fields):
            run.heap.drop(of.fields, key_)
        return NOTHING
    if name in ("copy", "to", "cuda"):
        copy: Mapping = run.own(Mapping(run.site(node)))
        copy.fields.update(of.fields)
        return copy
    return Plain()
