"""The models that libraries build, wrap and average.

Sources: the documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools

from torch_doctor.static import libraries
from torch_doctor.static.libraries.library import OPAQUE, LibraryModel
from torch_doctor.trace.words import Kind

MODEL_FACTORIES: dict[str, LibraryModel] = {
    "torch.hub.load": OPAQUE,
    **libraries.table(lambda library: library.models),
}
"""Builders of models whose packages have few; see `library_model` for the others."""
_BUILDERS = libraries.table(lambda library: library.builders)
_HEADS = libraries.table(lambda library: library.heads)

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
def library_model(name: str) -> LibraryModel | None:
    """Return what is known of the model that a call of this name builds; None: it is no known builder."""
    if (known := MODEL_FACTORIES.get(name)) is not None:
        return known
    first, _, rest = name.partition(".")
    built = _BUILDERS.get(first)
    return None if built is None else built(rest)
