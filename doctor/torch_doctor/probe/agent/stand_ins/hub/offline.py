"""The libraries of Hugging Face look into their caches only, and say at once that something is not there."""

from __future__ import annotations

import os

from ..stand_in import StandIn

# https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_EVALUATE_OFFLINE")


class Offline(StandIn):
    """Takes the libraries offline."""

    replaces = "the hub"

    def prepare(self) -> None:
        """Sets the variables that they read when they are imported."""
        for name in (*OFFLINE, "HF_HUB_DISABLE_TELEMETRY"):
            os.environ[name] = "1"
