from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import albumentations as A
import cv2
import imageio
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from PIL import Image
from torchvision import transforms

model = torch.nn.Conv2d(3, 8, 3)
scaled = A.Compose([A.Normalize(), A.HorizontalFlip(), ToTensorV2()])
mixed = A.Compose([A.ChannelShuffle(), ToTensorV2()])
to_tensor = transforms.Compose([transforms.Resize(32), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
mean = np.array([0.1, 0.2, 0.3])
blue, red = cv2.imread("x.png"), Image.open("x.png").convert("RGB")
x = {given}
model(x)
"""


def array(given: str) -> str:
    """A tensor of an array."""
    return f"torch.from_numpy({given}).permute(2, 0, 1).unsqueeze(0).float() / 255 - 0.5"


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (array("blue"), "BGR"),
        (array("np.array(red)"), "RGB"),
        (array("cv2.cvtColor(blue, cv2.COLOR_BGR2RGB)"), "RGB"),
        (array("cv2.cvtColor(np.asarray(red), cv2.COLOR_RGB2BGR)"), "BGR"),
        (array("cv2.cvtColor(blue, cv2.COLOR_BGR2HSV)"), ""),
        (array("cv2.cvtColor(blue, code)"), ""),
        (array("cv2.imread('x.png', 0)"), ""),
        (array("cv2.imread('x.png', cv2.IMREAD_COLOR)"), "BGR"),
        (array("imageio.imread('x.png')"), "RGB"),
        (array("blue[:, :, ::-1]"), "RGB"),
        (array("blue[..., ::-1]"), "RGB"),
        (array("blue[8:24, :, [2, 1, 0]]"), "RGB"),
        (array("blue[:, ::-1]"), "BGR"),
        (array("blue[:, :, 0]"), ""),
        (array("blue[:, :, order]"), ""),
        (array("blue.transpose(2, 0, 1)[::-1]"), ""),
        (array("np.fliplr(blue)"), "BGR"),
        (array("np.flip(blue, axis)"), ""),
        (array("np.array(Image.open('x.png').convert('L'))"), ""),
        (array("helper(blue)"), ""),
        (array("(cv2.resize(blue, (8, 8)).astype(np.float32) / 255 - mean)"), "BGR"),
        (array("(blue + np.array(red))"), ""),
        ("torch.stack([torch.from_numpy(blue), torch.from_numpy(blue)])", "BGR"),
        ("torch.stack([torch.from_numpy(blue), torch.from_numpy(np.array(red))])", ""),
        ("torch.from_numpy(blue)[[2, 1, 0]]", ""),
        ("torch.from_numpy(blue).flip(2)", ""),
        ("scaled(image=blue)['image']", "BGR"),
        ("mixed(image=blue)['image']", ""),
        ("to_tensor(red)", "RGB"),
        ("to_tensor(Image.fromarray(blue))", "BGR"),
    ],
)
def test_the_order_of_channels_is_known_where_all_that_happens_to_a_picture_is(given: str, order: str) -> None:
    told = said(SCRIPT.format(given=given), "preprocessed input: channels")
    assert told == ([f"a model gets preprocessed input: channels {order}"] if order else [])
