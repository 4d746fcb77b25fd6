"""The smaller packages of Hugging Face: data sets, tokenizers, adapters."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    trees=(("datasets.load.", "datasets."),),
    harmless=words("datasets tokenizers huggingface_hub"),
    wrappers={
        "peft.get_peft_model": 0,
        "peft.prepare_model_for_kbit_training": 0,
        "peft.prepare_model_for_int8_training": 0,
        "optimum.bettertransformer.BetterTransformer.transform": 0,
    },
)
