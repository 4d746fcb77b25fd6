"""Texts of which parts are known: paths are joined and filled in of them."""

from __future__ import annotations

import pytest

from torch_doctor.static.values import Const, Mapping, Plain, texts

UNKNOWN = Plain(("flag", 7))
KIND = Plain(("flag", 8))


def shown(text: Plain | None) -> str | None:
    found = None if text is None else texts.parts(text)
    return None if found is None else texts.path(found)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("runs/{}.pt", "runs/{('flag', 7)}.pt"),
        ("{0}_{1}_{0}.pt", "{('flag', 7)}_{('flag', 8)}_{('flag', 7)}.pt"),
        ("{{x}}_{}_{}.pt", "{x}_{('flag', 7)}_{('flag', 8)}.pt"),
        ("{kind}.pt", "{('flag', 8)}.pt"),
        ("{:03d}.pt", "{('form', '03d', ('flag', 7))}.pt"),
    ],
)
def test_the_fields_of_a_format_are_its_arguments(text: str, path: str) -> None:
    assert shown(texts.formatted(text, (UNKNOWN, KIND), {"kind": KIND})) == path


@pytest.mark.parametrize("text", ["{2}.pt", "{name}.pt", "{", "{0.name}.pt"])
def test_a_format_whose_fields_are_not_in_sight_is_not_known(text: str) -> None:
    assert texts.formatted(text, (UNKNOWN, KIND), {}) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("%s_%d.pt", "{('flag', 7)}_3.pt"),
        ("%s-100%%-%04d.pt", "{('flag', 7)}-100%-{('form', '04', '3')}.pt"),
    ],
)
def test_the_places_of_a_text_are_its_values(text: str, path: str) -> None:
    assert shown(texts.interpolated(text, (UNKNOWN, Const(3)))) == path


@pytest.mark.parametrize("text", ["%s_%s_%s", "%(name)s.pt", "%*d"])
def test_a_text_whose_places_are_not_in_sight_is_not_known(text: str) -> None:
    assert texts.interpolated(text, (UNKNOWN, Const(3))) is None


def test_what_is_no_text_makes_none() -> None:
    assert texts.formatted("{}.pt", (Mapping(None),), {}) is None
