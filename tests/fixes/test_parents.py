"""The tree of a file as libcst's own provider reads it."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider

from torch_doctor.fixes.parents import parents

WHOLE = sorted((Path(__file__).parents[2] / "fixtures/whole").glob("*.py"))


def test_parents_are_those_of_libcst() -> None:
    assert len(WHOLE) > 5
    for path in WHOLE:
        wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")), unsafe_skip_copy=True)
        assert parents(wrapper.module) == dict(wrapper.resolve(ParentNodeProvider))
