"""The models that libraries build, wrap and average.

Sources: the documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.libraries.library import OPAQUE, LibraryModel
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_doctor.trace.words import Tri

MODEL_FACTORIES: dict[str, LibraryModel] = {
    "torch.hub.load": OPAQUE,
    **libraries.table(lambda library: library.models),
}
"""Builders of models whose packages have few; see `library_model` for the others."""
_BUILDERS = libraries.table(lambda library: library.builders)
_HEADS = libraries.table(lambda library: library.heads)
_PARTS = libraries.table(lambda library: library.parts)
_PRETRAINED = libraries.table(lambda library: library.pretrained)
_NAMED = libraries.table(lambda library: library.named)
HEAD_METHODS = libraries.table(lambda library: library.head_methods)
"""Methods of classifiers about their last layers, and whether they build them anew."""
ANY = "*"
"""Stands for the name of a builder that nobody knows: `getattr(models, args.arch)`."""

ACTIVATIONS: dict[object, Kind] = {
    None: Kind.LOGITS,
    "sigmoid": Kind.BOUNDED,
    "softmax": Kind.PROBABILITIES,
    "softmax2d": Kind.PROBABILITIES,
    "logsoftmax": Kind.LOG_PROBABILITIES,
}
"""What models give whose `activation` says so."""
_ACTIVATED = frozenset(libraries.every(lambda library: library.activated))


@functools.lru_cache(maxsize=4096)
def classifier_head(name: str) -> tuple[str, int] | None:
    """Where the last layer of a classifier is, which gives raw scores; None: not known, or no classifier.

    It is the attribute with the last layers, and the place of the very last one in it (-1: it is that layer).
    """
    package, _, builder = name.rpartition(".")
    if not builder.islower():
        return None
    found = (head for start, head in _HEADS.items() if name.startswith(start) and start.rpartition(".")[0] == package)
    return next(found, None)


def segments(name: str) -> bool:
    """Whether a call of this name builds a model whose `activation` says what it gives."""
    return name.partition(".")[0] in _ACTIVATED and library_model(name) is not None


@functools.lru_cache(maxsize=4096)
def parts(name: str) -> Mapping[str, Tri]:
    """The parts of a library's model that are known by name, and whether they care about the mode."""
    return next((table for start, table in _PARTS.items() if name.startswith(start)), {})


@functools.lru_cache(maxsize=4096)
def pretrained(name: str) -> Mapping[str, int] | None:
    """The parameters that ask a builder for trained weights, with their positions; None: it always loads some."""
    if name.endswith(".from_pretrained"):
        return None
    asking = [start for start in _PRETRAINED if name.startswith(start)]
    return _PRETRAINED[max(asking, key=len)] if asking else {}


def member(package: str, key: object) -> str | None:
    """The builder that a package has under a name, `*` where the name is not known; None: the package is none of models."""
    found = canonical(f"{package}.{key if isinstance(key, str) else ANY}")
    return found if library_model(found) is not None else None


def named(name: str, first: object) -> str:
    """The builder that a call of this name with this first argument calls, where it builds what that names."""
    package = _NAMED.get(name)
    if package is None or not isinstance(first, str):
        return name
    return member(package, first.partition(".")[0].replace("-", "_")) or name


@functools.lru_cache(maxsize=4096)
def library_model(name: str) -> LibraryModel | None:
    """Return what is known of the model that a call of this name builds; None: it is no known builder."""
    if (known := MODEL_FACTORIES.get(name)) is not None:
        return known
    first, _, rest = name.partition(".")
    built = _BUILDERS.get(first)
    return None if built is None else built(rest)
