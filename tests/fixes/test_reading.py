"""The tree of a file as libcst's own provider reads it."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from torch_doctor.fixes.reading import parents, positions

WHOLE = sorted((Path(__file__).parents[2] / "fixtures/whole").glob("*.py"))


def test_positions_and_parents_are_those_of_libcst() -> None:
    assert len(WHOLE) > 5
    for path in WHOLE:
        wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")), unsafe_skip_copy=True)
        assert positions(wrapper.module) == wrapper.resolve(PositionProvider)
        assert parents(wrapper.module) == dict(wrapper.resolve(ParentNodeProvider))
