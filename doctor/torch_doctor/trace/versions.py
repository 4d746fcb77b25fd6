"""Which versions of torch a script is written for."""

from __future__ import annotations

from typing import NamedTuple

Version = tuple[int, int]


class Versions(NamedTuple):
    """The oldest and the newest torch that a project allows, each as (major, minor)."""

    oldest: Version = (0, 4)
    newest: Version = (99, 0)


ANY = Versions()
"""What a project allows that says nothing."""
