"""What a run knows of one kind of thing beside its values: the base of such state, kept by its class."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

from torch_doctor.static.state import Declared
from torch_doctor.static.values import PathFields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from torch_doctor.static.heap import Heap


class overriding:  # noqa: N801 - it is used as a function, and a class is entered faster
    """Some attributes of a thing have other values within, and those that they had again behind, however it ends."""

    __slots__ = ("_before", "_fields", "_thing")

    def __init__(self, thing: object, fields: dict[str, Any]) -> None:
        self._thing = thing
        self._fields = fields
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        thing, fields = self._thing, self._fields
        self._before = {name: getattr(thing, name) for name in fields}
        for name, value in fields.items():
            setattr(thing, name, value)

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            setattr(self._thing, name, value)


class Knowledge:
    """State that belongs to one kind of knowledge; a run makes it when it is first asked for (`run.of(Kind)`).

    Its class declares each field, as `per_run` or `per_path` (`state.py`).
    """

    state_fields: ClassVar[Mapping[str, Declared]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: what for name, what in vars(cls).items() if isinstance(what, Declared)}
        cls.state_fields = {**cls.state_fields, **own}

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self.path = PathFields()
        for name, field in self.state_fields.items():
            setattr(self, name, field.begin(heap))

    def override(self, **fields: Any) -> AbstractContextManager[None]:
        """Some fields have other values within, and those that they had again behind, however it ends."""
        return overriding(self, fields)

    def again(self) -> Self:
        """What a further run in the state that the file's top level left begins with: nothing."""
        return type(self)(self.heap)

    def copied(self) -> Self:
        """A copy, so that no run changes what another finds."""
        other = object.__new__(type(self))
        vars(other).update((name, _copied(value)) for name, value in vars(self).items())
        return other


class Lasting(Knowledge):
    """State that the file's top level leaves to the functions that are run after it."""

    def again(self) -> Self:
        """What the top level left, in a copy of its own."""
        return self.copied()


def _copied(value: Any) -> Any:
    """A container with what is in it, as far as others might change that; what the heap logs is what it is."""
    kind = type(value)
    if kind is dict or kind is defaultdict:
        other = value.copy()
        other.update((key, _copied(each)) for key, each in value.items())
        return other
    if kind is set:
        return value.copy()
    if kind is list or kind is tuple:
        return kind(_copied(each) for each in value)
    return value
