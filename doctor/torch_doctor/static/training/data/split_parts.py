"""Parts of rows as a split returned them: nothing has prepared them since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import padding
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import Lib, Making, Plain, Sequence, Symbol, Tensor, Value
from torch_doctor.static.values.symbols import CHANGED

if TYPE_CHECKING:
    from torch_doctor.static.values import Call

_SPLITS: Final = "sklearn.model_selection.train_test_split"
_KNOWN: Final = ("torch.", "numpy.", "sklearn.", "pandas.", "builtins.", "matplotlib.", "seaborn.")
"""Libraries whose functions leave the numbers of what they are given, but for those that the observers tell of."""
_KEEPS: Final = frozenset(
    words("tensor as_tensor asarray from_numpy Tensor FloatTensor float double to type unsqueeze squeeze view reshape")
)


class SplitParts(Lasting):
    """The symbols of such parts, and of those that something may have changed in place."""

    parts: dict[Symbol, frozenset[int]] = per_run(dict)
    touched: set[Symbol] = per_run(set)

    def called(self, func: Value, call: Call, result: Value) -> None:
        """Note that rows are split, or given to a function that nobody can look into."""
        if isinstance(func, Lib) and func.name == _SPLITS and isinstance(result, Sequence):
            parts = [each for each in result.content.items if isinstance(each, Plain)]
            self.parts.update((each.symbol, each.flow.rows) for each in parts)
        elif self.parts and not (isinstance(func, Lib) and func.name.startswith(_KNOWN)):
            self.touched.update(_stem(each.symbol) for each in call.values if isinstance(each, Plain))

    def changed(self, value: Value) -> None:
        """Note that an array or a table changes in place."""
        if self.parts and isinstance(value, Plain):
            self.touched.add(_stem(value.symbol))

    def of(self, value: Value) -> frozenset[int]:
        """What is known of the rows in a tensor that is made of such a part; nothing for any other."""
        array = array_of(value)
        symbol = _stem(array.symbol) if isinstance(array, Plain) else ()
        return self.parts.get(symbol, frozenset()) if symbol not in self.touched else frozenset()


def array_of(value: Value) -> Value:
    """The array or table that a tensor, or a batch of it, was made of; the value where there is none."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.args and (made.name in _KEEPS or padding.arranges(made)):
        value = made.args[0]
        made = value.meta if isinstance(value, Tensor) else None
    return value


def _stem(symbol: Symbol) -> Symbol:
    """The symbol of the table that an array has the values of, or a column of."""
    while (symbol[0] == "." and symbol[2] == "values") or (symbol[0] == "[]" and symbol[2][0] != CHANGED):
        symbol = symbol[1]
    return symbol
