"""The smaller packages of Hugging Face: data sets, tokenizers."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    trees=(("datasets.load.", "datasets."),),
    harmless=words("datasets tokenizers huggingface_hub"),
    wrappers={
        "optimum.bettertransformer.BetterTransformer.transform": 0,
    },
)
