"""Numbers, tables, graphs, sound, games and plots: packages beside NumPy and scikit-learn that touch no model."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Array, Arrays, Library, members
from torch_doctor.static.tables import words

LIBRARY = Library(
    neutral=words("jaxtyping beartype typeguard line_profiler memory_profiler retry tenacity backoff cachetools"),
    harmless=words(
        """
        scipy pandas polars pyarrow statsmodels matplotlib seaborn plotly bokeh h5py zarr lmdb netCDF4 xarray networkx
        rdkit numba gym gymnasium umap imblearn faiss annoy librosa soundfile
        """
    ),
    harmful=("scipy.optimize.minimize", "scipy.optimize.root"),
    plain=words("pandas matplotlib scipy"),
    # https://imbalanced-learn.org/stable/references/over_sampling.html
    resamplers={
        **dict.fromkeys(
            (
                *members("imblearn.over_sampling", "SMOTE SMOTENC SMOTEN ADASYN BorderlineSMOTE KMeansSMOTE SVMSMOTE"),
                *members("imblearn.combine", "SMOTEENN SMOTETomek"),
            ),
            "altered",
        ),
        "imblearn.over_sampling.RandomOverSampler": "copies",
    },
    alike={f"scipy.special.{name}": name for name in words("softmax log_softmax logsumexp expit erf")},
    returned_arrays={
        f"pandas.{name}": Arrays(
            (Array(rank=2),), unless=("chunksize", "iterator", "squeeze", "sheet_name", "typ", "**")
        )
        for name in words("read_csv read_table read_excel read_parquet read_feather read_pickle DataFrame")
    },
)
