"""What a fix may change of the figures that a script reports."""

from __future__ import annotations

import enum


class Figure(enum.Enum):
    """Something that a fix may change, with everything computed from it."""

    LOSS = "the loss"
    OUTPUTS = "the outputs of the model"
    GRADIENTS = "gradients and their norms"
    UPDATES = "weight updates"
    RATES = "learning rates"
    BATCHES = "the samples in a batch"
    RANDOM = "random numbers"
    STATE = "the contents of checkpoints"
    HERE = "the value of the corrected expression"
    TIMES = "measured times"
