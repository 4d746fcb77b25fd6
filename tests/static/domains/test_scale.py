from __future__ import annotations

import re

import pytest

from tests.said import said

SCRIPT = """
import albumentations as A
import cv2
import numpy as np
import torch
import torchvision.transforms.functional as F
from albumentations.pytorch import ToTensorV2
from PIL import Image
from torchvision import datasets, transforms

model = torch.nn.Conv2d(3, 8, 3)
image = Image.open("x.png").convert("RGB")
array, floats = np.array(image), np.array(image, dtype=np.float32)
tensor = torch.from_numpy(array).permute(2, 0, 1)
to_tensor, halves = transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)
imagenet = A.Compose([A.Normalize(mean=(0.4, 0.5, 0.6), std=(0.2, 0.2, 0.2)), ToTensorV2()])


def doubled(x):
    return x * 2 - 1


if unknown:
    maybe = array / 255.0
else:
    maybe = array
x = {given}
{then}
model(x)
"""
AS_READ, BY_255, CENTRED = "(0.0,) (1.0,)", "(0.0,) (255.0,)", "(127.5,) (127.5,)"


@pytest.mark.parametrize(
    ("given", "scale"),
    [
        ("tensor", AS_READ),
        ("tensor.float().unsqueeze(0)", AS_READ),
        ("tensor / 255", BY_255),
        ("tensor.float().div(255.0)", BY_255),
        ("(tensor / 255 - 0.5) / 0.5", CENTRED),
        ("2 * (tensor / 255) - 1", CENTRED),
        ("tensor / 127.5 - 1.0", CENTRED),
        ("1 - tensor / 255", ""),
        ("tensor / unknown", ""),
        ("torch.from_numpy(array / 255.0)", BY_255),
        ("torch.from_numpy((array / 127.5 - 1).transpose(2, 0, 1).astype(np.float32))", CENTRED),
        ("torch.from_numpy(cv2.imread('x.png', 0) / 255.0)", BY_255),
        ("torch.from_numpy(maybe)", ""),
        ("to_tensor(image)", BY_255),
        ("to_tensor(array)", BY_255),
        ("to_tensor(floats)", AS_READ),
        ("to_tensor(floats / 255)", BY_255),
        ("F.to_tensor(image)", BY_255),
        ("F.normalize(F.to_tensor(image), [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])", CENTRED),
        ("halves(to_tensor(image))", CENTRED),
        ("transforms.Compose([transforms.Resize(8), to_tensor, halves])(image)", CENTRED),
        ("transforms.Compose([to_tensor, transforms.Lambda(lambda x: x * 2 - 1)])(image)", CENTRED),
        ("transforms.Compose([to_tensor, doubled])(image)", CENTRED),
        ("transforms.Compose([to_tensor, unknown])(image)", ""),
        ("transforms.Compose([transforms.PILToTensor(), transforms.ConvertImageDtype(torch.float32)])(image)", BY_255),
        ("imagenet(image=array)['image']", "(102.0, 127.5, 153.0) (51.0,)"),
        ("torch.stack([tensor / 255, tensor / 255])", BY_255),
        ("torch.cat([tensor / 255, tensor / 2])", ""),
    ],
)
def test_images_are_scaled_by_these_numbers(given: str, scale: str) -> None:
    assert numbers_of(given) == [float(each) for each in re.findall(r"[\d.]+", scale)]


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ("tensor.float()", "x.div_(255)"),
        ("tensor.float()", "x /= 255"),
        ("tensor.float()", "x[:, 0] = x[:, 0] / 255"),
        ("tensor.float()", "x[0] -= 103.9"),
        ("tensor.float()", "for i in range(3):\n    x[i] = (x[i] - 100.0) / 50.0"),
        ("tensor / 255", "unknown(x)"),
        ("array / 255.0", "x[..., 0] -= 0.4\nx = torch.from_numpy(x)"),
        ("array / 255.0", "x[..., 0] = (x[..., 0] - 0.4) / 0.2\nx = torch.from_numpy(x)"),
        ("array / 255.0", "for i in range(3):\n    x[:, :, i] = (x[:, :, i] - 0.4) / 0.2\nx = torch.from_numpy(x)"),
        ("array / 255.0", "unknown(x)\nx = torch.from_numpy(x)"),
        ("np.array(image, dtype=np.float32)", "x -= np.array(unknown)\nx = torch.from_numpy(x)"),
        ("np.array(image, dtype=np.float32)", "np.divide(x, 255, out=x)\nx = torch.from_numpy(x)"),
        (
            "image",
            "x = transforms.Compose([to_tensor] + [transforms.Lambda(lambda x: x * 2) for _ in range(unknown)])(x)",
        ),
    ],
)
def test_what_may_change_numbers_where_they_are_leaves_no_known_scale(given: str, then: str) -> None:
    assert numbers_of(given, then) in ([], [0.0, 255.0] if then == "x /= 255" else [])


def numbers_of(given: str, then: str = "") -> list[float]:
    """The means and deviations of the images that the model gets; nothing where they are not known."""
    told = "\n".join(said(SCRIPT.format(given=given, then=then)))
    found = re.search(r"preprocessed input: scale (.*)", told)
    return [round(float(each), 6) for each in re.findall(r"[\d.]+", found.group(1))] if found else []
