"""Models that segment and detect: one stage of features, heads as theirs."""

from __future__ import annotations

import collections
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .residual import Bottleneck, ResNet


class Backbone(nn.Module):
    """The features of a residual model, by name."""

    def __init__(self, out_channels: int = 2048) -> None:
        super().__init__()
        whole = ResNet(Bottleneck)
        self.body = nn.Sequential(
            whole.conv1, whole.bn1, whole.relu, whole.maxpool, whole.layer1, whole.layer2, whole.layer3, whole.layer4
        )
        self.out_channels = out_channels

    def forward(self, x: Any) -> Any:
        """The features."""
        return {"out": self.body(x)}


class Segmentation(nn.Module):
    """Features, and a classifier of each pixel."""

    def __init__(self, num_classes: int = 21, aux_loss: bool = False, width: int = 256) -> None:  # noqa: FBT001, FBT002
        super().__init__()
        self.backbone = Backbone()
        self.classifier = _pixels(2048, width, num_classes)
        self.aux_classifier = _pixels(2048, width, num_classes) if aux_loss else None

    def forward(self, x: Any) -> Any:
        """Logits of each pixel, by name."""
        found, size = self.backbone(x)["out"], x.shape[-2:]
        result = collections.OrderedDict(out=functional.interpolate(self.classifier(found), size, mode="bilinear"))
        if self.aux_classifier is not None:
            result["aux"] = functional.interpolate(self.aux_classifier(found), size, mode="bilinear")
        return result


class DeepLabHead(nn.Sequential):
    """A head that classifies pixels."""

    def __init__(self, in_channels: int, num_classes: int, *_: Any) -> None:
        super().__init__(*_pixels(in_channels, 256, num_classes))


FCNHead = DeepLabHead


def _pixels(inside: int, width: int, classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, width, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Conv2d(width, classes, 1),
    )


class FastRCNNPredictor(nn.Module):
    """Scores and boxes of regions."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Any) -> Any:
        """Both."""
        return self.cls_score(x), self.bbox_pred(x)


class MaskRCNNPredictor(nn.Sequential):
    """Masks of regions."""

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            collections.OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1),
            )
        )


class Heads(nn.Module):
    """What looks at regions."""

    def __init__(self, classes: int, masks: bool) -> None:  # noqa: FBT001 - one of two forms
        super().__init__()
        self.box_head = nn.Sequential(nn.Flatten(), nn.Linear(2048, 1024), nn.ReLU())
        self.box_predictor = FastRCNNPredictor(1024, classes)
        if masks:
            self.mask_predictor = MaskRCNNPredictor(256, 256, classes)


class Detector(nn.Module):
    """One region a picture: losses in training, boxes in evaluation."""

    def __init__(self, num_classes: int = 91, masks: bool = False) -> None:  # noqa: FBT001, FBT002 - one of two forms
        super().__init__()
        self.backbone = Backbone(256)
        self.roi_heads = Heads(num_classes, masks)

    def forward(self, images: Any, targets: Any = None) -> Any:
        """The losses, by name; or boxes, labels and scores of each picture."""
        if self.training and targets is None:
            message = "In training mode, targets should be passed"
            raise ValueError(message)
        found = torch.cat([self.backbone(image[None])["out"].mean((2, 3)) for image in images])
        scores, boxes = self.roi_heads.box_predictor(self.roi_heads.box_head(found))
        if not self.training:
            best = scores.argmax(1)
            return [
                {
                    "boxes": torch.tensor([[0.0, 0.0, image.shape[2], image.shape[1]]]),
                    "labels": label[None],
                    "scores": score.softmax(0).max()[None],
                }
                for image, label, score in zip(images, best, scores)  # noqa: B905 - as many
            ]
        labels = torch.stack([each["labels"][0] if len(each["labels"]) else torch.tensor(0) for each in targets])
        wanted = torch.stack(
            [each["boxes"].float().mean(0) if len(each["boxes"]) else torch.zeros(4) for each in targets]
        )
        losses = {
            "loss_classifier": functional.cross_entropy(scores, labels.to(scores.device)),
            "loss_box_reg": functional.smooth_l1_loss(boxes[:, :4], wanted.to(boxes.device) / 256),
            "loss_objectness": scores.logsumexp(1).mean() * 0.01,
            "loss_rpn_box_reg": boxes.square().mean() * 0.01,
        }
        if hasattr(self.roi_heads, "mask_predictor"):
            losses["loss_mask"] = self.roi_heads.mask_predictor(found[:, :256, None, None]).square().mean()
        return losses


SEGMENTING = (
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
    "deeplabv3_mobilenet_v3_large",
    "fcn_resnet50",
    "fcn_resnet101",
)
DETECTING = (
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "retinanet_resnet50_fpn",
)
MASKING = ("maskrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn_v2")


def segmenting() -> dict[str, Any]:
    """The names of `torchvision.models.segmentation`."""

    def build(*_: Any, num_classes: Any = None, aux_loss: Any = None, **__: Any) -> Segmentation:
        return Segmentation(num_classes or 21, bool(aux_loss))

    heads = {"DeepLabHead": DeepLabHead, "FCNHead": FCNHead}
    return {**dict.fromkeys((*SEGMENTING, "lraspp_mobilenet_v3_large"), build), **heads}


def detecting() -> dict[str, Any]:
    """The names of `torchvision.models.detection`."""

    def build(*_: Any, num_classes: Any = None, **__: Any) -> Detector:
        return Detector(num_classes or 91)

    def masking(*_: Any, num_classes: Any = None, **__: Any) -> Detector:
        return Detector(num_classes or 91, masks=True)

    names = {"FastRCNNPredictor": FastRCNNPredictor, "MaskRCNNPredictor": MaskRCNNPredictor}
    return {**dict.fromkeys(DETECTING, build), **dict.fromkeys(MASKING, masking), **names}
