"""timm: models of pictures with pretrained weights, and what trains them."""

from __future__ import annotations

from .library import Library

LIBRARY = Library(
    "timm",
    meters=("update",),
    repositories=("pytorch-image-models", "timm"),
    models="timm",
    create="create_model",
)
BUILDERS = ("timm.models._builder", "timm.models.helpers")
"""The modules whose `load_pretrained` fetches weights: since 0.8, and before."""
