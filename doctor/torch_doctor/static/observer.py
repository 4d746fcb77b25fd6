"""What only watches a run and writes events: one class each, which the run tells what happens by a handful of hooks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from torch_doctor.static.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from torch_doctor.static.values import Value
    from torch_doctor.trace import Event

HOOKS: Final = {
    "calling": "(run, func, call): a call in the source begins; its arguments are evaluated",
    "called": "(run, func, call, result): a call in the source has returned",
    "invoked": "(run, func, call): something is called, by the source or by what the source calls",
    "read": "(run, value, name, node): an attribute of a value is taken",
    "named": "(run, value, node): something of a library is named",
    "computed": "(run, op, operands, node): an operator is applied, one that compares too",
    "operated": "(run, op, operands, result, node): and has given this, where it is a tensor",
    "lossed": "(run, values, node): a loss gets its input and its target",
    "backward": "(run, loss, call): gradients are computed",
    "tested": "(run, value): something decides a branch",
    "branching": "(run, node): an `if`, or a conditional expression, has its test, and goes one way or both",
    "branched": "(run, node): and all that it takes have been executed",
    "returned": "(run, function): a function of the project has returned",
    "handed_back": "(run, value, function): a function whose callers are out of sight has returned this",
    "shown": "(run, values, node): values become part of a text",
    "assigned": "(run, node, value): an assignment has its value, and its targets get it next",
    "attribute_set": "(run, holder, target, value, node): an attribute is assigned",
    "item_set": "(run, holder, key, value, node): an item is assigned",
    "stated": "(run, node, value): an expression stands on its own as a statement",
    "opened": "(run, context, node): a `with` goes into a context",
    "closed": "(run, context, node): and comes out of it",
    "built": "(run, thing, call): a module or a loader is built",
    "entered": "(run, module, call): a module is called, and its forward begins",
    "left": "(run, module, call, result): the forward of a module has returned",
    "made": "(run, name, call, result): a function of torch, a method or an index makes something of a tensor, the first argument",
    "comprehended": "(run, node, items, exact): a comprehension has collected its elements",
    "registered": "(run, module, name, values, node): a module gets these as an attribute or, without a name, as members",
    "changed": "(run, value, call): the numbers of a value change in place; an assignment is the call of a method, too",
}
"""What an observer can be told: the names of its methods, each with what it gets and when."""
OF_A_VALUE: Final = frozenset(("calling", "called", "invoked", "read"))
"""Those that are about one value, which comes after the run: what is called, or whose attribute is taken."""


class Observer(Knowledge):
    """Watches a run, and writes events of the classes in `writes`. It changes no value.

    Its methods that are called as one of the `HOOKS` are told what happens; its fields are its own, and are fresh in every
    run. An observer of which no selected rule reads an event is not there.

    A method for one of the hooks `OF_A_VALUE` is called for values of the classes that the definition of the class gives
    under its name, `class Names(Observer, called=(Lib,))`; where it gives none, for all.
    """

    writes: ClassVar[tuple[type[Event], ...]]
    about: ClassVar[Mapping[str, tuple[type[Value], ...]]]
    listens: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **about: tuple[type[Value], ...]) -> None:
        super().__init_subclass__()
        cls.about = about
        cls.listens = tuple(hook for hook in HOOKS if hasattr(cls, hook))
        if hasattr(cls, "writes"):
            _OBSERVERS.append(cls)


_OBSERVERS: list[type[Observer]] = []


@cache
def observers() -> tuple[type[Observer], ...]:
    """All observers, in the order of their modules; asked only once all are there."""
    return tuple(sorted(_OBSERVERS, key=lambda each: (each.__module__, each.__name__)))


class ByClass(dict[type, "tuple[Callable[..., None], ...]"]):
    """The methods that listen to one hook, by the class of the value that it is about."""

    def __init__(self, listening: list[tuple[Callable[..., None], tuple[type[Value], ...] | None]]) -> None:
        super().__init__()
        self._listening = listening

    def __missing__(self, cls: type) -> tuple[Callable[..., None], ...]:
        """Those for a class that was not asked for before."""
        methods = (method for method, about in self._listening if about is None or issubclass(cls, about))
        self[cls] = found = tuple(methods)
        return found


class Hooks:
    """Whom a run tells what happens: for each hook, the methods that listen."""

    __slots__ = tuple(HOOKS)

    calling: ByClass
    called: ByClass
    invoked: ByClass
    read: ByClass
    named: tuple[Callable[..., None], ...]
    computed: tuple[Callable[..., None], ...]
    operated: tuple[Callable[..., None], ...]
    lossed: tuple[Callable[..., None], ...]
    backward: tuple[Callable[..., None], ...]
    tested: tuple[Callable[..., None], ...]
    branching: tuple[Callable[..., None], ...]
    branched: tuple[Callable[..., None], ...]
    returned: tuple[Callable[..., None], ...]
    handed_back: tuple[Callable[..., None], ...]
    shown: tuple[Callable[..., None], ...]
    assigned: tuple[Callable[..., None], ...]
    attribute_set: tuple[Callable[..., None], ...]
    item_set: tuple[Callable[..., None], ...]
    stated: tuple[Callable[..., None], ...]
    opened: tuple[Callable[..., None], ...]
    closed: tuple[Callable[..., None], ...]
    built: tuple[Callable[..., None], ...]
    entered: tuple[Callable[..., None], ...]
    left: tuple[Callable[..., None], ...]
    made: tuple[Callable[..., None], ...]
    comprehended: tuple[Callable[..., None], ...]
    registered: tuple[Callable[..., None], ...]
    changed: tuple[Callable[..., None], ...]

    def __init__(self, watching: Iterable[Observer]) -> None:
        listening: dict[str, list[Callable[..., None]]] = {hook: [] for hook in HOOKS}
        of_a_value: dict[str, list[Any]] = {hook: [] for hook in OF_A_VALUE}
        for each in watching:
            for hook in each.listens:
                method = getattr(each, hook)
                if hook in OF_A_VALUE:
                    of_a_value[hook].append((method, each.about.get(hook)))
                else:
                    listening[hook].append(method)
        for hook, methods in listening.items():
            setattr(self, hook, ByClass(of_a_value[hook]) if hook in OF_A_VALUE else tuple(methods))
