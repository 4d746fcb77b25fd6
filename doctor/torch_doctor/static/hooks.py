"""Whom a run tells what happens: for each hook, the methods of the observers that listen to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torch_doctor.static.observer import HOOKS, OF_A_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.observer import AnyRun, Observer
    from torch_doctor.static.values import Call, FunctionValue, Module, Object, Value

M = TypeVar("M")


class ByClass(dict[type, "tuple[M, ...]"], Generic[M]):
    """The methods that listen to one hook, by the class of the value that it is about."""

    def __init__(self, listening: list[tuple[M, tuple[type[Value], ...] | None]]) -> None:
        super().__init__()
        self._listening = listening

    def __missing__(self, cls: type) -> tuple[M, ...]:
        """Those for a class that was not asked for before."""
        methods = (method for method, about in self._listening if about is None or issubclass(cls, about))
        self[cls] = found = tuple(methods)
        return found


class Hooks:
    """Whom a run tells what happens: for each hook, the methods that listen."""

    __slots__ = HOOKS

    calling: ByClass[Callable[[AnyRun, Value, Call], None]]
    called: ByClass[Callable[[AnyRun, Value, Call, Value], None]]
    invoked: ByClass[Callable[[AnyRun, Value, Call], None]]
    read: ByClass[Callable[[AnyRun, Value, str, p.Node], None]]
    named: tuple[Callable[[AnyRun, Value, p.Expr], None], ...]
    computed: tuple[Callable[[AnyRun, str, tuple[Value, ...], p.Node], None], ...]
    operated: tuple[Callable[[AnyRun, str, tuple[Value, ...], Value, p.Node], None], ...]
    lossed: tuple[Callable[[AnyRun, tuple[Value, ...], p.Node], None], ...]
    backward: tuple[Callable[[AnyRun, Value, Call], None], ...]
    tested: tuple[Callable[[AnyRun, Value], None], ...]
    branching: tuple[Callable[[AnyRun, p.If | p.Choice], None], ...]
    branched: tuple[Callable[[AnyRun, p.If | p.Choice], None], ...]
    returned: tuple[Callable[[AnyRun, FunctionValue], None], ...]
    handed_back: tuple[Callable[[AnyRun, Value, p.Node], None], ...]
    shown: tuple[Callable[[AnyRun, tuple[Value, ...], p.Node], None], ...]
    assigned: tuple[Callable[[AnyRun, p.Assign, Value], None], ...]
    attribute_set: tuple[Callable[[AnyRun, Value, p.Attribute, Value, p.Node], None], ...]
    item_set: tuple[Callable[[AnyRun, Value, Value, Value, p.Node], None], ...]
    stated: tuple[Callable[[AnyRun, p.Expr, Value], None], ...]
    opened: tuple[Callable[[AnyRun, Value, p.Expr], None], ...]
    closed: tuple[Callable[[AnyRun, Value, p.Expr], None], ...]
    built: tuple[Callable[[AnyRun, Object, Call], None], ...]
    entered: tuple[Callable[[AnyRun, Module, Call], None], ...]
    left: tuple[Callable[[AnyRun, Module, Call, Value], None], ...]
    made: tuple[Callable[[AnyRun, str, Call, Value], None], ...]
    comprehended: tuple[Callable[[AnyRun, p.Comprehension, list[Value], bool], None], ...]
    registered: tuple[Callable[[AnyRun, Module, str, tuple[Value, ...], p.Node], None], ...]
    changed: tuple[Callable[[AnyRun, Value, Call], None], ...]

    def __init__(self, watching: Iterable[Observer]) -> None:
        listening: dict[str, list[Any]] = {hook: [] for hook in HOOKS}
        for each in watching:
            for hook in each.listens:
                method = getattr(each, hook)
                listening[hook].append((method, each.about.get(hook)) if hook in OF_A_VALUE else method)
        for hook, methods in listening.items():
            setattr(self, hook, ByClass(methods) if hook in OF_A_VALUE else tuple(methods))
