"""Functions that compute once: `functools.cache` and its like hand out again what they returned for equal arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_path
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Call, Const, FunctionValue, Lib, Method, Object, Value

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from torch_doctor.static.run import Run

_DECORATORS = frozenset(
    (
        "functools.cache",
        "functools.lru_cache",
        "functools.cached_property",
        "cachetools.cached",
        "streamlit.cache",
        "streamlit.cache_data",
        "streamlit.cache_resource",
        "joblib.Memory.cache",
    )
)
"""What keeps the results of a function by its arguments, for the whole run; by itself and called with settings."""


class Memoized(Knowledge):
    """What functions that compute once have returned, by the function and its arguments."""

    values: MutableMapping[object, Value] = per_path(dict, agreed=True)


def keeps(run: Run, applied: Value, decorator: p.Expr) -> bool:
    """Whether a decorator keeps what a function returns."""
    made_by = run.resolve(run.evaluate(decorator.func)) if isinstance(decorator, p.Call) else applied
    return any(_name(each) in _DECORATORS for each in (applied, made_by))


def _name(value: Value) -> str:
    """The canonical name of what a library has, or of a method of what it made."""
    if isinstance(value, Method):
        return f"{_name(value.of)}.{value.name}"
    name = getattr(value, "name", None)
    return canonical(name) if isinstance(name, str) and isinstance(value, (Lib, Object)) else ""


def called(run: Run, function: FunctionValue, call: Call, compute: Callable[[], Value]) -> Value:
    """What a function returns that may have been called before."""
    known = run.of(Memoized).values
    key = _key(function, call)
    kept = known.get(key)
    if kept is not None:
        return run.resolve(kept)
    result = compute()
    known[key] = result
    return result


def _key(function: FunctionValue, call: Call) -> object:
    """What is equal where a function is called with equal arguments, as far as they are known."""
    given = [*enumerate(call.args), *sorted(call.keywords.items())]
    return (function.node, function.closure, tuple((name, _same(value)) for name, value in given))


def _same(value: Value) -> object:
    """What stands for an argument: two that are not known are never the same."""
    if isinstance(value, Const):
        return (type(value.value).__name__, repr(value.value))
    return value.id if isinstance(value, Object) else value
