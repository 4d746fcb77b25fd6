"""What the datasets of torchvision hold: sizes of images, classes and rows.

Source: the pages of https://docs.pytorch.org/vision/stable/datasets.html and the datasets' own.
"""

from __future__ import annotations

from typing import NamedTuple


class VisionRows(NamedTuple):
    """What a dataset holds: `size` is height and width, `mode` PIL's, `target` the sort of what goes with an image.

    `array` names the attributes that hold all images and targets, where the dataset has such: `chw` where the images are
    an array of channels first.
    """

    size: tuple[int, int]
    mode: str
    classes: int
    train: int
    test: int
    target: str = "class"
    array: tuple[str, str] | None = None
    layout: str = ""


_MNIST = VisionRows((28, 28), "L", 10, 60_000, 10_000, array=("data", "targets"), layout="tensor")
_CIFAR = VisionRows((32, 32), "RGB", 10, 50_000, 10_000, array=("data", "targets"), layout="hwc")


def _images(classes: int, size: tuple[int, int], train: int, test: int) -> VisionRows:
    return VisionRows(size, "RGB", classes, train, test)


KNOWN = {
    "MNIST": _MNIST,
    "FashionMNIST": _MNIST,
    "KMNIST": _MNIST,
    "QMNIST": _MNIST,
    "EMNIST": _MNIST,
    "CIFAR10": _CIFAR,
    "CIFAR100": _CIFAR._replace(classes=100),
    "SVHN": VisionRows((32, 32), "RGB", 10, 73_257, 26_032, array=("data", "labels"), layout="chw"),
    "STL10": VisionRows((96, 96), "RGB", 10, 5_000, 8_000, array=("data", "labels"), layout="chw"),
    "USPS": VisionRows((16, 16), "L", 10, 7_291, 2_007, array=("data", "targets"), layout="hw"),
    "SEMEION": VisionRows((16, 16), "L", 10, 1_593, 1_593, array=("data", "labels"), layout="hw"),
    "CelebA": VisionRows((218, 178), "RGB", 2, 162_770, 19_962, "attributes"),
    "VOCSegmentation": VisionRows((240, 320), "RGB", 21, 1_464, 1_449, "mask"),
    "SBDataset": VisionRows((240, 320), "RGB", 21, 8_498, 2_857, "mask"),
    "Cityscapes": VisionRows((256, 512), "RGB", 34, 2_975, 500, "mask"),
    "VOCDetection": VisionRows((240, 320), "RGB", 20, 5_717, 5_823, "voc"),
    "CocoDetection": VisionRows((240, 320), "RGB", 80, 118_287, 5_000, "coco"),
    "CocoCaptions": VisionRows((240, 320), "RGB", 0, 118_287, 5_000, "captions"),
    "Flickr8k": VisionRows((240, 320), "RGB", 0, 8_000, 1_000, "captions"),
    "Flickr30k": VisionRows((240, 320), "RGB", 0, 31_000, 1_000, "captions"),
    "OxfordIIITPet": _images(37, (256, 256), 3_680, 3_669),
    "Flowers102": _images(102, (256, 256), 1_020, 6_149),
    "Food101": _images(101, (256, 256), 75_750, 25_250),
    "Caltech101": _images(101, (256, 256), 8_677, 8_677),
    "Caltech256": _images(257, (256, 256), 30_607, 30_607),
    "DTD": _images(47, (256, 256), 1_880, 1_880),
    "FGVCAircraft": _images(100, (256, 256), 6_667, 3_333),
    "StanfordCars": _images(196, (256, 256), 8_144, 8_041),
    "SUN397": _images(397, (256, 256), 108_754, 108_754),
    "Places365": _images(365, (256, 256), 1_803_460, 36_500),
    "Country211": _images(211, (256, 256), 31_650, 21_100),
    "Imagenette": _images(10, (256, 256), 9_469, 3_925),
    "INaturalist": _images(1_000, (256, 256), 500_000, 100_000),
    "GTSRB": _images(43, (48, 48), 26_640, 12_630),
    "EuroSAT": _images(10, (64, 64), 27_000, 27_000),
    "PCAM": _images(2, (96, 96), 262_144, 32_768),
    "RenderedSST2": _images(2, (448, 448), 6_920, 1_821),
    "FER2013": VisionRows((48, 48), "L", 7, 28_709, 7_178),
    "Omniglot": VisionRows((105, 105), "L", 964, 19_280, 13_180),
    "LSUN": _images(10, (256, 256), 3_033_042, 300),
    "ImageNet": _images(1_000, (256, 256), 1_281_167, 50_000),
}
EMNIST_CLASSES = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
SPLITS = frozenset({"test", "val", "valid", "validation", "testing"})
"""Values of `split` and `image_set` that are not the training part."""
