"""Where an execution stands: in which function, on which path, in which loops and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor.static.knowledge import overriding
from torch_doctor.trace import Guards, Scope, ScopeKind

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from torch_doctor.static import program as p
    from torch_doctor.static.landing import Landing
    from torch_doctor.static.values import FunctionValue, Module, Object, Symbol
    from torch_doctor.static.values.functions import Frame
    from torch_doctor.trace import Event, Site


class Branch(Struct, frozen=True):
    """An `if` that the execution is within: in which frame it stands, and how many loops are around it."""

    node: p.If
    frame: Frame
    loop_depth: int


class Position:
    """One place in an execution; saved and restored as a whole.

    `frame` has the variables, `scope` is what events are written under. `assumed` are the tests that the current path has
    decided, `guards` the same in the numbers of the trace. `iteration` and `loop` are where `continue` and `break` go.
    `fork_depth` and `loop_depth` count the undecided branches and the loops around, `branches` are the `if` statements,
    decided ones too, innermost last. `stack` are the project's functions, `modules_called`
    the modules and `building` the objects under construction that the execution is within, outermost first. `importing`
    counts the imports around. `passing`: calls of the project's functions are not entered. `again` are the iterations around
    what is done several times in the same way, as a comprehension does that has no use for its items; None elsewhere.
    `share` is the part of the steps that a call keeps for what comes after it; 0 within such a call. Objects with smaller numbers
    than `loop_began` were there before the innermost loop of which nobody knows how many passes it has.
    """

    def __init__(self, frame: Frame, site: Site) -> None:
        self.frame = frame
        self.scope = Scope(kind=ScopeKind.ROOT, site=site)
        self.assumed: dict[Symbol, bool] = {}
        self.guards: Guards = frozenset()
        self.iteration: Landing | None = None
        self.loop: Landing | None = None
        self.fork_depth = 0
        self.branches: tuple[Branch, ...] = ()
        self.loop_depth = 0
        self.stack: tuple[FunctionValue, ...] = ()
        self.modules_called: tuple[Module, ...] = ()
        self.building: tuple[Object, ...] = ()
        self.importing = 0
        self.passing = False
        self.again: tuple[Scope, ...] | None = None
        self.share = 0.0
        self.loop_began = 0

    def moved(self, **changes: Any) -> Self:
        """A position that differs in these."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other


class Positioned:
    """What has a position, and shows its parts."""

    position: Position

    def override(self, **fields: Any) -> AbstractContextManager[None]:
        """Parts of the position have other values within, and those that they had again behind, however it ends."""
        return overriding(self.position, fields)

    def at(self, position: Position) -> AbstractContextManager[None]:
        """What is executed within is executed at another position."""
        return overriding(self, {"position": position})

    @property
    def frame(self) -> Frame:
        """The variables of the function that is being executed."""
        return self.position.frame

    @property
    def scope(self) -> Scope:
        """What events are written under."""
        return self.position.scope

    @property
    def assumed(self) -> dict[Symbol, bool]:
        """The tests that the current path has decided."""
        return self.position.assumed

    @property
    def guards(self) -> Guards:
        """The same, in the numbers of the trace."""
        return self.position.guards

    @property
    def iteration(self) -> Landing | None:
        """Where `continue` goes."""
        return self.position.iteration

    @property
    def loop(self) -> Landing | None:
        """Where `break` goes."""
        return self.position.loop

    @property
    def fork_depth(self) -> int:
        """The branches around."""
        return self.position.fork_depth

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The `if` statements around, decided ones too, innermost last."""
        return self.position.branches

    @property
    def loop_depth(self) -> int:
        """The loops around."""
        return self.position.loop_depth

    @property
    def stack(self) -> tuple[FunctionValue, ...]:
        """The project's functions around, outermost first."""
        return self.position.stack

    @property
    def modules_called(self) -> tuple[Module, ...]:
        """The modules that are being called, outermost first."""
        return self.position.modules_called

    @property
    def building(self) -> tuple[Object, ...]:
        """The objects under construction, outermost first."""
        return self.position.building

    def may_have_happened(self, event: Event) -> bool:
        """Whether an event of this run is no other arm's."""
        return not any((branch, not arm) in self.guards for branch, arm in event.guards)
