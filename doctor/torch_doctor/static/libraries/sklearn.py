"""scikit-learn: estimators, and what splits rows (https://scikit-learn.org/stable/api/index.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Array, Arrays, Library, members
from torch_doctor.static.tables import words

_ROWS = Array("float64", 2)
_CLASSES = Array("int64", 1, labels=True)
_QUANTITIES = Array("float64", 1)
_SHARES = """
    accuracy_score balanced_accuracy_score f1_score fbeta_score precision_score recall_score jaccard_score roc_auc_score
    average_precision_score top_k_accuracy_score ndcg_score
    """
_GAINS = """
    r2_score explained_variance_score matthews_corrcoef cohen_kappa_score d2_absolute_error_score dcg_score
    """
_ERRORS = """
    mean_squared_error mean_absolute_error root_mean_squared_error median_absolute_error max_error hamming_loss
    mean_absolute_percentage_error mean_squared_log_error log_loss zero_one_loss brier_score_loss
    """

LIBRARY = Library(
    harmless=("sklearn",),
    harmful=members("sklearn.model_selection", "cross_val_score cross_validate GridSearchCV"),
    plain=("sklearn",),
    metrics={
        **dict.fromkeys(members("sklearn.metrics", _SHARES), "share"),
        **dict.fromkeys(members("sklearn.metrics", _GAINS), "gain"),
        **dict.fromkeys(members("sklearn.metrics", _ERRORS), "error"),
    },
    reordering=(
        *members("sklearn.utils", "shuffle resample"),
        *members("sklearn.model_selection", "train_test_split ShuffleSplit StratifiedShuffleSplit"),
    ),
    drawing=("sklearn.datasets.make_",),
    estimators=(
        *members(
            "sklearn.preprocessing",
            """
            StandardScaler MinMaxScaler MaxAbsScaler RobustScaler QuantileTransformer PowerTransformer KBinsDiscretizer
            TargetEncoder
            """,
        ),
        *members(
            "sklearn.decomposition",
            """
            PCA IncrementalPCA KernelPCA SparsePCA TruncatedSVD FastICA NMF FactorAnalysis LatentDirichletAllocation
            """,
        ),
        *members("sklearn.impute", "SimpleImputer KNNImputer IterativeImputer"),
        *members("sklearn.feature_extraction.text", "TfidfVectorizer TfidfTransformer CountVectorizer"),
        *members(
            "sklearn.feature_selection",
            "SelectKBest SelectPercentile SelectFromModel RFE RFECV VarianceThreshold GenericUnivariateSelect",
        ),
        *members("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
    ),
    composed_estimators=(
        *members("sklearn.compose", "ColumnTransformer make_column_transformer"),
        *members("sklearn.pipeline", "Pipeline make_pipeline FeatureUnion make_union"),
    ),
    splits=members("sklearn.model_selection", "train_test_split"),
    returned_arrays={
        **{
            f"sklearn.datasets.{name}": Arrays((_ROWS, _CLASSES))
            for name in words("make_classification make_moons make_circles make_blobs make_gaussian_quantiles")
        },
        "sklearn.datasets.make_regression": Arrays((_ROWS, _QUANTITIES), unless=("n_targets", "coef")),
        **{
            f"sklearn.datasets.load_{name}": Arrays((_ROWS, _CLASSES), unless=("as_frame",), only_with="return_X_y")
            for name in words("iris digits wine breast_cancer")
        },
        "sklearn.datasets.load_diabetes": Arrays((_ROWS, _QUANTITIES), unless=("as_frame",), only_with="return_X_y"),
        "sklearn.datasets.fetch_california_housing": Arrays(
            (_ROWS, _QUANTITIES), unless=("as_frame",), only_with="return_X_y"
        ),
    },
    splitters=members(
        "sklearn.model_selection",
        """
        KFold StratifiedKFold GroupKFold StratifiedGroupKFold RepeatedKFold RepeatedStratifiedKFold ShuffleSplit
        StratifiedShuffleSplit GroupShuffleSplit TimeSeriesSplit LeaveOneOut LeaveOneGroupOut PredefinedSplit
        """,
    ),
)
