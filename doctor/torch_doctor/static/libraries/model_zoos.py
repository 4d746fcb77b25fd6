"""Packages that build models, or turn a model into another."""

from __future__ import annotations

from torch_doctor.static.libraries.library import OPAQUE, SENSITIVE, UNSURE, Library, LibraryModel


def _built(rest: str) -> LibraryModel | None:
    return SENSITIVE if rest.rpartition(".")[2].islower() or rest == "*" or rest.startswith("EfficientNet") else None


LIBRARY = Library(
    prepares=("intel_extension_for_pytorch.optimize",),
    models={
        "open_clip.create_model": OPAQUE,
        "open_clip.create_model_and_transforms": OPAQUE,
        "clip.load": LibraryModel(sensitive=None, training=False),  # the first of a pair
        "facenet_pytorch.InceptionResnetV1": SENSITIVE,
        "resnest.torch.resnest50": SENSITIVE,
        "vit_pytorch.ViT": UNSURE,
    },
    builders={"pretrainedmodels": _built, "efficientnet_pytorch": _built},
    wrappers={"torch2trt.torch2trt": 0},
    compilers=("torch2trt.torch2trt",),
    pretrained={
        "facenet_pytorch.InceptionResnetV1": {"pretrained": 0},
        "resnest.torch.resnest50": {"pretrained": 0},
    },
    averaged={"ema_pytorch.EMA": 0},
)
