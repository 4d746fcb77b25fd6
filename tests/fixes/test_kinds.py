"""Kinds of edits: each is made by a module of `fixes` that is found by itself."""

from __future__ import annotations

import typing

import pytest

from torch_doctor import edits
from torch_doctor.fixes.surgery import made


@pytest.mark.parametrize("kind", typing.get_args(edits.Edit))
def test_each_kind_of_edit_is_made_by_a_function_of_its_own(kind: type) -> None:
    assert made.dispatch(kind) is not made.dispatch(object)
