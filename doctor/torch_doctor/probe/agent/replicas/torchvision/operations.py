"""Operations on boxes and pictures: what `torchvision.ops`, `utils` and `io` have of them."""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch import nn

POINTS = 2  # in each direction of a cell
LARGEST = 30_000_000  # numbers at once


def box_area(boxes: Any) -> Any:
    """The areas of boxes."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(boxes1: Any, boxes2: Any) -> Any:
    """What each two boxes have in common, by what they cover."""
    low = torch.max(boxes1[:, None, :2], boxes2[:, :2])
    high = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])
    common = (high - low).clamp(min=0).prod(2)
    return common / (box_area(boxes1)[:, None] + box_area(boxes2) - common)


def generalized_box_iou(boxes1: Any, boxes2: Any) -> Any:
    """As `box_iou`, less what is between them."""
    low = torch.min(boxes1[:, None, :2], boxes2[:, :2])
    high = torch.max(boxes1[:, None, 2:], boxes2[:, 2:])
    around = (high - low).clamp(min=0).prod(2)
    found = box_iou(boxes1, boxes2)
    covered = (box_area(boxes1)[:, None] + box_area(boxes2)) / (1 + found)
    return found - (around - covered) / around


def nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    """The boxes that none with a better score covers."""
    order = scores.detach().argsort(descending=True)
    ordered = boxes.detach()[order]
    covers = box_iou(ordered, ordered) > iou_threshold
    covered, kept = torch.zeros_like(order, dtype=torch.bool), []
    for place in range(len(order)):
        if not covered[place]:
            kept.append(place)
            covered |= covers[place]
    return order[kept]


def batched_nms(boxes: Any, scores: Any, idxs: Any, iou_threshold: float) -> Any:
    """As `nms`, among the boxes of each group."""
    moved = boxes + (idxs.to(boxes) * (boxes.max() + 1))[:, None] if len(boxes) else boxes
    return nms(moved, scores, iou_threshold)


def roi_align(features: Any, rois: Any, scale: float, height: int, width: int, ratio: int, *aligned: bool) -> Any:
    """The mean of some points in each cell of regions, which begin with the place of their picture.

    Where the number of points is to go by the size of a region, it is `POINTS`. `aligned` is a flag, as torchvision gives it.
    """
    moved = any(aligned)
    left, top, right, bottom = (rois[:, 1:] * scale - moved / 2).unbind(1)
    least = float("-inf") if moved else 1.0
    count = ratio if ratio > 0 else POINTS
    across = _shares(left, (right - left).clamp(min=least), (width, count), features.shape[3])
    down = _shares(top, (bottom - top).clamp(min=least), (height, count), features.shape[2])
    found, places = [features.new_zeros((0, features.shape[1], height, width))], [rois.new_zeros(0, dtype=torch.int64)]
    for number, feature in enumerate(features):
        several = max(1, LARGEST // (feature[..., 0].numel() * width))
        for rows in (rois[:, 0] == number).nonzero()[:, 0].split(several):
            columns = torch.einsum("chw,kqw->kchq", feature, across[rows].to(feature))
            found.append(torch.einsum("kph,kchq->kcpq", down[rows].to(feature), columns))
            places.append(rows)
    return torch.cat(found)[torch.cat(places).argsort()]


def _shares(begin: Any, length: Any, cells: tuple[int, int], size: int) -> Any:
    """What each of `size` places has of the means of so many cells, with so many points each, of lines."""
    total = cells[0] * cells[1]
    points = begin[:, None] + (torch.arange(total, device=begin.device) + 0.5) / total * length[:, None]
    inside = (points >= -1) & (points <= size)
    points = points.clamp(0, size - 1)[..., None]
    shares = (1 - (points - torch.arange(size, device=begin.device)).abs()).clamp(min=0) * inside[..., None]
    return shares.unflatten(1, cells).mean(2)


def box_convert(boxes: Any, in_fmt: str, out_fmt: str) -> Any:
    """Boxes in another form."""
    first, second, third, fourth = boxes.unbind(-1)
    if in_fmt == "xywh":
        third, fourth = first + third, second + fourth
    elif in_fmt == "cxcywh":
        first, second, third, fourth = first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2
    if out_fmt == "xywh":
        third, fourth = third - first, fourth - second
    elif out_fmt == "cxcywh":
        first, second, third, fourth = (first + third) / 2, (second + fourth) / 2, third - first, fourth - second
    return torch.stack((first, second, third, fourth), -1)


def clip_boxes_to_image(boxes: Any, size: Any) -> Any:
    """Boxes within a picture."""
    height, width = size
    return torch.stack((boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)), -1).flatten(-2)


def sigmoid_focal_loss(
    inputs: Any, targets: Any, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Any:
    """Cross-entropy in which what is known counts less."""
    loss = nn.functional.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    known = torch.exp(-loss)
    loss = loss * (1 - known) ** gamma
    if alpha >= 0:
        loss = loss * (alpha * targets + (1 - alpha) * (1 - targets))
    return {"mean": loss.mean, "sum": loss.sum}.get(reduction, lambda: loss)()


class StochasticDepth(nn.Module):
    """Leaves rows out at random while training."""

    def __init__(self, p: float, mode: str = "row") -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Any) -> Any:  # noqa: A002 - as torch has it
        """The rows that stay, larger."""
        if not self.training or self.p == 0:
            return input
        shape = [len(input)] + [1] * (input.dim() - 1) if self.mode == "row" else [1] * input.dim()
        return input * torch.empty(shape, device=input.device).bernoulli_(1 - self.p) / (1 - self.p)


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation that learns nothing."""

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), value))

    def forward(self, x: Any) -> Any:
        """The normalised features."""
        return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)  # type: ignore[arg-type]


def make_grid(tensor: Any, nrow: int = 8, padding: int = 2, *_: Any, **__: Any) -> Any:
    """Pictures side by side."""
    whole = torch.stack(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    whole = whole[None] if whole.dim() == 3 else whole  # noqa: PLR2004 - one picture
    whole = whole.expand(-1, 3, -1, -1) if whole.shape[1] == 1 else whole
    columns = min(nrow, len(whole))
    rows = math.ceil(len(whole) / columns)
    height, width = whole.shape[2] + padding, whole.shape[3] + padding
    grid = whole.new_zeros(whole.shape[1], rows * height + padding, columns * width + padding)
    for number, picture in enumerate(whole):
        top, left = number // columns * height + padding, number % columns * width + padding
        grid[:, top : top + picture.shape[1], left : left + picture.shape[2]] = picture
    return grid


def save_image(tensor: Any, fp: Any, *_: Any, **__: Any) -> None:
    """Writes bytes where the picture would be."""
    whole = tensor[0] if isinstance(tensor, (list, tuple)) else tensor
    content = bytes(whole.detach().float().clamp(0, 1).mul(255).to(torch.uint8).flatten()[:1024].tolist())
    if hasattr(fp, "write"):
        fp.write(content)
        return
    with open(os.fspath(fp), "wb") as file:
        file.write(content)


def unchanged(image: Any, *_: Any, **__: Any) -> Any:
    """The picture, on which something would be drawn."""
    return image


def read_image(path: Any, *_: Any, **__: Any) -> Any:
    """The picture in a file, as bytes."""
    from .functional import pil_to_tensor
    from .pictures import picture_module

    return pil_to_tensor(picture_module().open(path))


def ops() -> dict[str, Any]:
    """The names of `torchvision.ops`."""
    own = (
        box_area,
        box_iou,
        generalized_box_iou,
        nms,
        batched_nms,
        box_convert,
        clip_boxes_to_image,
        sigmoid_focal_loss,
    )
    return {each.__name__: each for each in (*own, StochasticDepth, FrozenBatchNorm2d)}


def utils() -> dict[str, Any]:
    """The names of `torchvision.utils`."""
    drawing = dict.fromkeys(
        ("draw_bounding_boxes", "draw_segmentation_masks", "draw_keypoints", "flow_to_image"), unchanged
    )
    return {"make_grid": make_grid, "save_image": save_image, **drawing}
