"""Files that contain an identifier are found by a search or an index, whichever is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.sources import mentions
from torch_doctor.sources.mentions import Mentions

WORDS = st.sampled_from(("fit", "fit2", "_fit", "é", "éfit", "9fit", "a.fit", "fit(", " ", "\n", "#fit", "x"))


@given(
    st.lists(st.lists(WORDS, max_size=4).map("".join), max_size=4),
    st.lists(st.sampled_from(("fit", "x", "é", "_fit", "9"))),
)
def test_an_index_gives_what_a_search_gives(texts: list[str], names: list[str]) -> None:
    files = {Path(str(number)): text.encode() for number, text in enumerate(texts)}
    searched = Mentions(files.__getitem__).of(names or ["fit"], files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mentions, "OFTEN", 0)
        indexed = Mentions(files.__getitem__)
        assert indexed.of(names or ["fit"], files) == searched
        assert indexed.of(names or ["fit"], [*files][::-1]) == searched[::-1]
