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

DOUBLE = frozenset(words("zeros ones empty eye linspace rand randn"))
"""Those whose numbers are float64 where no dtype is given."""

NUMBERS: Final[dict[str, float]] = {
    **{f"{module}.{name}": getattr(math, name) for module in ("math", "torch") for name in words("pi e inf")},
    "math.tau": math.tau,
    **libraries.table(lambda library: library.numbers),
}
"""Numbers that have a name."""

_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
WIDENED: Final[dict[str, tuple[str, ...]]] = {
    "sum": ("uint8",),
    "prod": ("uint8",),
    "clip": ("bool",),
    "square": ("bool",),
    "pow": ("bool",),
    "cumsum": _WHOLE[:-1],
    **dict.fromkeys(words("floor ceil"), _WHOLE),
}
"""Those that give another dtype than torch does for some."""
AVERAGES = frozenset(words("mean std var median"))
"""Those that give fractions of integers."""
FLATTENING = frozenset(words("cumsum argsort"))
"""Those that make one dimension of several where no axis is given, or may be told to."""
OTHERWISE = frozenset(words("ndmin retstep return_index return_inverse return_counts axes"))
"""Arguments that ask a function for something else."""
DTYPE_AT: Final[dict[str, int]] = {
    **dict.fromkeys(words("zeros ones empty as_tensor zeros_like ones_like empty_like"), 1),
    "full": 2,
    "full_like": 2,
    "arange": 3,
    "eye": 3,
    "linspace": 5,
}
"""Which argument is the dtype of the result, of functions of arrays that do what a function of torch of this name does."""
OWN_FRACTIONS: Final = frozenset(("as_tensor", "arange"))
"""What makes float64 of Python's own fractions: what makes an array of anything, and what counts."""

METHODS: Final[dict[str, str]] = {
    **{
        name: name
        for name in words(
            """
            reshape squeeze ravel flatten argmax argmin sum mean std var max min prod any all clip argsort dot
            """
        )
    },
    "copy": "clone",
    "transpose": "permute",
    "repeat": "repeat_interleave",
}
"""Methods of arrays that do what a method of a tensor does."""

DRAWS: Final[dict[str, tuple[int, str]]] = {
    **dict.fromkeys(words("random random_sample ranf sample standard_normal standard_exponential"), (0, "float64")),
    **dict.fromkeys(words("exponential chisquare pareto rayleigh standard_gamma standard_t weibull"), (1, "float64")),
    **dict.fromkeys(words("geometric poisson"), (1, "int64")),
    **dict.fromkeys(
        words("beta f gamma gumbel laplace logistic lognormal normal uniform vonmises wald"), (2, "float64")
    ),
    **dict.fromkeys(words("binomial integers negative_binomial randint"), (2, "int64")),
    "triangular": (3, "float64"),
    "hypergeometric": (3, "int64"),
}
"""Random draws, as functions and as methods of a generator: the place of `size`, behind the parameters, and the dtype.

Source: https://numpy.org/doc/stable/reference/random/generator.html.
"""
PICKS = frozenset(words("choice permutation permuted"))
"""Draws that give some of the items of their first argument, or of the numbers up to it, in another order."""
DRAWN: Final = "draw "
"""Begins how a random draw is named, so that it is none of torch's."""
PACKAGES = tuple(sorted({f"{name.partition('.')[0]}." for name in (*RETURNED, *ALIKE)}))
"""Packages whose functions may return arrays."""
SCALARS = frozenset(words("mean median std var sum min max amin amax prod sqrt exp log log10 float double long"))
"""What gives a number of NumPy's own type, or an array, if it gets numbers, a list or an array."""

UNCHANGED = frozenset(
    words("to_numpy tolist to_list reset_index sort_values sort_index fillna ffill bfill replace round")
)
"""Methods of arrays and tables whose result has as many dimensions and rows, and the same dtype or one that may be another."""
OTHER_ROWS = frozenset(words("dropna drop drop_duplicates sample head tail query"))
"""Methods of tables that leave rows or columns out."""
OTHER_NUMBERS = frozenset(words("map apply transform rank shift cumsum diff pct_change"))
"""Methods of tables that compute other numbers, one for each."""
VIEWS = frozenset(words("values iloc loc"))
"""Attributes of tables with the same rows and columns."""
