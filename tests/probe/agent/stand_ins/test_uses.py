"""What the code does with a value, by which one is made up."""

from __future__ import annotations

import ast

import pytest

from torch_doctor.probe.agent.stand_ins.source import spelled
from torch_doctor.probe.agent.stand_ins.uses import Use, use_of


def used(source: str) -> Use:
    """What a source does with what `ask()` gives."""
    return use_of([ast.parse(source)], lambda node: isinstance(node, ast.Call) and spelled(node) == "ask")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("int(ask())", int),
        ("x = ask()\ny = float(x.strip())", float),
        ("a, b = map(int, ask().split())", int),
        ("[float(part) for part in ask().split(',')]", float),
        ("print(ask())", None),
    ],
)
def test_a_conversion_tells_the_kind(source: str, kind: type | None) -> None:
    assert used(source).kind is kind


@pytest.mark.parametrize(
    "source",
    [
        "if ask().lower() in ('a', 'b'): pass",
        "x = ask()\nif x == 'a': pass\nelif x == 'b': pass",
        "known = {'a': 1, 'b': 2}\nknown[ask()]",
        "x = ask()\n{'a': 1, 'b': 2}[x]",
    ],
)
def test_words_are_those_that_it_is_compared_with_and_looked_up_among(source: str) -> None:
    assert used(source).words == ["a", "b"]


def test_what_is_taken_apart_has_as_many_parts_and_what_is_between_them() -> None:
    use = used("first, second, third = ask().split(',')")
    assert (use.count, use.separator, use.names) == (3, ",", ["first", "second", "third"])
