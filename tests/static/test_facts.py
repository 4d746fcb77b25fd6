"""Typed facts: what is known of an object is kept apart from the attributes that a script gives it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import torch_doctor.static
from tests.said import said
from torch_doctor.static.heap import Heap
from torch_doctor.static.values import MISSING, NOWHERE, Fact, Mode, Object, Origin, joined

STATIC = Path(torch_doctor.static.__file__).parent


def test_no_key_hides_among_the_attributes_behind_a_sign() -> None:
    hidden = [
        f"{path.relative_to(STATIC)}:{node.lineno} {node.value}"
        for path in sorted(STATIC.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:1] == "#"
    ]
    assert not hidden


def test_each_fact_says_what_its_value_is() -> None:
    tree = ast.parse((STATIC / "values" / "facts.py").read_text(encoding="utf-8"))
    (declared,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == Fact.__name__)
    said_of = {
        name.id
        for node, after in zip(declared.body, declared.body[1:], strict=False)
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        for name in node.targets
        if isinstance(name, ast.Name)
    }
    assert said_of == {fact.name for fact in Fact}


def test_two_ways_that_leave_the_same_leave_that() -> None:
    for fact in Fact:
        value = object()
        assert joined(fact, value, value, None) is value


def test_a_fact_that_one_way_sets_joins_with_what_holds_where_nothing_is_known() -> None:
    holds = True
    assert joined(Fact.FROZEN, holds, MISSING, None) is None
    assert joined(Fact.REGISTERED, MISSING, holds, None) is True
    assert joined(Fact.COMPLETE, holds, not holds, None) is False
    assert joined(Fact.TAKEN, frozenset({1}), frozenset({2}), None) == {1, 2}


def test_the_mode_that_one_way_sets_is_known_where_its_test_is() -> None:
    switched = Mode(3, training=False)
    behind = joined(Fact.MODE, switched, MISSING, ("flag",))
    assert [(facts, mode.training) for facts, mode in behind.options] == [
        (frozenset({(("flag",), True)}), False),
        (frozenset({(("flag",), False)}), True),
    ]


def test_modes_that_two_of_three_ways_leave_alone_stay_apart_by_their_tests() -> None:
    switched = Mode(3, training=False)
    inner = joined(Fact.MODE, switched, MISSING, ("inner",))
    behind = joined(Fact.MODE, MISSING, inner, ("outer",))
    told = {mode.training for _, mode in behind.under({("outer",): False, ("inner",): True})}
    assert told == {False}


def test_of_too_many_modes_the_latest_stamp_is_left() -> None:
    behind: Any = Mode(0, training=True)
    for number in range(1, 9):
        behind = joined(Fact.MODE, Mode(number, training=False), behind, (f"flag {number}",))
    assert (behind.stamp, behind.training) == (8, None)


def test_where_a_module_is_that_one_way_moves_is_not_known_behind_it() -> None:
    moved = Origin(device="cuda", how="parameter")
    behind = joined(Fact.ORIGIN, moved, MISSING, ("flag",))
    assert {place for _, place in behind.options} == {moved, NOWHERE}


def test_facts_are_undone_with_the_attributes() -> None:
    heap, thing = Heap(), Object()
    mark = heap.mark()
    heap.set(thing.facts, Fact.FROZEN, value=True)
    changes = heap.changes(mark)
    heap.undo(mark)
    assert thing.fact(Fact.FROZEN) is False
    heap.merge(changes, mark)
    assert thing.fact(Fact.FROZEN) is None


def test_an_attribute_of_any_name_is_the_scripts_own() -> None:
    script = """
        import torch
        from torch import nn
        class Net(nn.Sequential):
            def __init__(self):
                super().__init__(nn.Linear(4, 1))
                self.items = ["a", "b"]
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 4)).sum().backward()
    """
    assert said(script, "forward") == ["forward `model` (Sequential): autograd on → logits with its graph"]
    assert said(script, "backward") == ["backward `model(torch.randn(2, 4)).sum()`: gradients for `model`"]
