"""segmentation_models_pytorch: models that tell the class of each pixel (https://smp.readthedocs.io/en/latest/models.html)."""

from __future__ import annotations

from msgspec.structs import replace

from torch_doctor.static.libraries.library import SENSITIVE, Library, LibraryModel, Package
from torch_doctor.static.tables import words

_MODELS = frozenset(
    words("Unet UnetPlusPlus MAnet Linknet FPN PSPNet PAN DeepLabV3 DeepLabV3Plus UPerNet Segformer DPT create_model")
)


def _built(rest: str) -> LibraryModel | None:
    return replace(SENSITIVE, head=("segmentation_head", -1)) if rest.rpartition(".")[2] in _MODELS else None


LIBRARY = Library(
    packages={"segmentation_models_pytorch": Package(frozenset({"losses", "utils", "metrics", "encoders"}))},
    builders={"segmentation_models_pytorch": _built},
    activated=("segmentation_models_pytorch",),
    parts={"segmentation_models_pytorch.": {"encoder": True, "decoder": True, "classification_head": None}},
)
