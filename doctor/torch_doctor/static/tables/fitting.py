"""What learns from rows before a model does: estimators and statistics, and what splits rows into parts.

Source: https://numpy.org/doc/stable/reference/routines.statistics.html.
"""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

ESTIMATORS = frozenset(libraries.every(lambda library: library.estimators))
"""Estimators whose result for one row depends on the numbers in the other rows.

Not: those that map every row alone (`Normalizer`, `HashingVectorizer`), and those that only number what they find
(`LabelEncoder`, `OneHotEncoder`, `OrdinalEncoder`), whose result for a row of training is the same without the others.
"""

COMPOSED = frozenset(libraries.every(lambda library: library.composed_estimators))
"""What fits the estimators that it is given."""

RESAMPLERS = libraries.table(lambda library: library.resamplers)
"""Classes whose `fit_resample` adds rows for classes that have few, and whether these are copies or altered."""

STATISTICS: frozenset[str] = frozenset(
    words("mean std var min max median amin amax nanmean nanstd nanvar nanmin nanmax nanmedian")
)
"""Functions and methods that give one number for many rows, unless they go over the features of each."""

SPLITS = frozenset(libraries.every(lambda library: library.splits))
"""Functions that give two parts of every array."""

SPLITTERS = frozenset(libraries.every(lambda library: library.splitters))
"""Classes whose `split` gives the indices of the rows in each part."""

GROUPED = frozenset(name for name in SPLITTERS if "Group" in name.rpartition(".")[2])
"""Those that keep the rows of one group together."""

CHOOSING: frozenset[str] = frozenset(
    words("head tail query sample nlargest nsmallest truncate get_group take compress drop_duplicates isin between")
)
"""Methods of tables and arrays that leave rows out."""

PLACES: frozenset[str] = frozenset(words("loc iloc at iat values"))
"""Attributes of a table through which its items are set."""
