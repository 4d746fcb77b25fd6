"""Models by their names: fewer layers than theirs, heads, features and widths as theirs."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING, Any

from torch import nn

from .convolutional import VGG, AlexNet, Pooled, SqueezeNet, Swin, VisionTransformer, WithFC, stages
from .residual import BASIC, BOTTLENECKS, BasicBlock, Bottleneck, ResNet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...stand_ins.stand_in import StandIn

PLANS = {
    "vgg11": "64 M 128 M 256 256 M 512 512 M 512 512 M",
    "vgg13": "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    "vgg16": "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    "vgg19": "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M",
}
# The widths of the features that a model's last layer takes, by what that layer is called.
DENSE = {"densenet121": 1024, "densenet161": 2208, "densenet169": 1664, "densenet201": 1920}
EFFICIENT = {
    f"efficientnet_b{number}": width for number, width in enumerate((1280, 1280, 1408, 1536, 1792, 2048, 2304, 2560))
}
EFFICIENT |= {"efficientnet_v2_s": 1280, "efficientnet_v2_m": 1280, "efficientnet_v2_l": 1280}
MOBILE_3 = {"mobilenet_v3_large": (960, 1280), "mobilenet_v3_small": (576, 1024)}
CONVNEXT = {"convnext_tiny": 768, "convnext_small": 768, "convnext_base": 1024, "convnext_large": 1536}
WITH_FC = {
    "shufflenet_v2_x0_5": 1024,
    "shufflenet_v2_x1_0": 1024,
    "shufflenet_v2_x1_5": 1024,
    "shufflenet_v2_x2_0": 2048,
    "regnet_y_400mf": 440,
    "regnet_y_800mf": 784,
    "regnet_y_16gf": 3024,
    "regnet_x_400mf": 400,
    "regnet_x_800mf": 672,
}
VISION = {
    "vit_b_16": (768, 16),
    "vit_b_32": (768, 32),
    "vit_l_16": (1024, 16),
    "vit_l_32": (1024, 32),
    "vit_h_14": (1280, 14),
}
SWIN = {"swin_t": 768, "swin_s": 768, "swin_b": 1024, "swin_v2_t": 768, "swin_v2_s": 768, "swin_v2_b": 1024}


def _head(width: int, num_classes: int) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(0.2), nn.Linear(width, num_classes))


def _pooled(features: nn.Module, classifier: nn.Module, width: int) -> Any:
    model: Any = Pooled(features, classifier)
    model.last_channel = width
    return model


def _builders() -> dict[str, Callable[..., Any]]:
    """How each model is built, given the number of classes."""
    tables: tuple[tuple[Any, Callable[..., Any]], ...] = (
        (dict.fromkeys(BASIC, BasicBlock), ResNet),
        (dict.fromkeys(BOTTLENECKS, Bottleneck), ResNet),
        (
            {
                name: (plan, norm)
                for plain, plan in PLANS.items()
                for name, norm in ((plain, False), (f"{plain}_bn", True))
            },
            VGG,
        ),
        (DENSE, _dense),
        (EFFICIENT, functools.partial(_wide, (32, 16, 24, 40, 80, 112, 192, 320))),
        ({"mobilenet_v2": 1280}, functools.partial(_wide, (32, 16, 24, 32, 64, 96, 160, 320))),
        ({"mnasnet1_0": 1280}, functools.partial(_wide, (32, 16, 24, 40, 80))),
        (CONVNEXT, _convnext),
        (MOBILE_3, _mobile_3),
        ({**WITH_FC, "googlenet": 1024}, WithFC),
        ({"inception_v3": 2048}, functools.partial(WithFC, auxiliary=True)),
        (VISION, VisionTransformer),
        (SWIN, Swin),
        (dict.fromkeys(("squeezenet1_0", "squeezenet1_1"), ()), SqueezeNet),
        ({"alexnet": ()}, AlexNet),
    )
    return {
        name: functools.partial(build, *(given if isinstance(given, tuple) else (given,)))
        for table, build in tables
        for name, given in table.items()
    }


def _wide(widths: Sequence[int], width: int, num_classes: int) -> Any:
    return _pooled(nn.Sequential(*stages((*widths, width))), _head(width, num_classes), width)


def _dense(width: int, num_classes: int) -> Any:
    features = nn.Sequential(*stages((64, 128, 256, 512, width)))
    features.add_module("norm5", nn.BatchNorm2d(width))
    return _pooled(features, nn.Linear(width, num_classes), width)


def _convnext(width: int, num_classes: int) -> Any:
    head = nn.Sequential(nn.LayerNorm(width), nn.Flatten(1), nn.Linear(width, num_classes))
    return _pooled(nn.Sequential(*stages((96, 192, 384, width))), head, width)


def _mobile_3(first: int, second: int, num_classes: int) -> Any:
    head = nn.Sequential(nn.Linear(first, second), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(second, num_classes))
    return _pooled(nn.Sequential(*stages((16, 24, 40, 112, first))), head, first)


def by_name(stand_in: StandIn) -> dict[str, Any]:
    """Every model's function, and the classes that scripts build themselves."""
    functions = {name: _function(name, build, stand_in) for name, build in _builders().items()}
    return {
        "ResNet": ResNet,
        "AlexNet": AlexNet,
        "VGG": VGG,
        "BasicBlock": BasicBlock,
        "Bottleneck": Bottleneck,
        **functions,
    }


class Weights(enum.Enum):
    """The weights that a model may be asked for."""

    DEFAULT = IMAGENET1K_V1 = "IMAGENET1K_V1"
    IMAGENET1K_V2 = "IMAGENET1K_V2"
    COCO_V1 = "COCO_V1"

    def transforms(self) -> Any:
        """What pictures go through before the model."""
        from . import transforms

        size, mean, std = 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        parts = [
            transforms.Resize(256),
            transforms.CenterCrop(size),
            transforms.ToTensor(),
            transforms.Normalize(mean, std),
        ]
        return transforms.Compose(parts)

    @property
    def meta(self) -> dict[str, Any]:
        """The classes."""
        return {"categories": [f"class {number}" for number in range(1000)]}

    def get_state_dict(self, *_: Any, **__: Any) -> dict[str, Any]:
        """None: the random weights stay."""
        return {}


def _function(name: str, build: Callable[..., Any], stand_in: StandIn) -> Callable[..., Any]:
    def made(
        *arguments: Any, pretrained: Any = None, weights: Any = None, num_classes: int = 1000, **keywords: Any
    ) -> Any:
        if pretrained or weights or (arguments and arguments[0] is True):
            stand_in.tell(
                f"{name}(pretrained)", "random weights", why="the probe downloads nothing", voids=("weights",)
            )
        model = build(num_classes=num_classes)
        if keywords.get("aux_logits") is False and hasattr(model, "aux_logits"):
            model.aux_logits = False
        return model

    made.__name__ = made.__qualname__ = name
    return made
