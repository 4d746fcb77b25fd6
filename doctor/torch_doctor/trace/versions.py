"""Which versions of torch a script is written for."""

from __future__ import annotations

from typing import NamedTuple

Version = tuple[int, int]


class Versions(NamedTuple):
    """The versions of torch that a project allows."""

    oldest: Version = (0, 4)
    """The oldest version, as (major, minor)."""
    newest: Version = (99, 0)
    """The newest version, as (major, minor)."""


ANY = Versions()
"""What a project allows that says nothing."""
