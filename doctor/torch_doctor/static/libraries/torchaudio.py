"""torchaudio: data sets and transforms of sound."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members

LIBRARY = Library(
    harmless=members("torchaudio", "transforms functional datasets load save"),
    map_style=("torchaudio.datasets.",),
    stored=("torchaudio.datasets.",),
    random_transforms=members("torchaudio.transforms", "TimeMasking FrequencyMasking SpecAugment"),
)
