"""Stand-ins for what Hugging Face libraries would fetch: data sets, metrics, models, tokenizers; what is cached is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import downloads, metrics, models, sets, trainers

if TYPE_CHECKING:
    from ..source import Sources
    from ..told import Teller

# The libraries then look into their caches only, and say at once that something is not there.
# https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_EVALUATE_OFFLINE")


def prepare(sources: Sources, teller: Teller) -> None:
    """Takes the libraries offline, and patches each when it is imported."""
    for name in (*OFFLINE, "HF_HUB_DISABLE_TELEMETRY"):
        os.environ[name] = "1"
    sets.prepare(sources, teller)
    metrics.prepare(teller)
    downloads.prepare(sources, teller)
    models.prepare(sources, teller)
    trainers.prepare(teller)


def with_torch(teller: Teller, *, on_cpu: bool) -> None:
    """What depends on whether the CPU stands in for a GPU."""
    if on_cpu:
        trainers.on_cpu(teller)
