"""Loaders and data sets that come in packages of their own."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words
from torch_doctor.static.tables.reading import DATA_LOADER

LIBRARY = Library(
    loaders=words(
        """
        torchdata.dataloader2.DataLoader2 torchdata.stateful_dataloader.StatefulDataLoader torchdata.nodes.Loader
        webdataset.WebLoader ffcv.loader.Loader ffcv.Loader torchio.SubjectsLoader torchio.data.SubjectsLoader
        nvidia.dali.plugin.pytorch.DALIClassificationIterator nvidia.dali.plugin.pytorch.DALIGenericIterator
        prefetch_generator.BackgroundGenerator chemprop.data.MoleculeDataLoader schnetpack.data.AtomsLoader
        """
    ),
    loader_parameters={
        "torchdata.stateful_dataloader.StatefulDataLoader": DATA_LOADER,
        "torchio.SubjectsLoader": ("dataset",),
    },
    iterable=words("webdataset.WebDataset litdata.StreamingDataset streaming.StreamingDataset"),
    map_style=("torchio.SubjectsDataset", "medmnist."),
    stored=("medmnist.",),
)
