"""What a test of something's class tells."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import torch
    from torch import nn
    loss = nn.functional.mse_loss(nn.Linear(4, 1)(torch.randn(8, 4)), torch.randn(8, 1))
    if isinstance(loss, {classes}):
        loss = loss[0]
    loss.backward()
"""


@pytest.mark.parametrize("classes", ["tuple", "(list, tuple)", "dict"])
def test_a_tensor_is_no_instance_of_a_built_in_class(classes: str) -> None:
    assert said(SCRIPT.format(classes=classes), "loss[0]") == []


@pytest.mark.parametrize("classes", ["object", "(tuple, torch.Tensor)"])
def test_a_tensor_is_an_object_and_a_tensor(classes: str) -> None:
    assert said(SCRIPT.format(classes=classes), "loss[0]")


ASKED = """
    import collections
    import collections.abc
    import numbers
    import typing
    import torch
    from unseen import Thing
    class Own:
        pass
    if isinstance({value}, {classes}):
        torch.manual_seed(0)
"""


@pytest.mark.parametrize(
    ("value", "classes", "outcome"),
    [
        ("[4, 4]", "list", True),
        ("[4, 4]", "collections.abc.Iterable", True),
        ("[4, 4]", "collections.Iterable", True),
        ("[4, 4]", "typing.Sequence", True),
        ("[4, 4]", "numbers.Number", False),
        ("[4, 4]", "torch.Tensor", False),
        ("[4, 4]", "Own", False),
        ("[4, 4]", "(int, Thing, list)", True),
        ("(4, 4)", "torch.Size", None),
        ("{'a': 4}", "collections.abc.Mapping", True),
        ("{'a': 4}", "collections.OrderedDict", None),
        ("4", "numbers.Number", True),
        ("4", "collections.abc.Iterable", False),
        ("'4'", "str", True),
        ("None", "torch.Tensor", False),
        ("4", "collections.abc.Unheard", None),
    ],
)
def test_what_a_value_of_pythons_is_an_instance_of_is_known(value: str, classes: str, outcome: bool | None) -> None:
    seeds = said(ASKED.format(value=value, classes=classes), "seed random numbers")
    assert bool(seeds) is (outcome is not False)
    assert any("[if" in line for line in seeds) is (outcome is None)
