"""What there is to know of a library."""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """One library, by the name that it is imported by.

    Attributes:
        name: what is imported.
        repositories: words in the names of its repositories, by which `torch.hub` loads its models.
        models: the module that has its models, as functions of their names.
        create: the function of that module that makes a model by its name; empty where each model has its own.
    """

    name: str
    repositories: tuple[str, ...] = ()
    models: str = ""
    create: str = ""
