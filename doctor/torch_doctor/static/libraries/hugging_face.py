"""The smaller packages of Hugging Face: data sets, tokenizers."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

SPLITS = frozenset(("datasets.load_dataset",))
"""Functions that read a data set: one split of it, or all of them, by their names."""
MADE = frozenset(
    f"datasets.Dataset.from_{name}" for name in words("dict list pandas polars generator csv json parquet text sql")
)
"""Functions that make a data set of rows of the script's own, or of its files."""
TABLES = frozenset(("datasets.DatasetDict",))
"""What maps names to data sets."""
DATASET = "datasets.Dataset"

LIBRARY = Library(
    trees=(("datasets.load.", "datasets."),),
    harmless=words("datasets tokenizers huggingface_hub"),
    wrappers={
        "optimum.bettertransformer.BetterTransformer.transform": 0,
    },
)
