"""Scopes lie within each other, and sites say where."""

from __future__ import annotations

from torch_doctor.trace import Scope, ScopeKind, Site

HERE = Site("train.py", 1, 1, 1, 2)


def test_a_chain_begins_outside_and_iterations_are_those_of_callers_too() -> None:
    root = Scope(ScopeKind.ROOT, HERE)
    epoch = Scope(ScopeKind.ITERATION, HERE, root, loop=1, number=1)
    call = Scope(ScopeKind.CALL, HERE, epoch, name="train")
    batch = Scope(ScopeKind.ITERATION, HERE, call, loop=2, number=1)
    assert batch.chain() == (root, epoch, call, batch)
    assert batch.iterations() == (epoch, batch)
    assert root.iterations() == ()


def test_a_site_reads_as_editors_understand_it() -> None:
    assert str(Site("a/train.py", 3, 5, 3, 9)) == "a/train.py:3:5"
    assert str(Site("train.ipynb", 3, 5, 3, 9, cell=2)) == "train.ipynb:cell 2:3:5"
