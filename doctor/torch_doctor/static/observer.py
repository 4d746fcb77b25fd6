"""What only watches a run and writes events: one class each, which overrides the methods of those hooks that it listens to."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from torch_doctor.static.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from typing_extensions import override as override  # noqa: PLC0414 - handed on

    from torch_doctor.static import program as p
    from torch_doctor.static.values import Call, FunctionValue, Module, Object, Value
    from torch_doctor.trace import Event
else:

    def override(method: object) -> object:
        """Mark a method as one of a hook: a type checker tells where there is no such hook."""
        return method


AnyRun: TypeAlias = Any
"""A `Run`: its module needs this one, and no two modules need each other."""
OF_A_VALUE: Final = frozenset(("calling", "called", "invoked", "read", "named"))
"""Hooks that are about one value, which comes after the run: what is called or named, or whose attribute is taken."""
OF_AN_OPERATION: Final = frozenset(("computed", "operated", "made"))
"""Hooks that are about an operation, whose name comes after the run."""
Names: TypeAlias = "Container[str] | Callable[[str], bool]"
"""The names that an observer is for: those that are in it, or for which it returns True."""


class Named(NamedTuple):
    """The values of a class with certain names.

    For `read`, that is the name of the attribute; for the other hooks, the dotted name of something of a library, the name of a
    method or of its function, the class of a layer of torch, and "" for everything else.
    """

    cls: type[Value]
    names: Names


class Observer(Knowledge):
    """Watches a run, and writes events of the classes in `writes`. It changes no value.

    Each public method is a hook: a run calls it where an observer overrides it. An observer of which no selected rule reads an
    event is not there.

    The definition of the class says what its methods are for, `class Views(Observer, called=(Module, Named(Lib, _VIEWS)),
    computed="+-")`: for the hooks `OF_A_VALUE`, classes of values, all of them or some by their names; for the hooks
    `OF_AN_OPERATION`, names. A method is called for nothing else; where nothing is said, for everything. What it is for must
    follow from the class and the name alone: it is asked once for each in a process.
    """

    writes: ClassVar[tuple[type[Event], ...]]
    about: ClassVar[Mapping[str, tuple[type[Value] | Named, ...] | Names]]
    asked_for: ClassVar[bool] = False
    """Whether it is there only for who names its events, and not for who reads all."""
    listens: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **about: tuple[type[Value] | Named, ...] | Names) -> None:
        super().__init_subclass__()
        cls.about = about
        cls.listens = tuple(hook for hook in HOOKS if getattr(cls, hook) is not getattr(Observer, hook))
        if hasattr(cls, "writes"):
            _OBSERVERS.append(cls)

    def calling(self, run: AnyRun, func: Value, call: Call) -> None:
        """A call in the source begins; its arguments are evaluated."""

    def called(self, run: AnyRun, func: Value, call: Call, result: Value) -> None:
        """A call in the source has returned."""

    def invoked(self, run: AnyRun, func: Value, call: Call) -> None:
        """Something is called, by the source or by what the source calls."""

    def read(self, run: AnyRun, value: Value, name: str, node: p.Node) -> None:
        """An attribute of a value is taken."""

    def named(self, run: AnyRun, value: Value, node: p.Expr) -> None:
        """Something of a library is named."""

    def computed(self, run: AnyRun, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """An operator is applied, one that compares too."""

    def operated(self, run: AnyRun, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """An operator has been applied, and has given a tensor."""

    def lossed(self, run: AnyRun, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss gets its input and its target."""

    def backward(self, run: AnyRun, loss: Value, call: Call) -> None:
        """Gradients are computed."""

    def tested(self, run: AnyRun, value: Value) -> None:
        """Something decides a branch."""

    def branching(self, run: AnyRun, node: p.If | p.Choice) -> None:
        """An `if`, or a conditional expression, has its test, and goes one way or both."""

    def branched(self, run: AnyRun, node: p.If | p.Choice) -> None:
        """All that an `if` or a conditional expression takes has been executed."""

    def returned(self, run: AnyRun, function: FunctionValue) -> None:
        """A function of the project has returned."""

    def handed_back(self, run: AnyRun, value: Value, function: p.Node) -> None:
        """A function whose callers are out of sight has returned this."""

    def shown(self, run: AnyRun, values: tuple[Value, ...], node: p.Node) -> None:
        """Values become part of a text."""

    def assigned(self, run: AnyRun, node: p.Assign, value: Value) -> None:
        """An assignment has its value, and its targets get it next."""

    def bound(self, run: AnyRun, target: p.Name, value: Value) -> None:
        """A variable gets a value, by an assignment or as the target of a loop."""

    def given(self, run: AnyRun, function: FunctionValue, parameters: Mapping[object, Value]) -> None:
        """A function of the project is entered, and its parameters have their values, by name."""

    def attribute_set(self, run: AnyRun, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """An attribute is assigned."""

    def item_set(self, run: AnyRun, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """An item is assigned."""

    def stated(self, run: AnyRun, node: p.Expr, value: Value) -> None:
        """An expression stands on its own as a statement."""

    def opened(self, run: AnyRun, context: Value, node: p.Expr) -> None:
        """A `with` goes into a context."""

    def closed(self, run: AnyRun, context: Value, node: p.Expr) -> None:
        """A `with` comes out of a context."""

    def built(self, run: AnyRun, thing: Object, call: Call) -> None:
        """A module or a loader is built."""

    def entered(self, run: AnyRun, module: Module, call: Call) -> None:
        """A module is called, and its forward begins."""

    def left(self, run: AnyRun, module: Module, call: Call, result: Value) -> None:
        """The forward of a module has returned."""

    def made(self, run: AnyRun, name: str, call: Call, result: Value) -> None:
        """A function of torch, a method or an index makes something of a tensor, the first argument."""

    def comprehended(self, run: AnyRun, node: p.Comprehension, items: list[Value], exact: bool) -> None:  # noqa: FBT001 - every observer gets all by position
        """A comprehension has collected its elements: all that there are, where `exact`."""

    def registered(self, run: AnyRun, module: Module, name: str, values: tuple[Value, ...], node: p.Node) -> None:
        """A module gets these as an attribute or, without a name, as members."""

    def changed(self, run: AnyRun, value: Value, call: Call) -> None:
        """The numbers of a value change in place; an assignment is the call of a method, too."""


HOOKS: Final = tuple(name for name, what in vars(Observer).items() if not name.startswith("_") and callable(what))
"""The names of the hooks."""

_OBSERVERS: list[type[Observer]] = []


@cache
def observers() -> tuple[type[Observer], ...]:
    """All observers, in the order of their modules; asked only once all are there."""
    return tuple(sorted(_OBSERVERS, key=lambda each: (each.__module__, each.__name__)))
