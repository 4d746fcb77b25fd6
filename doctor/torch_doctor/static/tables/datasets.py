"""Data sets whose items are known without reading them, and what wraps a data set.

Source: https://docs.pytorch.org/docs/stable/data.html.
"""

from __future__ import annotations

from torch_doctor.static import libraries

LABELLED = frozenset(libraries.every(lambda library: library.labelled))
"""Data sets of pairs whose second half is the number of a class, an integer of Python's."""
TARGETS_CHANGED = ("target_transform", "target_transforms", "transforms")
"""Arguments of theirs that make something else of it."""
PARTS: frozenset[str] = frozenset(f"torch.utils.data.{name}" for name in ("Subset", "random_split"))
"""Wrappers whose items are those of their first argument."""
JOINS: frozenset[str] = frozenset(("torch.utils.data.ConcatDataset",))
"""The same of each data set in a list."""
TENSORS = "torch.utils.data.TensorDataset"
LOADER = "torch.utils.data.DataLoader"
ROWS = libraries.table(lambda library: library.rows)
"""How many rows they have with `train=True`, their default, and with `train=False`."""
