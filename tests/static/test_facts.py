"""Typed facts: what is known of an object is kept apart from the attributes that a script gives it."""

from __future__ import annotations

import ast
from pathlib import Path

import torch_doctor.static
from tests.said import said
from torch_doctor.static.heap import Heap
from torch_doctor.static.values import MISSING, NOWHERE, Fact, Object, Origin, joined

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
    assert joined(Fact.MODE, (3, False), MISSING, None) == (3, None)
    assert joined(Fact.TAKEN, frozenset({1}), frozenset({2}), None) == {1, 2}


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
