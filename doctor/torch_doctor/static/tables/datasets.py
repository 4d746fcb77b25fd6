"""Data sets whose items are known without reading them, and what wraps a data set.

Sources: https://docs.pytorch.org/docs/stable/data.html, https://docs.pytorch.org/vision/stable/datasets.html.
"""

from __future__ import annotations

from torch_doctor.static.tables import words

LABELLED: frozenset[str] = frozenset(
    f"torchvision.datasets.{name}"
    for name in words(
        """
        MNIST FashionMNIST KMNIST EMNIST QMNIST USPS SEMEION CIFAR10 CIFAR100 SVHN STL10 ImageFolder DatasetFolder
        ImageNet GTSRB Food101 Flowers102 StanfordCars FGVCAircraft DTD EuroSAT Country211 PCAM RenderedSST2 Omniglot
        Caltech256 FakeData SUN397 FER2013
        """
    )
)
"""Data sets of pairs whose second half is the number of a class, an integer of Python's."""
TARGETS_CHANGED = ("target_transform", "target_transforms", "transforms")
"""Arguments of theirs that make something else of it."""
PARTS: frozenset[str] = frozenset(f"torch.utils.data.{name}" for name in ("Subset", "random_split"))
"""Wrappers whose items are those of their first argument."""
JOINS: frozenset[str] = frozenset(("torch.utils.data.ConcatDataset",))
"""The same of each data set in a list."""
TENSORS = "torch.utils.data.TensorDataset"
LOADER = "torch.utils.data.DataLoader"
ROWS: dict[str, tuple[int, int]] = {
    **{f"torchvision.datasets.{name}": (60_000, 10_000) for name in ("MNIST", "FashionMNIST", "KMNIST")},
    **{f"torchvision.datasets.{name}": (50_000, 10_000) for name in ("CIFAR10", "CIFAR100")},
    "torchvision.datasets.USPS": (7_291, 2_007),
}
"""How many rows they have with `train=True`, their default, and with `train=False`."""
