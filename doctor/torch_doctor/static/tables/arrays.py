"""Arrays and tables: how many dimensions those have that libraries return, and what their methods make of them.

Sources: https://numpy.org/doc/stable/reference/routines.html, https://pandas.pydata.org/docs/reference/index.html,
https://scikit-learn.org/stable/api/sklearn.datasets.html.
"""

from __future__ import annotations

import math
from typing import Final

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

RETURNED = libraries.table(lambda library: library.returned_arrays)
"""The array or table that a function returns, or each of several."""

ALIKE = libraries.table(lambda library: library.alike)
"""Functions of arrays that do what a function of torch does, but for the dtype of what they make of nothing."""

DOUBLE = frozenset(words("zeros ones empty eye linspace rand randn normal"))
"""Those whose numbers are float64 where no dtype is given."""

NUMBERS: Final[dict[str, float]] = {
    **{f"{module}.{name}": getattr(math, name) for module in ("math", "torch") for name in words("pi e")},
    "math.tau": math.tau,
    **libraries.table(lambda library: library.numbers),
}
"""Numbers that have a name."""

WIDENED: Final[dict[str, tuple[str, ...]]] = {"sum": ("uint8",), "clip": ("bool",)}
"""Those that give another dtype than torch does for some."""
DTYPE_AT: Final[dict[str, int]] = {
    **dict.fromkeys(words("zeros ones empty as_tensor zeros_like ones_like empty_like"), 1),
    "full": 2,
    "full_like": 2,
    "arange": 3,
    "eye": 3,
    "linspace": 5,
}
"""Which argument is the dtype of the result, of functions of arrays that do what a function of torch of this name does."""
OF_PYTHON: Final = "as_tensor"
"""What makes an array of anything: of Python's own fractions, float64."""

METHODS: Final[dict[str, str]] = {
    **{name: name for name in words("reshape squeeze ravel flatten transpose argmax argmin sum mean")},
    "copy": "clone",
}
"""Methods of arrays that do what a method of a tensor does."""

UNCHANGED = frozenset(
    words("to_numpy tolist to_list reset_index sort_values sort_index fillna ffill bfill replace round")
)
"""Methods of arrays and tables whose result has as many dimensions and rows, and the same dtype or one that may be another."""
OTHER_ROWS = frozenset(words("dropna drop drop_duplicates sample head tail query"))
"""Methods of tables that leave rows or columns out."""
OTHER_NUMBERS = frozenset(words("map apply transform clip rank shift cumsum diff pct_change"))
"""Methods of tables that compute other numbers, one for each."""
VIEWS = frozenset(words("values iloc loc"))
"""Attributes of tables with the same rows and columns."""
