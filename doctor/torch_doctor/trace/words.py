"""The closed vocabularies that events use to say what is known of a value."""

from __future__ import annotations

import enum
from typing import TypeAlias

Tri: TypeAlias = bool | None
"""Yes, no, or unknown (None). Unknown is a value of its own: a rule that needs certainty asks `is True` or `is False`."""


class Kind(enum.Enum):
    """What the numbers of a tensor mean."""

    __hash__ = object.__hash__  # tables have them as keys, and Enum's own is slow

    UNKNOWN = "unknown"
    LOGITS = "logits"  # what a linear or convolutional layer returns: unbounded scores
    PROBABILITIES = "probabilities"  # a softmax was applied
    LOG_PROBABILITIES = "log-probabilities"  # a log-softmax was applied
    BOUNDED = "bounded by a sigmoid"
    LOG_BOUNDED = "log of a sigmoid"
    HIDDEN = "activations"  # after a ReLU, a pooling layer, ...
    LOSS = "loss"
    BATCH = "batch"  # data as the loader gave it
    NOISE = "noise"  # torch.randn and its like: made up on the spot
    LABELS = "labels"  # class indices
    PIXELS = "pixels"  # of pictures, from 0 to 255 as they are stored


class Source(enum.Enum):
    """Where the data behind a tensor came from."""

    __hash__ = object.__hash__

    UNKNOWN = "unknown"
    LOADER = "loader"
    NOISE = "noise"
    DATA = "data"  # held as one tensor: a whole split, a graph, an array


class Retention(enum.Enum):
    """How a value outlives the iteration that made it."""

    ACCUMULATED = "accumulated"  # total += value, total = total + value
    APPENDED = "appended"
    STORED = "stored"  # history[key] = value, self.last = value
    CONCATENATED = "concatenated"  # outputs = torch.cat([outputs, value])
