"""Sinks that want numbers: what adds up or collects the very value it gets, and what makes a text of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from torch_doctor.static.libraries.library import Use

SINKS = libraries.table(lambda library: library.sinks)
"""How each uses what it is given; every argument may be a value, or a dict or list of them."""

BY_PACKAGE: dict[str, dict[str, Use]] = {}
"""The same by the package and the bare name of the method, as a process that runs them tells them apart."""
for _name, _use in SINKS.items():
    BY_PACKAGE.setdefault(_name.partition(".")[0], {})[_name.rpartition(".")[2]] = _use

BARS = frozenset(libraries.every(lambda library: library.bars))
"""What makes a progress bar that is also the iterable it goes through."""

BAR_METHODS = frozenset(
    words(
        "set_postfix set_postfix_str set_description set_description_str update close refresh clear reset display write"
    )
)
"""The methods of a progress bar, which leave what they are given alone."""
