"""torchtext: data sets and vocabularies of texts."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members

LIBRARY = Library(
    harmless=members("torchtext", "data.metrics vocab datasets data.utils"),
    loaders=(
        *members("torchtext.data", "BucketIterator Iterator BPTTIterator"),
        *members("torchtext.legacy.data", "BucketIterator Iterator BPTTIterator"),
    ),
)
