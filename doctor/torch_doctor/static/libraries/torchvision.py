"""torchvision: data sets, transforms and models of pictures.

Sources: https://docs.pytorch.org/vision/stable/: datasets.html, transforms.html, models.html, io.html, ops.html. What
batch norm or dropout the builder of a model has was read off its modules.
"""

from __future__ import annotations

from torch_doctor.static.libraries.library import OPAQUE, SENSITIVE, UNSURE, Library, LibraryModel, members
from torch_doctor.static.tables import words
from torch_doctor.static.tables.function import LABELS, OTHER
from torch_doctor.static.tables.loss import Loss
from torch_doctor.static.tables.reading import ChannelFunctions
from torch_doctor.trace.words import Kind, Tri

RANDOM = words(
    """
    RandomCrop RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomResizedCrop RandomSizedCrop RandomAffine
    RandomPerspective RandomErasing RandomGrayscale RandomInvert RandomPosterize RandomSolarize RandomAdjustSharpness
    RandomAutocontrast RandomEqualize ColorJitter AutoAugment RandAugment TrivialAugmentWide AugMix ElasticTransform
    RandomZoomOut RandomIoUCrop RandomPhotometricDistort RandomResize ScaleJitter RandomShortestSize
    RandomChannelPermutation CutMix MixUp RandomApply RandomChoice RandomOrder
    """
)
"""Transforms that give something else each time they are called, by their bare names."""
_TRANSFORMS = ("torchvision.transforms", "torchvision.transforms.v2", "torchvision.transforms.transforms")
_SPATIAL = words(
    """
    Resize CenterCrop RandomCrop RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip RandomRotation Pad
    RandomAffine RandomPerspective FiveCrop TenCrop ColorJitter Grayscale RandomGrayscale
    """
)

_FUNCTIONS = {
    "to_tensor": "ToTensor",
    "convert_image_dtype": "ConvertImageDtype",
    "normalize": "Normalize",
    "resize": "Resize",
    "center_crop": "CenterCrop",
    "crop": "RandomCrop",
    "hflip": "RandomHorizontalFlip",
    "vflip": "RandomVerticalFlip",
    "pad": "Pad",
}

# Public subpackages of torchvision.models; every other module in it is the home of functions that it repeats.
_PUBLIC = ("detection", "segmentation", "video", "quantization", "optical_flow", "feature_extraction")

_SENSITIVE = words(
    """
    alexnet densenet efficientnet googlenet inception mnasnet mobilenet regnet resnet resnext shufflenet
    squeezenet vgg wide_resnet r3d_18 mc3_18 r2plus1d_18 maxvit s3d
    """
)
_DROPOUT_IN_CLASSIFIER = ("alexnet", "squeezenet", "vgg")  # and no batch norm, but in those that end in `_bn`
_UNSURE = ("vit_", "swin", "convnext", "mvit", "raft_")  # by rates that arguments set; raft_large by batch norm
_CLASSES = {
    **dict.fromkeys(
        words(
            """
            AlexNet DenseNet EfficientNet GoogLeNet Inception3 MNASNet MobileNetV2 MobileNetV3 RegNet ResNet ShuffleNetV2
            SqueezeNet VGG MaxVit
            """
        ),
        SENSITIVE,
    ),
    **dict.fromkeys(words("ConvNeXt SwinTransformer VisionTransformer"), UNSURE),
}


def _spelled(name: str) -> str:
    """Drop the module between torchvision.models, or a public package in it, and what it repeats."""
    match name.split("."):
        case [_, "models", package, _, rest, *more] if package in _PUBLIC:
            return ".".join(("torchvision.models", package, rest, *more))
        case [_, "models", module, rest, *more] if module not in _PUBLIC and module[0].islower() and rest[0] != "_":
            return ".".join(("torchvision.models", rest, *more))
        case _:
            return name


def _built(rest: str) -> LibraryModel | None:
    if not rest.startswith("models."):
        return None
    package, _, name = rest.removeprefix("models.").rpartition(".")
    if not package and name == "*":
        return SENSITIVE  # nearly all of them, whichever the user names
    if name.startswith(("get_", "list_")):
        return OPAQUE if name == "get_model" else None
    if package == "quantization":
        return LibraryModel(sensitive=True, training=None)  # quantize=True returns it evaluating
    if name.startswith(_UNSURE):
        return UNSURE
    if package in ("detection", "segmentation", "video", "optical_flow") and name[:1].islower():
        return SENSITIVE  # detection may freeze its batch norms, but what a detector returns depends on the mode
    if not package and name.startswith(_DROPOUT_IN_CLASSIFIER) and not name.endswith("_bn"):
        return LibraryModel(sensitive=True, training=True, part="classifier")
    if not package and name.startswith(_SENSITIVE):
        return SENSITIVE
    return None if package else _CLASSES.get(name)


_IN_ORDER = words("conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 avgpool fc")
_RESNET: dict[str, Tri] = {name: name.startswith(("bn", "layer")) for name in _IN_ORDER}
_NORMALISED: dict[str, Tri] = {"features": True}
_BARE: dict[str, Tri] = {"features": False, "avgpool": False}

LIBRARY = Library(
    spelling={"torchvision": _spelled},
    harmless=members("torchvision", "utils transforms datasets io ops tv_tensors"),
    functions={
        **dict.fromkeys(members("torchvision.ops", "nms batched_nms"), LABELS),
        **dict.fromkeys(
            members("torchvision.ops", "box_iou generalized_box_iou box_convert roi_align roi_pool"), OTHER
        ),
    },
    # https://docs.pytorch.org/vision/stable/generated/torchvision.ops.sigmoid_focal_loss.html
    losses={
        "torchvision.ops.sigmoid_focal_loss": Loss(
            Kind.LOGITS, input_name="inputs", target_name="targets", reduction_default="none"
        )
    },
    map_style=("torchvision.datasets.",),
    stored=("torchvision.datasets.",),
    labelled=members(
        "torchvision.datasets",
        """
        MNIST FashionMNIST KMNIST EMNIST QMNIST USPS SEMEION CIFAR10 CIFAR100 SVHN STL10 ImageFolder DatasetFolder
        ImageNet GTSRB Food101 Flowers102 StanfordCars FGVCAircraft DTD EuroSAT Country211 PCAM RenderedSST2 Omniglot
        Caltech256 FakeData SUN397 FER2013
        """,
    ),
    rows={
        **dict.fromkeys(members("torchvision.datasets", "MNIST FashionMNIST KMNIST"), (60_000, 10_000)),
        **dict.fromkeys(members("torchvision.datasets", "CIFAR10 CIFAR100"), (50_000, 10_000)),
        "torchvision.datasets.USPS": (7_291, 2_007),
    },
    random_transforms=tuple(f"{package}.{name}" for package in _TRANSFORMS for name in RANDOM),
    picture_tensors=(
        *members("torchvision.io", "read_image decode_image decode_jpeg decode_png"),
        *members("torchvision.transforms", "functional.pil_to_tensor v2.functional.pil_to_tensor"),
    ),
    to_bytes=tuple(
        f"{package}.{name}" for package in _TRANSFORMS for name in words("PILToTensor ToImage ToImageTensor")
    ),
    to_floats=tuple(f"{package}.{name}" for package in _TRANSFORMS for name in words("ToTensor ConvertImageDtype")),
    transform_functions={
        f"{package}.functional.{name}": f"{package}.{transform}"
        for package in _TRANSFORMS[:2]
        for name, transform in _FUNCTIONS.items()
    },
    to_dtype=tuple(f"{package}.ToDtype" for package in _TRANSFORMS),
    spatial=tuple(f"{package}.{name}" for package in _TRANSFORMS for name in _SPATIAL),
    composed_transforms=tuple(f"{package}.Compose" for package in _TRANSFORMS),
    channels=ChannelFunctions(transforms=("torchvision.transforms.",)),
    held={
        **dict.fromkeys(members("torchvision.datasets", "MNIST FashionMNIST KMNIST EMNIST QMNIST"), "tensor"),
        **dict.fromkeys(members("torchvision.datasets", "CIFAR10 CIFAR100 SVHN STL10"), "array"),
    },
    picture_models=("torchvision.models.",),
    parts={
        **dict.fromkeys(members("torchvision.models", "resnet resnext wide_resnet"), _RESNET),
        **dict.fromkeys(
            members("torchvision.models", "densenet mobilenet efficientnet vgg11_bn vgg13_bn vgg16_bn vgg19_bn"),
            _NORMALISED,
        ),
        **dict.fromkeys(members("torchvision.models", "alexnet vgg"), _BARE),
    },
    builders={"torchvision": _built},
    named={"torchvision.models.get_model": "torchvision.models"},
    # Positional until torchvision 0.13, which warns of it: https://pytorch.org/vision/stable/models.html
    pretrained={
        "torchvision.models.": {"pretrained": 0, "weights": -1},
        "torchvision.models.get_model": {"weights": -1},
    },
    # What googlenet and inception_v3 return depends on the mode, squeezenet ends in a pooling layer.
    heads={
        **dict.fromkeys(members("torchvision.models", "resnet resnext wide_resnet shufflenet regnet"), ("fc", -1)),
        **dict.fromkeys(members("torchvision.models", "alexnet vgg"), ("classifier", 6)),
        **dict.fromkeys(members("torchvision.models", "mobilenet_v2 efficientnet mnasnet"), ("classifier", 1)),
        "torchvision.models.densenet": ("classifier", -1),
        "torchvision.models.mobilenet_v3": ("classifier", 3),
        "torchvision.models.convnext": ("classifier", 2),
        "torchvision.models.swin": ("head", -1),
    },
)
