"""Diffusers: diffusion models."""

from __future__ import annotations

from torch_doctor.static.libraries.library import EVALUATING_UNSURE, Library, LibraryModel

_MODELS = ("UNet", "Autoencoder", "ControlNet", "VQModel", "Transformer", "MotionAdapter")


def _built(rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    return EVALUATING_UNSURE if last == "from_pretrained" and any(part in owner for part in _MODELS) else None


LIBRARY = Library(
    schedulers=("diffusers.optimization.get_scheduler",),
    scheduler_functions=("diffusers.optimization",),
    builders={"diffusers": _built},
    averaged={"diffusers.training_utils.EMAModel": 0},
)
