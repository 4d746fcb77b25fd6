"""MONAI: medical imaging."""

from __future__ import annotations

from torch_doctor.static.libraries.library import UNSURE, Library, LibraryModel, Package
from torch_doctor.static.tables.framework import trainers


def _built(rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    function = owner.startswith("models") and last.islower()
    return UNSURE if function or (owner.startswith("networks.nets") and last[:1].isupper()) else None


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
