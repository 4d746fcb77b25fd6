"""What all stand-ins have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..handed import hand_of, is_new
from . import told
from .source import expressions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ranks import Ranks
    from .learnt import Learnt
    from .source import Sources
    from .told import Teller


class Setting(NamedTuple):
    """What stand-ins know of the run: the plan, the user's sources, who tells of them, and this process among others.

    `learnt` is what earlier attempts to run the script have found out.
    """

    plan: Mapping[str, Any]
    sources: Sources
    teller: Teller
    ranks: Ranks
    learnt: Learnt


class StandIn:
    """Stands in for something that scripts need and this machine does not have.

    Each subclass in a module of this package is found by walking the package, and one of it stands in during each run.

    Attributes:
        replaces: what is not there, as the user reads it after "for".
        voids: the facts that it makes meaningless, of the words of `told`.
        installed_after: the names of the classes that have to be installed before, because both patch the same function.
    """

    replaces: ClassVar[str]
    voids: ClassVar[tuple[str, ...]] = ()
    installed_after: ClassVar[tuple[str, ...]] = ()

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.plan, self.sources, self.teller, self.ranks, self.learnt = setting

    def prepare(self) -> None:
        """Puts in place what has to be there before the script starts, and hooks for what it may import."""

    @classmethod
    def look(cls, torch: Any) -> None:
        """Finds out what is the same in every run and takes long, for all that a server forks."""

    def needed(self, torch: Any) -> bool:  # noqa: ARG002 - some ask torch
        """Whether torch itself has to be patched."""
        return True

    def with_torch(self, torch: Any) -> None:
        """Patches torch, right after its import, where that is needed."""

    def at_end(self, error: BaseException | None) -> bool:  # noqa: ARG002 - one asks why
        """Whether something was done instead of what the script has not done, which ended with this error, or without."""
        return False

    def tell(self, what: str, how: str, *, why: str = "", voids: Sequence[str] | None = None) -> None:
        """Tells the user, once, that something stands in.

        Args:
            what: the thing as the user wrote it or torch calls it (`torchvision.datasets.MNIST`).
            how: what is there instead (`60000 synthetic rows 1×28×28, 10 classes`).
            why: what is not there, where that is more than `replaces` says.
            voids: the facts that this makes meaningless, where they are others than usual.
        """
        given = tuple(self.voids if voids is None else voids)
        frame = self.sources.innermost()
        if frame is not None and is_new(frame):
            for statement in self.sources.statements(frame)[:1]:
                hand_of(frame, expressions(statement))
        if told.ARGUMENTS in given and len(self.sources.chosen) > 1:
            given = (*given, told.CHOICES)
        self.teller.stand_in(what, why or self.replaces, how, given)
