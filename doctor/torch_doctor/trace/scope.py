"""Loops, calls and branches: the places of a program in which events happen."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace.site import Site

Guards: TypeAlias = frozenset[tuple[int, bool]]
"""The branches an event lies behind: pairs of a branch number (into `Trace.branches`) and the arm that was taken.

An event without guards happens on every executed path. The probe writes none: what it saw, happened.
"""


class BranchKind(enum.Enum):
    """What decides a branch."""

    FLAG = "flag"  # a setting that stays as it is for the whole run
    PERIODIC = "periodic"  # every k-th iteration: `(i + 1) % k == 0`
    VERSION = "version"  # which version of torch is there
    RAISED = "raised"  # whether an exception was caught: `except ImportError:`
    MEASURE = "measure"  # which of two numbers is larger, where none of them tells processes apart: `loss < best`
    ASKED = "asked"  # what code out of sight answers to something that the script gives it: `if is_valid(batch):`
    TYPE = "type"  # of which type something unknown is: `isinstance(batch, dict)`
    MODE = "mode"  # whether a module trains, where that is not known: `if model.training:`
    UNKNOWN = "unknown"


class Formula(Struct, frozen=True):
    """A test, or a number in one, whose value follows from how often loops have gone round.

    `op` is an operator with its `parts`, or one of these: "number" (`value`), "pass" (the index of the current iteration of
    the loop with the turn `of`, counted from `value`), "counter" (what the `CounterChanged` event `of` leaves), "batches"
    (the length of the loader `of`) and "setting" (`value` by default, None if unknown).
    """

    op: str
    """What it is."""
    parts: tuple[Formula, ...] = ()
    """The operands."""
    value: float | None = None
    """The number that it is, or starts from."""
    of: int = 0
    """The loop, event, loader or setting that it is about; "pass" and "batches" of 0 are about the innermost loop of batches."""

    @property
    def period(self) -> int:
        """The largest number that something in it is divided by or compared with; 0 without one."""
        sides = [part for each in self.within() if each.op in ("%", "==", "<", "<=", ">", ">=") for part in each.parts]
        return max(
            (int(abs(part.value)) for part in sides if part.op in ("number", "setting") and part.value), default=0
        )

    def within(self) -> Iterator[Formula]:
        """Yield this formula and all in it."""
        yield self
        for part in self.parts:
            yield from part.within()


class Needs(Struct, frozen=True):
    """What options a branch needs whose test goes otherwise by default."""

    arm: bool
    """The arm that the defaults do not take."""
    words: str
    """The options that take it, as the user writes them: "`--amp`"."""
    about: str = ""
    """The option, where it is one alone."""
    exact: bool = False
    """Whether the setting says which value the option has."""
    arguments: tuple[str, ...] | None = None
    """The arguments of the command line that take the arm; None if they are not known."""


class Branch(Struct, frozen=True):
    """A decision that the static witness cannot make."""

    site: Site
    """The test."""
    kind: BranchKind
    """What decides it."""
    test: Formula | None = None
    """The test as a formula, if how often loops have gone round decides it; None otherwise."""
    needs: Needs | None = None
    """What the options have to be for the arm that their defaults do not take; None if the defaults do not decide it."""


class ScopeKind(enum.Enum):
    """What a scope is one run of."""

    ROOT = "root"  # the script, or a function that nobody in sight calls
    CALL = "call"  # a project function
    ITERATION = "iteration"  # one pass through a loop's body


class LoopKind(enum.Enum):
    """What a loop goes through, as far as it is known."""

    BATCHES = "batches"  # a data loader (or what is used as one)
    PLAIN = "plain"
    COUNTED = "counted"  # a few items that are all known: what it leaves does not grow


class Scope(Struct, frozen=True, eq=False):
    """One execution of a script, a function or the body of a loop."""

    kind: ScopeKind
    """What is executed."""
    site: Site
    """The place: for an iteration, the header of the loop."""
    parent: Scope | None = None
    """The scope that contains it; None for the outermost."""
    name: str = ""
    """The name of the function."""
    loop: int = 0
    """The execution of the loop that an iteration belongs to; the next execution has another number."""
    number: int = 0
    """The number of the iteration, from 1."""
    loop_kind: LoopKind = LoopKind.PLAIN
    """What the loop iterates over."""
    called_at: Site | None = None
    """The call of the function."""
    _iterations: tuple[Scope, ...] | None = None

    def __reduce__(self) -> tuple[type[Scope], tuple[object, ...]]:
        """It is stored without its iterations: it may be one of them itself."""
        return Scope, tuple(getattr(self, name) for name in self.__struct_fields__[:-1])

    def chain(self) -> tuple[Scope, ...]:
        """This scope and all around it, outermost first."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return tuple(reversed(scopes))

    def iterations(self) -> tuple[Scope, ...]:
        """The loop iterations that this scope lies in, outermost first, those of callers included."""
        if self._iterations is None:
            around = () if self.parent is None else self.parent.iterations()
            found = (*around, self) if self.kind is ScopeKind.ITERATION else around
            force_setattr(self, "_iterations", found)  # once: a scope never moves, and many questions begin here
        return self._iterations or ()

    def calls(self) -> tuple[Site, ...]:
        """The places of the calls that led here, outermost first."""
        return tuple(scope.called_at for scope in self.chain() if scope.called_at is not None)
