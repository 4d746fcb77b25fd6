"""A call answers what it was given, by position or by name."""

from __future__ import annotations

import pytest

from torch_doctor.static import program as p
from torch_doctor.static.values import Args, Call, Const, Keywords, Plain

ONE, TWO = Const(1), Const(2)


def call(*args: Const | Plain, spelling: str = "f", **keywords: Const | Plain) -> Call:
    given: Args = args
    named: Keywords = dict(keywords)
    return Call(given, named, p.Name((1, 1, 1, 2), "f"), spelling)


def test_an_argument_is_found_by_its_position_or_by_any_of_its_names() -> None:
    assert call(ONE, TWO).argument(1, "target") is TWO
    assert call(ONE, labels=TWO).argument(1, "target", "labels") is TWO
    assert call(ONE).argument(1, "target") is None


def test_all_values_come_in_the_order_in_which_they_are_given() -> None:
    assert call(ONE, last=TWO).values == (ONE, TWO)


@pytest.mark.parametrize(
    ("given", "on"),
    [
        (call(enabled=Const(value=True)), True),
        (call(enabled=Const(value=False)), False),
        (call(enabled=Plain()), None),
        (call(), True),
        (call(ONE, Const(value=False)), False),
    ],
)
def test_a_flag_is_on_or_off_or_not_known_and_has_a_default(given: Call, on: object) -> None:
    assert given.flag("enabled", position=1, default=True) is on


def test_a_flag_without_a_position_is_only_found_by_name() -> None:
    assert call(Const(value=True)).flag("retain_graph", default=False) is False


def test_the_receiver_is_what_stands_before_the_last_dot() -> None:
    assert call(spelling="self.model.train").receiver == "self.model"
    assert call(spelling="model").receiver == "model"
    assert call(spelling="self.model.train").method == "train"


def test_a_changed_call_leaves_the_original_as_it_was() -> None:
    original = call(ONE, last=TWO)
    assert original.with_first(TWO).args == (TWO, ONE)
    assert original.with_args(()).values == (TWO,)
    assert original.renamed("g").name == "g"
    assert (original.args, original.name) == ((ONE,), "f")
