"""MONAI: medical imaging."""

from __future__ import annotations

from torch_doctor.static.libraries.library import SENSITIVE, UNSURE, Library, LibraryModel, Package
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import trainers

# https://docs.monai.io/en/stable/networks.html#nets: those with batch norm or dropout, whatever is asked for besides.
_WITH_BATCH_NORM = words(
    "DenseNet densenet ResNet resnet SENet SEResN EfficientNet VNet AttentionUnet HighResNet AHNet"
)


def _built(rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    if not owner.startswith("networks.nets"):
        return UNSURE if owner.startswith("models") and last.islower() else None
    if last.startswith(_WITH_BATCH_NORM):
        return SENSITIVE
    return UNSURE if last[:1].isupper() else None


LIBRARY = Library(
    packages={"monai.data": Package()},
    frameworks=(trainers("monai", "monai.engines.SupervisedTrainer monai.engines.SupervisedEvaluator"),),
    loaders=("monai.data.DataLoader", "monai.data.ThreadDataLoader"),
    loader_parameters={
        "monai.data.DataLoader": ("dataset", "num_workers"),
        "monai.data.ThreadDataLoader": ("dataset",),
    },
    map_style=("monai.data.Dataset", "monai.data.CacheDataset"),
    builders={"monai": _built},
)
