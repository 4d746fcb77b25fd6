"""Models of convolutions and of patches, besides the residual ones."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

Auxiliary = collections.namedtuple("Auxiliary", ["logits", "aux_logits"])  # noqa: PYI024 - inherited names


def layer(inside: int, outside: int, stride: int) -> nn.Sequential:
    """A convolution, its normalisation and its activation."""
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
    )


def stages(widths: Sequence[int]) -> list[nn.Module]:
    """Convolutions, the first five of which halve the size."""
    return [
        layer(inside, outside, 2 if number < 5 else 1)  # noqa: PLR2004 - to a 32nd
        for number, (inside, outside) in enumerate(zip((3, *widths), widths))  # noqa: B905 - one less
    ]


class Pooled(nn.Module):
    """Features, their mean, and a classifier."""

    def __init__(self, features: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.features, self.classifier = features, classifier
        self.avgpool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class VGG(nn.Module):
    """Convolutions, and three linear layers."""

    def __init__(self, plan: str, norm: bool, num_classes: int, side: int = 7) -> None:  # noqa: FBT001 - one of two forms
        super().__init__()
        layers: list[nn.Module] = []
        inside = 3
        for word in plan.split():
            if word == "M":
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers.append(nn.Conv2d(inside, int(word), 3, padding=1))
            layers += [nn.BatchNorm2d(int(word))] * norm
            layers.append(nn.ReLU(inplace=True))
            inside = int(word)
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            nn.Linear(512 * side * side, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class AlexNet(nn.Module):
    """Five convolutions and three linear layers."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 36, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class WithFC(nn.Module):
    """Features, their mean, and a layer `fc`."""

    def __init__(self, width: int, *, num_classes: int, auxiliary: bool = False) -> None:
        super().__init__()
        self.conv1 = layer(3, 32, 2)
        self.stages = nn.Sequential(*stages((32, 64, 128, 256, width))[1:])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout()
        self.fc = nn.Linear(width, num_classes)
        self.aux_logits = auxiliary
        if auxiliary:
            self.AuxLogits = nn.Sequential(collections.OrderedDict(fc=nn.Linear(width, num_classes)))

    def forward(self, x: Any) -> Any:
        """Logits; in training those of the auxiliary head, too, where there is one."""
        found = torch.flatten(self.avgpool(self.stages(self.conv1(x))), 1)
        logits = self.fc(self.dropout(found))
        return Auxiliary(logits, self.AuxLogits(found)) if self.aux_logits and self.training else logits


class SqueezeNet(nn.Module):
    """Features, and a convolution that classifies."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = nn.Sequential(*stages((64, 128, 256, 512)))
        last = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(nn.Dropout(), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))

    def forward(self, x: Any) -> Any:
        """Logits."""
        return torch.flatten(self.classifier(self.features(x)), 1)


class VisionTransformer(nn.Module):
    """Patches, one layer of attention, and heads."""

    def __init__(self, hidden: int, patch: int, num_classes: int, image_size: int = 224) -> None:
        super().__init__()
        self.hidden_dim, self.patch_size, self.image_size = hidden, patch, image_size
        self.conv_proj = nn.Conv2d(3, hidden, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(hidden, 8, hidden, batch_first=True), 1)
        self.heads = nn.Sequential(collections.OrderedDict(head=nn.Linear(hidden, num_classes)))

    def forward(self, x: Any) -> Any:
        """Logits."""
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)
        whole = torch.cat([self.class_token.expand(len(x), -1, -1), patches], 1)
        return self.heads(self.encoder(whole)[:, 0])


class Swin(nn.Module):
    """Features, their mean, and a head."""

    def __init__(self, width: int, num_classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(*stages((96, 192, 384, width)))
        self.head = nn.Linear(width, num_classes)

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.head(self.features(x).mean((2, 3)))
