"""Values that hold others are walked through once, and built anew leaf by leaf."""

from __future__ import annotations

from torch_doctor.static.values import Const, Content, Loader, Method, Object, Sequence, Value, reachable, rebuilt

ONE, TWO = Const(1), Const(2)


def listed(*items: Value) -> Sequence:
    return Sequence("list", Content(items))


def own(thing: Object) -> Object:
    return thing


def test_everything_within_some_steps_is_reachable() -> None:
    inner = listed(TWO)
    assert list(reachable((listed(ONE, inner),), depth=1))[1:] == [ONE, inner]
    assert TWO in list(reachable((listed(ONE, inner),), depth=2))


def test_a_method_is_no_step_away_from_its_receiver() -> None:
    loader = Loader(None, "torch.utils.data.DataLoader")
    assert loader in list(reachable((Method(loader, "__iter__"),), depth=0))


def test_what_is_there_twice_is_walked_through_once() -> None:
    assert list(reachable((ONE, ONE))) == [ONE]


def test_each_leaf_is_changed_where_it_is() -> None:
    made = rebuilt(listed(ONE, listed(ONE)), lambda _: TWO, own)
    assert isinstance(made, Sequence)
    first, second = made.content.items
    assert first is TWO
    assert isinstance(second, Sequence)
    assert second.content.items == (TWO,)
