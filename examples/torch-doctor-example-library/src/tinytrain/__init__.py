"""A small training library: an optimizer, and what shows how training goes on."""

from tinytrain.optimizer import SignSGD
from tinytrain.showing import show_model

__all__ = ["SignSGD", "show_model"]
