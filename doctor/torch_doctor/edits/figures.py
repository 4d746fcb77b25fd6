"""What a fix may change of the figures that a script reports."""

from __future__ import annotations

import enum


class Figure(enum.Enum):
    """Something that a fix may change, with everything computed from it."""

    LOSS = "the loss"
    OUTPUTS = "the outputs of the model"
    GRADIENTS = "gradients and their norms"
    UPDATES = "the updates of the weights"
    RATES = "learning rates"
    BATCHES = "which samples a batch holds"
    RANDOM = "random numbers"
    STATE = "what a checkpoint holds"
    HERE = "the value of the corrected expression"
    TIMES = "measured times"
