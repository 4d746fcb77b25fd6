"""What is alive is told apart by identity."""

from __future__ import annotations

import gc

from torch_doctor.probe.agent.identities import IdentityMap, IdentitySet


class Odd:
    """An object that cannot be hashed before it is complete, and is equal to every other."""

    def __hash__(self) -> int:
        return int(self.missing)  # type: ignore[attr-defined]

    def __eq__(self, _: object) -> bool:
        return True


def test_objects_need_no_hash_and_are_not_equal() -> None:
    first, second = Odd(), Odd()
    values: IdentityMap[int] = IdentityMap()
    values[first] = 1
    values[first] = 2
    assert first in values
    assert second not in values
    assert (values[first], values.get(second), len(values)) == (2, None, 1)


def test_what_has_died_is_gone() -> None:
    values, objects = IdentityMap[int](), IdentitySet()
    first = Odd()
    values[first] = 1
    objects.add(first)
    assert [each is first for each in (*values, *objects)] == [True, True]
    del first
    gc.collect()
    assert (len(values), len(objects)) == (0, 0)
