"""What is known of one parameter, and of the calls of a module with autograd off."""

from __future__ import annotations

import weakref
from typing import Any


class Fate:
    """What is known of one parameter."""

    __slots__ = (
        "backwards",
        "gradients",
        "group",
        "live_steps",
        "moved",
        "name",
        "nonzero",
        "optimizer",
        "owner",
        "rated",
        "ref",
        "root",
        "steps",
        "trained",
        "visible_steps",
        "was",
    )

    def __init__(self, parameter: Any, root: Any, owner: Any, name: str) -> None:
        self.ref = weakref.ref(parameter)
        self.belongs(root, owner, name)
        self.backwards = self.gradients = self.nonzero = self.steps = self.live_steps = self.visible_steps = 0
        self.optimizer: weakref.ref[Any] | None = None
        self.group = 0
        self.rated = self.trained = self.moved = False
        self.was: Any = None

    def belongs(self, root: Any, owner: Any, name: str) -> None:
        """Note the module that is called, the part that has the parameter, and its path."""
        self.root = weakref.ref(root)
        self.owner = weakref.ref(owner)
        self.name = name


class Unrecorded:
    """The calls of a module with autograd off: where the first of them is, and how many there were."""

    __slots__ = ("calls", "site")

    def __init__(self, site: int) -> None:
        self.site = site
        self.calls = 0
