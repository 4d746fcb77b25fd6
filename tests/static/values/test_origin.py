"""Origins are joined: what both say is kept, and where they differ both are."""

from __future__ import annotations

from msgspec.structs import replace

from torch_doctor.static.values import BUILT, CPU, FRESH, GPU, NOWHERE, ON_CPU, Origin, Tensor, join, of_fresh, one_of
from torch_doctor.trace import Site

HERE, THERE = Site("train.py", 3, 1, 3, 9), Site("train.py", 7, 1, 7, 9)
ON_GPU = Origin(device=GPU, how="moved", since=HERE, sized=True)


def test_the_place_stays_when_another_operation_gives_the_kind() -> None:
    softmax = ON_GPU.by("torch.softmax", THERE)
    assert (softmax.operation, softmax.site) == ("torch.softmax", THERE)
    assert (softmax.device, softmax.since) == (GPU, HERE)
    assert softmax.same(ON_GPU)


def test_the_kind_stays_when_a_tensor_moves() -> None:
    tensor = Tensor(origin=FRESH.by("torch.softmax", THERE)).at(ON_GPU)
    assert (tensor.origin.operation, tensor.origin.site) == ("torch.softmax", THERE)
    assert (tensor.origin.device, tensor.origin.fresh) == (GPU, False)


def test_one_place_reached_in_two_ways_is_one() -> None:
    assert join(ON_GPU, replace(ON_GPU, since=THERE)) is ON_GPU


def test_two_places_are_two_options_each_with_its_arm() -> None:
    joined = join(ON_GPU, ON_CPU, ("test",))
    assert [(dict(needs), option.device) for needs, option in joined.options] == [
        ({("test",): True}, GPU),
        ({("test",): False}, CPU),
    ]
    assert not joined.device


def test_options_of_options_are_flat() -> None:
    inner = join(ON_GPU, ON_CPU, ("inner",))
    joined = join(inner, BUILT, ("outer",))
    assert all(not option.options for _, option in joined.options)
    assert [option.device for _, option in joined.options] == [CPU, GPU, CPU]


def test_the_option_that_one_test_leads_to_comes_first_in_whichever_arm_it_is_made() -> None:
    inner = join(ON_GPU, ON_CPU, ("inner",))
    for joined in (join(inner, BUILT, ("outer",)), join(BUILT, inner, ("not", ("outer",)))):
        assert [len(conditions) for conditions, _ in joined.options] == [1, 2, 2]
    assert joined.options[0] == (frozenset({(("outer",), False)}), BUILT)


def test_more_places_than_are_told_apart_are_nowhere() -> None:
    many = (Origin(device=CPU, loaders=frozenset((number,))) for number in range(5))
    assert one_of((frozenset(), origin) for origin in many) is NOWHERE


def test_a_tensor_is_fresh_when_it_is_on_both_paths() -> None:
    assert join(FRESH, replace(FRESH, births=(HERE,))).births == (HERE,)
    assert not join(FRESH, ON_CPU).fresh
    assert join(FRESH, ON_CPU).device == CPU


def test_what_is_joined_again_stays_the_same() -> None:
    born = replace(FRESH, births=(HERE,), builder=1)
    once = join(born, replace(FRESH, births=(THERE,)))
    assert join(once, born) is once


def test_what_is_computed_of_fresh_tensors_knows_where_each_was_made() -> None:
    parts = (replace(FRESH, births=(HERE,), builder=1), replace(FRESH, births=(THERE, HERE), builder=1))
    both = of_fresh(parts, sized=False)
    assert (both.births, both.builder, both.sized) == ((HERE, THERE), 1, False)
