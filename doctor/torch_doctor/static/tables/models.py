"""The models that libraries build, wrap and average.

Sources: the documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind, Tri

# Models of libraries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """What is known of a model that a library builds."""

    sensitive: Tri  # it has layers that behave differently in training
    training: Tri  # it is in training mode when it is returned


_SENSITIVE = LibraryModel(sensitive=True, training=True)
_INDIFFERENT = LibraryModel(sensitive=False, training=True)
_UNSURE = LibraryModel(sensitive=None, training=True)  # dropout rates of 0, which arguments raise
_OPAQUE = LibraryModel(sensitive=None, training=None)
_EVALUATING = LibraryModel(sensitive=True, training=False)
_EVALUATING_UNSURE = LibraryModel(sensitive=None, training=False)

# https://docs.pytorch.org/vision/stable/models.html; what batch norm or dropout a builder has was read off its modules
_VISION_SENSITIVE = (
    *words(
        """
        alexnet densenet efficientnet googlenet inception mnasnet mobilenet regnet resnet resnext shufflenet
        squeezenet vgg wide_resnet r3d_18 mc3_18 r2plus1d_18 maxvit s3d
        """
    ),
)
_VISION_UNSURE = (
    "vit_",
    "swin",
    "convnext",
    "mvit",
    "raft_",
)  # only by rates that arguments set; raft_large by batch norm
_VISION_CLASSES = {
    "AlexNet": _SENSITIVE,
    "DenseNet": _SENSITIVE,
    "EfficientNet": _SENSITIVE,
    "GoogLeNet": _SENSITIVE,
    "Inception3": _SENSITIVE,
    "MNASNet": _SENSITIVE,
    "MobileNetV2": _SENSITIVE,
    "MobileNetV3": _SENSITIVE,
    "RegNet": _SENSITIVE,
    "ResNet": _SENSITIVE,
    "ShuffleNetV2": _SENSITIVE,
    "SqueezeNet": _SENSITIVE,
    "VGG": _SENSITIVE,
    "ConvNeXt": _UNSURE,
    "SwinTransformer": _UNSURE,
    "VisionTransformer": _UNSURE,
    "MaxVit": _SENSITIVE,
}
_SEGMENTATION_MODELS = frozenset(
    words("Unet UnetPlusPlus MAnet Linknet FPN PSPNet PAN DeepLabV3 DeepLabV3Plus UPerNet Segformer DPT create_model")
)


def _vision_model(rest: str) -> LibraryModel | None:
    package, _, name = rest.rpartition(".")
    if name.startswith(("get_", "list_")):
        return _OPAQUE if name == "get_model" else None
    if package == "quantization":
        return LibraryModel(sensitive=True, training=None)  # quantize=True returns it evaluating
    if name.startswith(_VISION_UNSURE):
        return _UNSURE
    if package in ("detection", "segmentation", "video", "optical_flow") and name[:1].islower():
        return _SENSITIVE  # detection may freeze its batch norms, but what a detector returns depends on the mode
    if not package and name.startswith(_VISION_SENSITIVE):
        return _SENSITIVE
    return None if package else _VISION_CLASSES.get(name)


# The attribute with the last layers of torchvision's classifiers, and the place of the very last one in it (-1: it is
# that layer). What googlenet and inception_v3 return depends on the mode, squeezenet ends in a pooling layer.
_VISION_HEADS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("resnet", "resnext", "wide_resnet", "shufflenet", "regnet"), ("fc", -1)),
    **dict.fromkeys(("alexnet", "vgg"), ("classifier", 6)),
    **dict.fromkeys(("mobilenet_v2", "efficientnet", "mnasnet"), ("classifier", 1)),
    "densenet": ("classifier", -1),
    "mobilenet_v3": ("classifier", 3),
    "convnext": ("classifier", 2),
    "swin": ("head", -1),
}


@functools.lru_cache(maxsize=4096)
def classifier_head(name: str) -> tuple[str, int] | None:
    """Where the last layer of a classifier of torchvision is, which gives raw scores; None: not known, or no classifier."""
    prefix = "torchvision.models."
    builder = name.removeprefix(prefix)
    if not name.startswith(prefix) or "." in builder or not builder.islower():
        return None
    return next((head for start, head in _VISION_HEADS.items() if builder.startswith(start)), None)


# https://smp.readthedocs.io/en/latest/models.html
ACTIVATIONS: dict[object, Kind] = {
    None: Kind.LOGITS,
    "sigmoid": Kind.BOUNDED,
    "softmax": Kind.PROBABILITIES,
    "softmax2d": Kind.PROBABILITIES,
    "logsoftmax": Kind.LOG_PROBABILITIES,
}
"""What the models of segmentation_models_pytorch give, by their `activation`."""


def segments(name: str) -> bool:
    """Whether a call of this name builds a model of segmentation_models_pytorch."""
    first, _, rest = name.partition(".")
    return first == "segmentation_models_pytorch" and rest.rpartition(".")[2] in _SEGMENTATION_MODELS


@functools.lru_cache(maxsize=4096)
def library_model(name: str) -> LibraryModel | None:
    """Return what is known of the model that a call of this name builds; None: it is no known builder."""
    if (known := MODEL_FACTORIES.get(name)) is not None:
        return known
    first, _, rest = name.partition(".")
    if first == "torchvision":
        return _vision_model(rest.removeprefix("models.")) if rest.startswith("models.") else None
    return _transformers_model(rest) if first == "transformers" else _package_model(first, rest)


_TOKENIZERS = (
    "Tokenizer",
    "TokenizerFast",
    "Config",
    "Processor",
    "FeatureExtractor",
    "ImageProcessor",
    "ProcessorFast",
)
_NO_MODELS = (
    "AutoTokenizer",
    "AutoConfig",
    "GenerationConfig",
    "AutoProcessor",
    "AutoFeatureExtractor",
    "AutoImageProcessor",
)


_HEADS = ("Model", "LM", "Classification", "QuestionAnswering", "ConditionalGeneration", "PreTraining")
# Their configurations set every dropout to 0, or may (whichever model the name stands for).
_WITHOUT_DROPOUT = (
    *words("Llama Mistral Mixtral Qwen Gemma Phi3 Falcon Bloom MPT Mamba Olmo Cohere StableLm Starcoder2 DeepSeek"),
    *words("AutoModelForCausalLM ViT Dinov2 CLIP Siglip Swin ConvNext"),
)


def _transformers_model(rest: str) -> LibraryModel | None:
    # https://huggingface.co/docs/transformers/main_classes/model: from_pretrained returns the model in evaluation mode.
    owner, _, method = rest.rpartition(".")
    if not owner and method.endswith(_HEADS) and not method.startswith(("Auto", "DataCollator")):
        return _UNSURE  # built from a configuration
    if not owner or owner in _NO_MODELS or owner.endswith(_TOKENIZERS):
        return None
    if method == "from_pretrained":
        return _EVALUATING_UNSURE if owner.startswith(_WITHOUT_DROPOUT) else _EVALUATING
    if method in ("from_config", "_from_config") and owner.startswith("AutoModel"):
        return _SENSITIVE
    return None


_DIFFUSERS = ("UNet", "Autoencoder", "ControlNet", "VQModel", "Transformer", "MotionAdapter")


def _package_model(first: str, rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    match first:
        case "segmentation_models_pytorch":
            return _SENSITIVE if last in _SEGMENTATION_MODELS else None
        case "pretrainedmodels" | "efficientnet_pytorch":
            return _SENSITIVE if last.islower() or rest.startswith("EfficientNet") else None
        case "diffusers" if last == "from_pretrained" and any(part in owner for part in _DIFFUSERS):
            return _EVALUATING_UNSURE
        case "pytorch_transformers" | "pytorch_pretrained_bert" if last == "from_pretrained":
            return None if owner.endswith(_TOKENIZERS) else LibraryModel(sensitive=True, training=None)
        case "timm" | "monai":
            function = owner.startswith("models") and last.islower()
            return _UNSURE if function or (owner.startswith("networks.nets") and last[:1].isupper()) else None
        case _:
            return None


MODEL_FACTORIES: dict[str, LibraryModel] = {
    "timm.create_model": _UNSURE,
    "torch.hub.load": _OPAQUE,
    "open_clip.create_model": _OPAQUE,
    "clip.load": LibraryModel(sensitive=None, training=False),  # the first of a pair
    "open_clip.create_model_and_transforms": _OPAQUE,
    "sentence_transformers.SentenceTransformer": LibraryModel(sensitive=True, training=None),
    "ultralytics.YOLO": _OPAQUE,
    "facenet_pytorch.InceptionResnetV1": _SENSITIVE,
    "resnest.torch.resnest50": _SENSITIVE,
    "vit_pytorch.ViT": _UNSURE,
}
"""Builders of models outside torchvision, transformers and segmentation_models_pytorch; see `library_model`."""
