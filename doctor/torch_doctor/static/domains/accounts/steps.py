"""Functions whose derivative is zero: what they give has a graph, and no gradient comes back through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, ParameterValue, Params, Plain, Sequence, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Value

_STEPS: Final = frozenset(words("round floor ceil trunc fix sign sgn heaviside"))
_PLAIN: Final = (
    comparing.ARITHMETIC
    | (table.ELEMENTWISE - {"prelu"})
    | frozenset(
        (table.LOSS, table.LOSSES, *words("sum mean abs pow ** neg float double half to type view reshape flatten"))
    )
)
"""Operations that compute with nothing but their arguments."""


class Flat(Domain["str | None"]):
    """The function that leaves a value without a gradient, though with a graph; "" of one without a graph, None of any other."""

    def unknown(self) -> str | None:
        """None."""
        return None

    def given(self, value: Value) -> str | None:
        """A value without a record has a gradient unless it surely has no graph."""
        if isinstance(value, (Const, Plain)):
            return ""
        carries = isinstance(value, (ParameterValue, Params, Sequence)) or value.flow.graph is not False
        return None if carries else ""

    def record(self, value: Value) -> Making | None:
        """How a tensor with a graph was made, within a module too."""
        made = comparing.made_of(value)
        return made if made is not None and isinstance(value, Tensor) and value.flow.graph is not False else None

    def read(self, made: Making) -> str | None:
        """A step has none, and so has what is computed of nothing else."""
        name = made.name.rstrip("_") or made.name
        found = self._of_all(made.args[:1] if name in _STEPS else (*made.args, *made.keywords.values()))
        if name in _STEPS:
            return "" if found == "" else name
        return found if name in _PLAIN else None

    def _of_all(self, values: Iterable[Value]) -> str | None:
        answers = [self.of(value) for value in values]
        return None if None in answers else max(filter(None, answers), default="")
