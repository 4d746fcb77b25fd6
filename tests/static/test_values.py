"""Values are frozen: whoever changes one binds another, and state is in the heap."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import torch_doctor.static
from tests.said import said
from torch_doctor.static import values
from torch_doctor.static.heap import Heap
from torch_doctor.static.values import Const, Content, Making, Value
from torch_doctor.static.values.functions import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

STATIC = Path(torch_doctor.static.__file__).parent
STATES = frozenset({"run", "frame", "run.frame", "event", "report", "assigning"})
"""Names of what is no value: the run, its frames, what it knows, the trace's events, and what was reported of a load."""
REMEMBERED = frozenset({"_flow", "_mro", "_symbol", "answer"})
"""Attributes that only keep what follows from the others, once somebody has asked."""
MODEL = """
import torch
from torch import nn
model = nn.Linear(4, 1).cuda()
x = torch.zeros(2, 1)
same = x
"""


def heirs(cls: type[object]) -> Iterator[type[object]]:
    """A class and those that derive from it."""
    yield cls
    for heir in cls.__subclasses__():
        yield from heirs(heir)


def attributes() -> set[str]:
    """What a value is made of."""
    made_of = {*heirs(Value), *(cls for _, cls in inspect.getmembers(values, inspect.isclass)), Content, Making}
    return {
        name
        for cls in made_of - {Frame, Heap}
        for name in cls.__dict__.get("__slots__", ())
        if not name.startswith("__")
    }


def stores(node: ast.AST, function: str = "") -> Iterator[tuple[ast.Attribute, str]]:
    """Each assignment to an attribute, with the function that it is in."""
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child, function
        yield from stores(child, inside)


def test_no_value_is_changed_after_it_was_made() -> None:
    own = attributes() - REMEMBERED
    changed = [
        f"{path.relative_to(STATIC)}:{store.lineno} {ast.unparse(store)}"
        for path in sorted(STATIC.rglob("*.py"))
        for store, function in stores(ast.parse(path.read_text(encoding="utf-8")))
        if store.attr in own
        and ast.unparse(store.value) not in STATES
        and (ast.unparse(store.value) != "self" or (path.parent.name == "values" and function != "__init__"))
    ]
    assert not changed


def losses(script: str) -> list[str]:
    """What the losses of a script that begins with `MODEL` get."""
    return said(MODEL + textwrap.dedent(script), "loss `")


def test_a_change_in_place_is_seen_under_every_name() -> None:
    (loss,) = losses("""
        x.squeeze_(1)
        nn.functional.mse_loss(model(torch.zeros(2, 4)), same)
    """)
    assert "target `same` (float32[2], without a graph)" in loss


def test_a_change_in_place_is_seen_by_the_caller() -> None:
    (loss,) = losses("""
        def flatten(tensor):
            tensor.squeeze_(1)
        flatten(x)
        nn.functional.mse_loss(model(torch.zeros(2, 4)), x)
    """)
    assert "target `x` (float32[2], without a graph)" in loss


@pytest.mark.parametrize("receiver", ["x", "same"])
def test_a_change_in_place_in_one_arm_is_unknown_to_the_other(receiver: str) -> None:
    changed, unchanged = losses(f"""
        if flag():
            {receiver}.squeeze_(1)
            nn.functional.mse_loss(model(torch.zeros(2, 4)), x)
        else:
            nn.functional.mse_loss(model(torch.zeros(2, 4)), x)
    """)
    assert "target `x` (float32[2], without a graph)" in changed
    assert "target `x` (float32[2, 1], without a graph)" in unchanged


def test_what_may_have_moved_itself_in_one_arm_has_not_in_the_other() -> None:
    script = f"""{MODEL}
if flag():
    x.mark = 1
    model(same)
else:
    model(x)
"""
    assert len(said(script, "forward `model`")) == 2
    assert len(said(script, "gets a tensor on the CPU and others on the GPU")) == 1


def test_a_change_in_place_is_undone_and_joined() -> None:
    heap, value, now = Heap(), Const(1), Const(2)
    mark = heap.mark()
    heap.change(value, now)
    changes = heap.changes(mark)
    assert heap.current(value) is now
    heap.undo(mark)
    assert heap.current(value) is value
    heap.merge(changes, mark)
    assert heap.current(value) is now
