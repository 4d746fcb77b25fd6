"""What comparisons and tests give, as far as the values themselves tell."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

from torch_doctor.static.language import narrowing
from torch_doctor.static.language.shape_items import sizes_of
from torch_doctor.static.measuring.arguments import dtype_of
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.shapes import DTYPES
from torch_doctor.static.values import (
    COUNTER,
    Autocast,
    ClassValue,
    Const,
    Context,
    Default,
    Either,
    FunctionValue,
    Grads,
    Instance,
    Lib,
    Mapping,
    Module,
    Object,
    OneOfTexts,
    Optimizer,
    Params,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Value,
)
from torch_doctor.static.values.shapes import is_floating
from torch_doctor.static.values.symbols import statistic_in

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: left is right or left == right,
    "in": lambda left, right: left in right,
}
_NAMED = (FunctionValue, ClassValue)
_NAMES = {
    "torch.Tensor": "tensor",
    "torch.autograd.Variable": "tensor",
    **{f"builtins.{name}": name for name in ("list", "tuple", "set", "dict")},
    **{name: dtype for name, dtype in DTYPES.items() if not name.endswith("Tensor")},
}
"""Types and dtypes that are told apart where one is compared."""
_FIRST_PASS = {("==", 0): True, ("<=", 0): True, ("<", 1): True, (">", 0): False, (">=", 1): False}
"""Comparisons of a loop's counter that tell its first pass (True) or the later ones (False)."""


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true; None when that is not known."""
    if isinstance(value, Const):
        return None if isinstance(value, Default) else bool(value.value)
    if isinstance(value, Sequence):
        content = value.content
        return True if content.items else False if content.rest is None else None
    if isinstance(value, Mapping):
        return True if value.fields else None
    if isinstance(value, Either):
        found = {truth_of(option) for _, option in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Lib):
        return None if _may_be_setting(value.name) else True
    if isinstance(value, (Autocast, Context, FunctionValue, Object)):
        return True
    if (sizes := sizes_of(value)) is not None:
        return bool(sizes)
    first = _is_first(value)
    return None if first is None else not first


def decided_truth(value: Value) -> Plain | None:
    """The test that chose among a few values, where it decides which of them count as true."""
    if not isinstance(value, Either):
        return None
    return narrowing.deciding(value, [_as_value(truth_of(option)) for _, option in value.options])


def compared(op: str, left: Value, right: Value) -> Value | None:
    """What a comparison gives: a constant, or the test that chose among a few values; None where nobody knows."""
    for one, other in ((left, right), (right, left)) if op in ("is", "==") else ((left, right),):
        if isinstance(one, Either) and isinstance(other, (Const, Lib, *_NAMED)):
            answers = [_outcome(op, option, other) for _, option in one.options]
            if None not in answers and len(set(answers)) == 1:
                return Const(answers[0])
            if (decided := narrowing.deciding(one, [_as_value(answer) for answer in answers])) is not None:
                return decided
    known = _outcome(op, left, right)
    return None if known is None else Const(known)


def _as_value(known: bool | None) -> Value:  # noqa: FBT001 - an answer
    return Plain() if known is None else Const(known)


def _outcome(op: str, left: Value, right: Value) -> bool | None:
    """What a comparison of two values gives; what the user may choose is not decided."""
    if isinstance(left, Default) or isinstance(right, Default):
        return None
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return bool(_COMPARE[op](left.value, right.value))
        except (TypeError, ValueError):
            return None
    if isinstance(right, OneOfTexts) and op == "==":
        left, right = right, left
    if isinstance(left, OneOfTexts) and isinstance(right, Const):
        return left.answer(lambda text: bool(_outcome(op, Const(text), right)))
    if op == "in" and isinstance(left, Const) and isinstance(right, OneOfTexts):
        return right.answer(lambda text: bool(_outcome(op, left, Const(text))))
    if op == "in":
        return _contains(left, right) if isinstance(left, Const) else None
    if isinstance(right, Const):
        return _with_constant(op, left, right.value)
    if op not in ("is", "=="):
        return None
    if isinstance(left, Plain) or isinstance(right, Plain):
        return _is_dtype(left, right)
    if isinstance(left, Lib) and isinstance(right, Lib):
        names = [_NAMES.get(canonical(value.name)) for value in (left, right)]
        if None not in names:
            return names[0] == names[1]
    if not _names_one_thing(right):
        left, right = right, left
    return _is_named(left, right) if _names_one_thing(right) and not isinstance(left, Either) else None


def _is_dtype(left: Value, right: Value) -> bool | None:
    """Whether a tensor has a dtype, where both are known; how precise floating numbers are may change under autocast."""
    one, other = dtype_of(left), dtype_of(right)
    if not one or not other or (is_floating(one) and is_floating(other)):
        return None
    return one == other


def _with_constant(op: str, left: Value, right: object) -> bool | None:
    first = _is_first(left)
    if first is not None and right in (0, 1) and (op, right) in _FIRST_PASS:
        return first is _FIRST_PASS[op, right]
    return False if op in ("is", "==") and right is None and _never_none(left) else None


def _is_first(value: Value) -> bool | None:
    """Whether a loop's counter stands at 0; None for any other value."""
    if isinstance(value, Plain) and value.symbol[0] == COUNTER:
        first: bool | None = value.symbol[1]
        return first
    return None


def _names_one_thing(value: Value) -> bool:
    """Whether it is a function or a class of the project, or one of torch that no other name repeats with other contents."""
    if isinstance(value, Lib):
        return canonical(value.name).startswith(("torch.nn.", "torch.optim."))
    return isinstance(value, _NAMED)


def _is_named(value: Value, named: Value) -> bool | None:
    """Whether something is a certain function or class, as far as its sort tells."""
    if isinstance(value, Lib) and isinstance(named, Lib):
        if value.name == named.name:
            return True
        return False if _names_one_thing(value) and canonical(value.name) != canonical(named.name) else None
    if isinstance(value, _NAMED):
        return value is named or getattr(value, "node", None) is getattr(named, "node", named)
    return False if isinstance(value, (Const, Module, Instance, Lib)) else None


def _contains(item: Const, holder: Value) -> bool | None:
    if isinstance(holder, Sequence):
        content = holder.content
        if content.rest is None and all(isinstance(value, Const) for value in content.items):
            return any(isinstance(value, Const) and value.value == item.value for value in content.items)
    if isinstance(holder, Mapping) and "rest" not in holder.fields and ("key", item.value) in holder.fields:
        return True
    return None


def _never_none(value: Value) -> bool:
    if isinstance(value, Either):
        return all(_never_none(option) for _, option in value.options)
    if isinstance(value, Plain):
        return statistic_in(value.symbol) is not None
    return isinstance(value, (Object, Tensor, Params, Grads, FunctionValue, ClassValue, Tool, Optimizer, Lib))


def _may_be_setting(name: str) -> bool:
    """Whether the name of a package that nobody knows may stand for a setting: it is no package itself, and no class."""
    first, _, rest = name.partition(".")
    known = first in ("torch", "builtins") or first in sys.stdlib_module_names
    return bool(rest) and not known and not rest.rpartition(".")[2][:1].isupper()
