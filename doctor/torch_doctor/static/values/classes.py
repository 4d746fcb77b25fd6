"""Classes of the project, and the order in which they and their bases are looked through."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.static.values.objects import Object
from torch_doctor.static.values.plain import Lib

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values.value import Value


class ClassValue(Object):
    """A project class: its bases (project classes, library classes, unknown ones) and what its body defines (`fields`)."""

    __slots__ = ("_mro", "bases", "name", "node", "unit")

    def __init__(self, name: str, node: p.Class, unit: Unit, bases: tuple[Value, ...]) -> None:
        super().__init__()
        self.name = name
        self.node = node
        self.unit = unit
        self.bases = bases
        self._mro: tuple[Value, ...] | None = None

    def mro(self) -> tuple[Value, ...]:
        """This class and its bases in the order in which attributes are looked up."""
        if self._mro is None:
            self._mro = (self,)  # a class that inherits from itself through an error ends here
            self._mro = _linear(self)
        return self._mro

    def find(self, name: str, after: ClassValue | None = None) -> tuple[Value, ClassValue] | None:
        """The attribute `name` and the project class that defines it, looked up after `after` when it is given."""
        seen = after is None
        for cls in self.mro():
            if seen and isinstance(cls, ClassValue):
                found = cls.fields.get(name)
                if found is not None:
                    return found, cls
            if cls is after:
                seen = True
        return None

    def libraries(self, after: ClassValue | None = None) -> list[str]:
        """The dotted names of the library classes it derives from."""
        seen = after is None
        names = []
        for cls in self.mro():
            if seen and isinstance(cls, Lib):
                names.append(cls.name)
            if cls is after:
                seen = True
        return names

    def opaque_base(self) -> bool:
        """Whether some base could not be found."""
        return any(not isinstance(cls, (ClassValue, Lib)) for cls in self.mro())


def _linear(cls: ClassValue) -> tuple[Value, ...]:
    """C3 linearisation; where the classes contradict each other, depth first."""
    sequences = [base.mro() if isinstance(base, ClassValue) else (base,) for base in cls.bases]
    if len(sequences) == 1:
        return cls, *sequences[0]
    sequences.append(cls.bases)
    behind = Counter(_key(item) for sequence in sequences for item in sequence[1:])
    places = [0] * len(sequences)
    result: list[Value] = [cls]
    taken: set[object] = set()
    while fronts := [
        sequence[place] for sequence, place in zip(sequences, places, strict=True) if place < len(sequence)
    ]:
        head = next((item for item in fronts if not behind[_key(item)]), fronts[0])
        result.append(head)
        taken.add(_key(head))
        for number, sequence in enumerate(sequences):
            while places[number] < len(sequence) and _key(sequence[places[number]]) in taken:
                places[number] += 1
                if places[number] < len(sequence):
                    behind[_key(sequence[places[number]])] -= 1
    return tuple(result)


def _key(item: Value) -> object:
    """What is the same of the same class."""
    return item.name if isinstance(item, Lib) else id(item)
