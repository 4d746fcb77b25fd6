"""The heap's log: what a branch changed is undone, and joined with what the other changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.static.heap import Heap
from torch_doctor.static.values import Const, Fields

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUES = tuple(Const(number) for number in range(4))
WRITES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.sampled_from((*VALUES, None))), max_size=8)
"""Writes to one of two objects: the object, the key, and the value, None where the key is removed."""


def things() -> tuple[Fields, Fields]:
    return Fields(1), Fields(2)


def write(heap: Heap, objects: Sequence[Fields], writes: list[tuple[int, str, Const | None]]) -> None:
    for number, key, value in writes:
        if value is None:
            heap.drop(objects[number], key)
        else:
            heap.set(objects[number], key, value)


def state(objects: Sequence[Fields]) -> list[dict[Any, Any]]:
    return [dict(fields) for fields in objects]


@given(before=WRITES, after=WRITES)
def test_undoing_restores(
    before: list[tuple[int, str, Const | None]], after: list[tuple[int, str, Const | None]]
) -> None:
    heap, objects = Heap(), things()
    write(heap, objects, before)
    mark, then = heap.mark(), state(objects)
    write(heap, objects, after)
    heap.undo(mark)
    assert state(objects) == then


@given(before=WRITES, after=WRITES)
def test_changes_can_be_made_again(
    before: list[tuple[int, str, Const | None]], after: list[tuple[int, str, Const | None]]
) -> None:
    heap, objects = Heap(), things()
    write(heap, objects, before)
    mark = heap.mark()
    write(heap, objects, after)
    changes, now = heap.changes(mark), state(objects)
    heap.undo(mark)
    heap.apply(changes)
    assert state(objects) == now


@given(before=WRITES, left=WRITES, right=WRITES)
def test_merging_loses_no_key_and_keeps_what_both_ways_leave(
    before: list[tuple[int, str, Const | None]],
    left: list[tuple[int, str, Const | None]],
    right: list[tuple[int, str, Const | None]],
) -> None:
    heap, objects = Heap(), things()
    write(heap, objects, before)
    mark = heap.mark()
    write(heap, objects, left)
    changes, one = heap.changes(mark), state(objects)
    heap.undo(mark)
    write(heap, objects, right)
    other = state(objects)
    heap.merge(changes, mark)
    for merged, first, second in zip(state(objects), one, other, strict=True):
        assert merged.keys() == first.keys() | second.keys()
        assert all(merged[key] is first[key] for key in merged if first.get(key) is second.get(key))
