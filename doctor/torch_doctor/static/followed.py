"""What the runs of some files have come to, in words that another process understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from torch_doctor.trace import Site  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Collection

Defined: TypeAlias = tuple[str, int, int]
"""A function by the path of its file, and the row and column where it begins."""


class Followed(Struct, frozen=True):
    """What runs have come to: the functions they entered, the files they imported, the places where they read checkpoints.

    `whole` are those of the imported files whose top level was executed to its end.
    """

    entered: frozenset[Defined] = frozenset()
    imported: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    read: frozenset[Site] = frozenset()

    def __or__(self, other: Followed) -> Followed:
        """What either has come to."""
        return Followed(
            self.entered | other.entered,
            self.imported | other.imported,
            self.whole | other.whole,
            self.read | other.read,
        )

    def within(self, paths: Collection[str], shown: str) -> Followed:
        """The part that matters to one file: `paths` are its own and those of the files that it imports, `shown` its name."""
        return Followed(
            frozenset(each for each in self.entered if each[0] in paths),
            whole=self.whole.intersection(paths),
            read=frozenset(site for site in self.read if site.path == shown),
        )


NOTHING = Followed()
"""What is known before any run."""
