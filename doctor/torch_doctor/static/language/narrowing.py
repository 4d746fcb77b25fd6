"""What a test of something's class tells of it, in each arm of the branch."""

from __future__ import annotations

import builtins
import collections.abc
import numbers
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.tables import layers, libraries, losses
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.module.module_parts import some
from torch_doctor.static.values import (
    ClassValue,
    Const,
    Either,
    Instance,
    Lib,
    Mapping,
    Module,
    Object,
    ParameterValue,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
    compound,
    either,
    fresh_symbol,
    held,
    symbol_of,
)
from torch_doctor.static.values.joining import MAX_OPTIONS

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


def asked(run: Run, value: Value, cls: Value, node: p.Node) -> Value:
    """`isinstance(value, cls)`: its outcome; what was asked about is narrowed by it."""
    outcome = is_instance(run, value, cls)
    if isinstance(value, Either) and isinstance(outcome, Plain):
        known = deciding(value, [is_instance(run, option, cls) for _, option in value.options])
        if known is not None:
            return known
    if _may_be_tensors(cls):
        to_tensor(run, value, outcome, node)
    elif isinstance(value, Either) and isinstance(outcome, Plain):
        _to_options(run, value, cls, outcome.symbol, node)
    return outcome


def _may_be_tensors(cls: Value) -> bool:
    """Whether a class is that of tensors, or one that nobody can look at and that may be."""
    if not isinstance(cls, Lib):
        return isinstance(cls, Unknown)
    return canonical(cls.name) == "torch.Tensor" or not libraries.heard_of(cls.name)


def deciding(value: Either, answers: list[Value]) -> Plain | None:
    """The test that led to the options, where it decides what is asked of them now: its outcome is the answer."""
    answered = [bool(answer.value) if isinstance(answer, Const) else None for answer in answers]
    if None in answered or len(set(answered)) == 1:
        return None
    first = answered[0]
    for symbol, arm in value.options[0][0]:
        chosen = [(symbol, arm if answer is first else not arm) for answer in answered]
        if all(fact in facts for fact, (facts, _) in zip(chosen, value.options, strict=True)):
            return Plain(symbol if arm is first else ("not", symbol))
    return None


def to_tensor(run: Run, value: Value, outcome: Value, node: p.Node) -> None:
    """Something was asked whether it is a tensor: where it is not, its name stands for something without a graph."""
    if not isinstance(outcome, Plain) or not isinstance(value, (Unknown, Either)):
        return
    holder, name = _place(run, node)
    if holder is not None and (value.flow.forwards or value.flow.graph):
        yes, no = (frozenset({(outcome.symbol, arm)}) for arm in (True, False))
        options = value.options if isinstance(value, Either) else ((frozenset[tuple[Symbol, bool]](), value),)
        tensors = tuple((facts | yes, option) for facts, option in options)
        if len(tensors) >= MAX_OPTIONS:  # the number must stay apart
            tensors = ((yes, Unknown(value.flow, held((value,)))),)
        run.heap.set(holder.fields, name, either((*tensors, (no, Plain()))))


def _to_options(run: Run, value: Either, cls: Value, symbol: Symbol, node: p.Node) -> None:
    """One of a few values was asked for its class: in each arm only those are left that fit the answer."""
    holder, name = _place(run, node)
    if holder is None:
        return
    answers = [is_instance(run, option, cls) for _, option in value.options]
    if not any(isinstance(answer, Const) for answer in answers):
        return
    options = []
    for (facts, option), answer in zip(value.options, answers, strict=True):
        fact = frozenset({(symbol, bool(answer.value))} if isinstance(answer, Const) else ())
        options.append((facts | fact, option))
    run.heap.set(holder.fields, name, either(options))


def _place(run: Run, node: p.Node) -> tuple[Object | None, Any]:
    """Where the first argument of a call is kept: what has it as a variable, an attribute or an item, and under which key."""
    argument = node.args[0] if isinstance(node, p.Call) and node.args else None
    if isinstance(argument, p.Name):
        return run.frame.holder(argument.id), argument.id
    if isinstance(argument, p.Attribute) and isinstance(argument.value, p.Name):
        owner = run.resolve(run.evaluate(argument.value))
        if isinstance(owner, (Instance, Module)) and argument.name in owner.fields:
            return owner, argument.name
    if isinstance(argument, p.Index) and isinstance(argument.key, p.Const):
        owner, key = run.resolve(run.evaluate(argument.value)), ("key", argument.key.value)
        if isinstance(owner, Mapping) and key in owner.fields:
            return owner, key
    return None, ""


def is_instance(run: Run, value: Value, cls: Value) -> Value:
    """The outcome of `isinstance(value, cls)`."""
    options = cls.content.items if isinstance(cls, Sequence) else (cls,)
    names = [*dict.fromkeys(_class_name(option) if isinstance(option, Lib) else "" for option in options)]
    if isinstance(value, Either):
        outcomes = [is_instance(run, option, cls) for _, option in value.options]
        decided = {outcome.value if isinstance(outcome, Const) else None for outcome in outcomes}
        if len(decided) == 1 and None not in decided:
            return outcomes[0]
    if isinstance(value, (Instance, Module)) and value.cls is not None:
        mro = value.cls.mro()
        libs = [canonical(base.name) for base in mro if isinstance(base, Lib)]
        if any(option in mro for option in options if isinstance(option, ClassValue)) or any(
            n in libs for n in names if n
        ):
            return Const(value=True)
        return Plain() if value.cls.opaque_base() else Const(value=False)
    if isinstance(value, Module) and value.layer:
        if value.layer in names or "torch.nn.Module" in names:
            return Const(value=True)
        if is_known(value.layer) and all(map(_is_another, options)):
            return Const(value=False)
    if isinstance(value, Module) and "torch.nn.Module" in names:
        return Const(value=True)
    kind = _python_class(value)
    answer = None if kind is None or not names else some(_derives(kind, option) for option in options)
    if answer is not None:
        return Const(answer)
    if isinstance(value, Tensor) and "torch.Tensor" in names:
        return Const(value=True)
    if isinstance(value, Tensor) and names and all(n.startswith("builtins.") and n != "builtins.object" for n in names):
        return Const(value=False)
    if isinstance(value, ParameterValue) and value.declared and {"torch.Tensor", "torch.nn.Parameter"} & set(names):
        return Const(value=True)
    return Plain(("isinstance", _symbol_of(value), *names))


def _class_name(cls: Lib) -> str:
    """The name of a library's class; each tensor is an instance of `Variable`."""
    name = canonical(cls.name)
    return "torch.Tensor" if name == "torch.autograd.Variable" else name


def _python_class(value: Value) -> type | None:
    """The class of Python's that a value is of, where it is of one for certain."""
    if isinstance(value, Sequence):
        return {"list": list, "tuple": tuple, "set": set}.get(value.kind)
    return dict if isinstance(value, Mapping) else type(value.value) if isinstance(value, Const) else None


def _derives(kind: type, cls: Value) -> Tri:
    """Whether a class of Python's derives from another, or counts as one of its kind; None where nobody knows."""
    if not isinstance(cls, Lib):
        return False if isinstance(cls, ClassValue) else None
    name = canonical(cls.name)
    module, _, last = name.rpartition(".")
    if module in ("collections", "collections.abc", "typing"):
        found = getattr(collections.abc, last, None) or getattr(collections, last, None)
    elif module in ("builtins", "numbers"):
        found = getattr(builtins if module == "builtins" else numbers, last, None)
    else:
        return None if kind is tuple and name == "torch.Size" else False
    if not isinstance(found, type) or (kind is dict and found is not dict and issubclass(found, dict)):
        return None  # an `OrderedDict` is made as any dict is
    return issubclass(kind, found)


def type_of(value: Value) -> Value:
    """`type(value)`."""
    if isinstance(value, (Instance, Module)) and value.cls is not None:
        return value.cls
    if isinstance(value, Module) and is_known(value.layer):
        return Lib(value.layer)
    if isinstance(value, Sequence):
        return Lib(f"builtins.{value.kind}")
    return Lib("torch.Tensor") if isinstance(value, Tensor) else Plain()


def is_known(layer: str) -> bool:
    """Whether a name is that of a layer, container or loss of torch."""
    return layer in layers.LAYERS or layer in layers.CONTAINERS or layer in losses.LOSSES


def _is_another(cls: Value) -> bool:
    """Whether a class is none that torch's own modules have for a base, unless it is that module itself."""
    if not isinstance(cls, Lib):
        return isinstance(cls, ClassValue)
    name = canonical(cls.name)
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn."):
        return not last.startswith("_") and not last.endswith("Base")  # _BatchNorm, _Loss, RNNBase
    return not name.startswith(("collections.", "typing."))


def _symbol_of(value: Value) -> Symbol:
    if isinstance(value, Either) and all(isinstance(option, Object) for _, option in value.options):
        return compound("one of", *(symbol_of(option) for _, option in value.options))
    return value.symbol if isinstance(value, (Plain, Unknown)) else fresh_symbol()
