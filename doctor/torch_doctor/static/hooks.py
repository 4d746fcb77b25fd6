"""Whom a run tells what happens: for each hook, the methods of the observers that listen to it."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from torch_doctor.static.observer import HOOKS, OF_A_VALUE, OF_AN_OPERATION, Named
from torch_doctor.static.values import Bound, Lib, Method, Module, Tool, UnknownAttribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from torch_doctor.static import program as p
    from torch_doctor.static.observer import AnyRun, Names, Observer
    from torch_doctor.static.values import Call, FunctionValue, Object, Value

K = TypeVar("K")
M = TypeVar("M")

_NAMES: Final[dict[type[Value], Callable[[Any], str]]] = {
    Lib: attrgetter("name"),
    Method: attrgetter("name"),
    UnknownAttribute: attrgetter("name"),
    Tool: attrgetter("name"),
    Module: attrgetter("layer"),
    Bound: attrgetter("function.node.name"),
}


class _Naming(dict[type, "Callable[[Any], str] | None"]):
    """How to name a value, by its class."""

    def __missing__(self, cls: type) -> Callable[[Any], str] | None:
        self[cls] = found = next((naming for named, naming in _NAMES.items() if issubclass(cls, named)), None)
        return found


_NAMING: Final = _Naming()


def key_of(value: Value) -> tuple[type, str]:
    """The class and the name under which the methods for what is called are found."""
    cls = value.__class__
    naming = _NAMING[cls]
    return cls, "" if naming is None else naming(value)


class _Chosen(dict[Any, "tuple[int, ...]"]):
    """Which of the observers that listen to a hook are told, by what it is about."""

    def __init__(self, hook: str, listening: Iterable[type[Observer]]) -> None:
        super().__init__()
        self._about = [each.about.get(hook) for each in listening]
        self._of_class: dict[type, list[tuple[int, Names | None]]] = {}

    def __missing__(self, key: tuple[type, str] | str) -> tuple[int, ...]:
        """Those for what was not asked for before."""
        if isinstance(key, str):
            told = [index for index, names in enumerate(self._about) if names is None or _is_one(names, key)]
        else:
            cls, name = key
            if cls not in self._of_class:
                self._of_class[cls] = [
                    each for index, about in enumerate(self._about) for each in _for(cls, index, about)
                ]
            told = [index for index, names in self._of_class[cls] if names is None or _is_one(names, name)]
        self[key] = found = tuple(dict.fromkeys(told))
        return found


def _for(cls: type, index: int, about: Any) -> Iterator[tuple[int, Names | None]]:
    """What an observer wants of the values of a class, with its index: those with some names, or all."""
    if about is None:
        yield index, None
    for each in about or ():
        wanted, names = each if isinstance(each, Named) else (each, None)
        if issubclass(cls, wanted):
            yield index, names


@cache
def _chosen(hook: str, listening: tuple[type[Observer], ...]) -> _Chosen:
    return _Chosen(hook, listening)


def _is_one(names: Any, name: str) -> bool:
    return name in names if isinstance(names, Container) else names(name)


class Listening(dict[K, "tuple[M, ...]"], Generic[K, M]):
    """The methods that listen to one hook, by what it is about: the class and the name of a value, or an operation."""

    def __init__(self, hook: str, listening: tuple[Observer, ...]) -> None:
        super().__init__()
        self._methods: list[M] = [getattr(each, hook) for each in listening]
        self._chosen = _chosen(hook, tuple(map(type, listening)))

    def __missing__(self, key: K) -> tuple[M, ...]:
        """Those for what was not asked for before in this run."""
        self[key] = found = tuple([self._methods[index] for index in self._chosen[key]])
        return found


class Hooks:
    """Whom a run tells what happens: for each hook, the methods that listen."""

    __slots__ = HOOKS

    calling: Listening[tuple[type, str], Callable[[AnyRun, Value, Call], None]]
    called: Listening[tuple[type, str], Callable[[AnyRun, Value, Call, Value], None]]
    invoked: Listening[tuple[type, str], Callable[[AnyRun, Value, Call], None]]
    read: Listening[tuple[type, str], Callable[[AnyRun, Value, str, p.Node], None]]
    named: Listening[tuple[type, str], Callable[[AnyRun, Value, p.Expr], None]]
    computed: Listening[str, Callable[[AnyRun, str, tuple[Value, ...], p.Node], None]]
    operated: Listening[str, Callable[[AnyRun, str, tuple[Value, ...], Value, p.Node], None]]
    lossed: tuple[Callable[[AnyRun, tuple[Value, ...], p.Node], None], ...]
    backward: tuple[Callable[[AnyRun, Value, Call], None], ...]
    tested: tuple[Callable[[AnyRun, Value], None], ...]
    branching: tuple[Callable[[AnyRun, p.If | p.Choice], None], ...]
    branched: tuple[Callable[[AnyRun, p.If | p.Choice], None], ...]
    returned: tuple[Callable[[AnyRun, FunctionValue], None], ...]
    handed_back: tuple[Callable[[AnyRun, Value, p.Node], None], ...]
    shown: tuple[Callable[[AnyRun, tuple[Value, ...], p.Node], None], ...]
    assigned: tuple[Callable[[AnyRun, p.Assign, Value], None], ...]
    bound: tuple[Callable[[AnyRun, p.Name, Value], None], ...]
    given: tuple[Callable[[AnyRun, FunctionValue, Mapping[object, Value]], None], ...]
    attribute_set: tuple[Callable[[AnyRun, Value, p.Attribute, Value, p.Node], None], ...]
    item_set: tuple[Callable[[AnyRun, Value, Value, Value, p.Node], None], ...]
    stated: tuple[Callable[[AnyRun, p.Expr, Value], None], ...]
    opened: tuple[Callable[[AnyRun, Value, p.Expr], None], ...]
    closed: tuple[Callable[[AnyRun, Value, p.Expr], None], ...]
    built: tuple[Callable[[AnyRun, Object, Call], None], ...]
    entered: tuple[Callable[[AnyRun, Module, Call], None], ...]
    left: tuple[Callable[[AnyRun, Module, Call, Value], None], ...]
    made: Listening[str, Callable[[AnyRun, str, Call, Value], None]]
    comprehended: tuple[Callable[[AnyRun, p.Comprehension, list[Value], bool], None], ...]
    registered: tuple[Callable[[AnyRun, Module, str, tuple[Value, ...], p.Node], None], ...]
    changed: tuple[Callable[[AnyRun, Value, Call], None], ...]

    def __init__(self, watching: Iterable[Observer]) -> None:
        watching = tuple(watching)
        for hook in HOOKS:
            listening = tuple([each for each in watching if hook in each.listens])
            about = hook in OF_A_VALUE or hook in OF_AN_OPERATION
            setattr(
                self, hook, Listening(hook, listening) if about else tuple([getattr(each, hook) for each in listening])
            )
