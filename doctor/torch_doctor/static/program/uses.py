"""What functions do with the things they name."""

from __future__ import annotations

MODEL = "(model)"
"""It is called on a batch, and what it returns goes backward, by itself or through a loss."""
LOSS = "(loss)"
"""It is called on what something else was called on, and the result is a number, or goes backward."""
BATCHES = "(batches)"
"""A loop goes over it, and moves what it gives to a device, or gives that to a model."""


class Uses:
    """What some functions do with what they name, by its path: `model`, `self.model`.

    `marks` are the attributes that are taken of it, and the words above. `passes` are the functions that it is given to,
    with the place or the name of the argument. `stored` are the paths that it is assigned to.
    """

    __slots__ = ("marks", "passes", "stored")

    def __init__(self) -> None:
        self.marks: dict[str, set[str]] = {}
        self.passes: dict[str, list[tuple[str, int | str]]] = {}
        self.stored: dict[str, set[str]] = {}

    def of(self, path: str) -> set[str]:
        """The marks of what has this path."""
        return self.marks.get(path, set())

    def add(self, other: Uses) -> None:
        """Take what others do with the same paths."""
        for path, marks in other.marks.items():
            self.marks.setdefault(path, set()).update(marks)
        for path, passes in other.passes.items():
            self.passes.setdefault(path, []).extend(passes)
