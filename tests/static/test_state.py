"""Fields of knowledge are declared, and those of a path are undone and joined by branches."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.said import said
from torch_doctor.static import dispatch
from torch_doctor.static.heap import Heap
from torch_doctor.static.knowledge import Knowledge, Lasting
from torch_doctor.static.state import PathField, per_path, per_run

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, MutableSet

dispatch.load()


class Notes(Knowledge):
    """One field of each sort."""

    told: set[int] = per_run(set)
    seen: MutableSet[int] = per_path(set)
    names: MutableMapping[str, frozenset[int]] = per_path(dict)
    agreed: MutableMapping[str, int | None] = per_path(dict, agreed=True)
    last: int | None = per_path()


def _kinds(cls: type[Knowledge] = Knowledge) -> Iterator[type[Knowledge]]:
    for each in cls.__subclasses__():
        yield each
        yield from _kinds(each)


KINDS = sorted(
    {each for each in _kinds() if each.__module__.startswith("torch_doctor.")}, key=lambda each: each.__qualname__
)


@pytest.fixture
def notes() -> Notes:
    return Notes(Heap())


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.__qualname__)
def test_each_field_of_knowledge_is_declared(kind: type[Knowledge]) -> None:
    """What no declaration names would leak from one arm of a branch into the other without anybody having decided that."""
    if kind.__module__.endswith((".observer", ".knowledge")):
        return
    fields = {name for cls in kind.__mro__ for name, what in vars(cls).items() if isinstance(what, PathField)}
    declared = {*kind.state_fields, *fields}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assigned = {
        node.attr
        for node in ast.walk(definition)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    assert assigned <= declared
    assert "__init__" not in vars(kind)
    assert vars(kind(Heap())).keys() == {*kind.state_fields, "heap", "path"}


def test_one_arm_does_not_see_what_the_other_leaves(notes: Notes) -> None:
    mark = notes.heap.mark()
    notes.told.add(1)
    notes.seen.add(1)
    notes.names["a"] = frozenset({1})
    notes.last = 1
    notes.heap.undo(mark)
    assert notes.told == {1}
    assert not notes.seen
    assert not notes.names
    assert notes.last is None


@pytest.mark.parametrize("exchanged", [False, True], ids=["as it is", "exchanged"])
def test_after_both_arms_there_is_what_either_of_them_left(notes: Notes, exchanged: bool) -> None:
    def adds() -> None:
        notes.seen.add(1)
        notes.names.update(before=frozenset({1}), one=frozenset({1}))
        notes.last = 1

    def removes() -> None:
        notes.seen.discard(0)
        notes.seen.add(2)
        del notes.names["gone"]

    notes.names.update(before=frozenset({0}), gone=frozenset({0}))
    notes.seen.add(0)
    first, second = (removes, adds) if exchanged else (adds, removes)
    mark = notes.heap.mark()
    first()
    changes = notes.heap.changes(mark)
    notes.heap.undo(mark)
    second()
    notes.heap.merge(changes, mark)
    assert set(notes.seen) == {0, 1, 2}
    assert notes.names == {"before": frozenset({1}), "one": frozenset({1}), "gone": frozenset({0})}
    assert notes.last == 1


def test_what_both_arms_change_is_as_the_second_leaves_it_and_gone_where_both_remove_it(notes: Notes) -> None:
    notes.seen.add(0)
    mark = notes.heap.mark()
    notes.names["both"], notes.last = frozenset({1}), 1
    notes.seen.discard(0)
    changes = notes.heap.changes(mark)
    notes.heap.undo(mark)
    notes.names["both"], notes.last = frozenset({2}), 2
    notes.seen.discard(0)
    notes.heap.merge(changes, mark)
    assert notes.names == {"both": frozenset({2})}
    assert notes.last == 2
    assert not notes.seen


def test_what_has_to_be_agreed_on_is_unknown_where_one_arm_alone_has_it(notes: Notes) -> None:
    mark = notes.heap.mark()
    notes.agreed.update(one=1, same=3, apart=1)
    first = notes.heap.changes(mark)
    notes.heap.undo(mark)
    notes.agreed.update(same=3, apart=2)
    notes.heap.merge(first, mark)
    assert notes.agreed == {"one": None, "same": 3, "apart": None}


def test_a_further_run_begins_without_what_this_one_knew(notes: Notes) -> None:
    notes.told.add(1)
    notes.seen.add(1)
    again = notes.again()
    assert not again.told
    assert not again.seen
    assert again.heap is notes.heap


def test_what_lasts_is_copied_and_its_paths_stay_those_of_the_heap() -> None:
    class Kept(Lasting):
        told: set[int] = per_run(set)
        seen: MutableSet[int] = per_path(set)

    kept = Kept(Heap())
    kept.told.add(1)
    mark = kept.heap.mark()
    kept.seen.add(1)
    again = kept.again()
    again.told.add(2)
    assert kept.told == {1}
    assert set(again.seen) == {1}
    kept.heap.undo(mark)
    assert not again.seen


MOVED = """
import torch
from torch import nn
from somewhere import flag, load

model = nn.Linear(4, 1)
y = load()
if flag():
    y.to("cuda")
{second}
    nn.functional.mse_loss(model(torch.randn(8, 4)), y).backward()
"""


@pytest.mark.parametrize(("second", "lost"), [("else:", False), ("if True:", True)], ids=["other arm", "after both"])
def test_what_a_loss_says_of_a_value_is_not_said_of_the_other_arm(second: str, lost: bool) -> None:
    assert bool(said(MOVED.format(second=second), "move `y`")) is lost
