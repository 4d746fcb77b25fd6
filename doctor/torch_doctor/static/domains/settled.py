"""Tensors whose numbers are the same for every output of a model, by how they were made of it."""

from __future__ import annotations

from typing import Final

from torch_doctor.static.domains.constants import VIEWS
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Tensor, Value, shapes
from torch_doctor.trace import Kind

_SHARES: Final = frozenset((Kind.PROBABILITIES, Kind.BOUNDED))
"""Numbers between 0 and 1, which they only reach by rounding."""
_CAST: Final = frozenset(words("int long short byte char to type astype"))
"""What may cut off fractions."""
_ABOVE: Final = {">": (0, 1), "gt": (0, 1), "greater": (0, 1), ">=": (0, 1), "ge": (0, 1), "greater_equal": (0, 1)}
_BELOW: Final = {"<": (1, 0), "lt": (1, 0), "less": (1, 0), "<=": (1, 0), "le": (1, 0), "less_equal": (1, 0)}
_RESULTS: Final = _ABOVE | _BELOW
"""What comparisons of a share give with a number of 1 or more, and with one of 0 or less."""


class Settled(Domain["int | None"]):
    """The number that all elements of a tensor are, whatever the model returns; None where that depends on it."""

    numbers = True

    def unknown(self) -> int | None:
        """None."""
        return None

    def read(self, made: Making) -> int | None:
        """Shares of 1 that are made integers or truth values, or compared with a number that they do not pass."""
        first = made.args[0] if made.args else None
        if not isinstance(first, Tensor):
            return None
        if first.kind not in _SHARES or not first.flow.forwards:
            return self.of(first) if made.name in VIEWS or made.name in _CAST else None
        if made.name == "bool":
            return 1
        if made.name in _CAST:
            dtype = measured(Tensor(meta=made)).dtype
            return 0 if shapes.is_integer(dtype) and dtype != "bool" else None
        bound = _number(made.args[1]) if made.name in _RESULTS and len(made.args) > 1 else None
        if bound is None or 0 < bound < 1:
            return None
        return _RESULTS[made.name][bound <= 0] if bound != 0 or made.name not in ("<=", "le", "less_equal") else 0


def _number(value: Value) -> float | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, (int, float)) else None
