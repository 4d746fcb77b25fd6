"""What learns from rows before a model does: estimators and statistics, and what splits rows into parts.

Sources: https://scikit-learn.org/stable/api/index.html, https://numpy.org/doc/stable/reference/routines.statistics.html.
"""

from __future__ import annotations

from torch_doctor.static.tables import words


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"sklearn.{module}.{name}" for name in words(names))


ESTIMATORS: frozenset[str] = frozenset(
    (
        *_of(
            "preprocessing",
            """
            StandardScaler MinMaxScaler MaxAbsScaler RobustScaler QuantileTransformer PowerTransformer KBinsDiscretizer
            TargetEncoder
            """,
        ),
        *_of(
            "decomposition",
            """
            PCA IncrementalPCA KernelPCA SparsePCA TruncatedSVD FastICA NMF FactorAnalysis LatentDirichletAllocation
            """,
        ),
        *_of("impute", "SimpleImputer KNNImputer IterativeImputer"),
        *_of("feature_extraction.text", "TfidfVectorizer TfidfTransformer CountVectorizer"),
        *_of(
            "feature_selection",
            "SelectKBest SelectPercentile SelectFromModel RFE RFECV VarianceThreshold GenericUnivariateSelect",
        ),
        *_of("discriminant_analysis", "LinearDiscriminantAnalysis"),
    )
)
"""Estimators whose result for one row depends on the numbers in the other rows.

Not: those that map every row alone (`Normalizer`, `HashingVectorizer`), and those that only number what they find
(`LabelEncoder`, `OneHotEncoder`, `OrdinalEncoder`), whose result for a row of training is the same without the others.
"""

COMPOSED: frozenset[str] = frozenset(
    (
        *_of("compose", "ColumnTransformer make_column_transformer"),
        *_of("pipeline", "Pipeline make_pipeline FeatureUnion make_union"),
    )
)
"""What fits the estimators that it is given."""

STATISTICS: frozenset[str] = frozenset(
    words("mean std var min max median amin amax nanmean nanstd nanvar nanmin nanmax nanmedian")
)
"""Functions and methods that give one number for many rows, unless they go over the features of each."""

SPLITS: frozenset[str] = frozenset(("sklearn.model_selection.train_test_split",))
"""Functions that give two parts of every array."""

SPLITTERS: frozenset[str] = frozenset(
    _of(
        "model_selection",
        """
        KFold StratifiedKFold GroupKFold StratifiedGroupKFold RepeatedKFold RepeatedStratifiedKFold ShuffleSplit
        StratifiedShuffleSplit GroupShuffleSplit TimeSeriesSplit LeaveOneOut LeaveOneGroupOut PredefinedSplit
        """,
    )
)
"""Classes whose `split` gives the indices of the rows in each part."""

CHOOSING: frozenset[str] = frozenset(
    words("head tail query sample nlargest nsmallest truncate get_group take compress drop_duplicates isin between")
)
"""Methods of tables and arrays that leave rows out."""

PLACES: frozenset[str] = frozenset(words("loc iloc at iat values"))
"""Attributes of a table through which its items are set."""
