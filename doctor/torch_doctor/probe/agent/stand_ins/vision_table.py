"""What the datasets of torchvision hold: sizes of images, classes and rows.

Source: the pages of https://docs.pytorch.org/vision/stable/datasets.html and the datasets' own.
"""

from __future__ import annotations

from typing import NamedTuple


class Rows(NamedTuple):
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


_MNIST = Rows((28, 28), "L", 10, 60_000, 10_000, array=("data", "targets"), layout="tensor")
_CIFAR = Rows((32, 32), "RGB", 10, 50_000, 10_000, array=("data", "targets"), layout="hwc")


def _images(classes: int, size: tuple[int, int] = (256, 256), train: int = 512, test: int = 256) -> Rows:
    return Rows(size, "RGB", classes, train, test)


KNOWN = {
    "MNIST": _MNIST,
    "FashionMNIST": _MNIST,
    "KMNIST": _MNIST,
    "QMNIST": _MNIST,
    "EMNIST": _MNIST,
    "CIFAR10": _CIFAR,
    "CIFAR100": _CIFAR._replace(classes=100),
    "SVHN": Rows((32, 32), "RGB", 10, 73_257, 26_032, array=("data", "labels"), layout="chw"),
    "STL10": Rows((96, 96), "RGB", 10, 5_000, 8_000, array=("data", "labels"), layout="chw"),
    "USPS": Rows((16, 16), "L", 10, 7_291, 2_007, array=("data", "targets"), layout="hw"),
    "SEMEION": Rows((16, 16), "L", 10, 1_593, 1_593, array=("data", "labels"), layout="hw"),
    "CelebA": Rows((218, 178), "RGB", 2, 512, 256, "attributes"),
    "VOCSegmentation": Rows((240, 320), "RGB", 21, 512, 256, "mask"),
    "SBDataset": Rows((240, 320), "RGB", 21, 512, 256, "mask"),
    "Cityscapes": Rows((256, 512), "RGB", 34, 256, 128, "mask"),
    "VOCDetection": Rows((240, 320), "RGB", 20, 512, 256, "voc"),
    "CocoDetection": Rows((240, 320), "RGB", 80, 512, 256, "coco"),
    "CocoCaptions": Rows((240, 320), "RGB", 0, 512, 256, "captions"),
    "Flickr8k": Rows((240, 320), "RGB", 0, 512, 256, "captions"),
    "Flickr30k": Rows((240, 320), "RGB", 0, 512, 256, "captions"),
    "OxfordIIITPet": _images(37),
    "Flowers102": _images(102),
    "Food101": _images(101),
    "Caltech101": _images(101),
    "Caltech256": _images(257),
    "DTD": _images(47),
    "FGVCAircraft": _images(100),
    "StanfordCars": _images(196),
    "SUN397": _images(397),
    "Places365": _images(365),
    "Country211": _images(211),
    "Imagenette": _images(10),
    "INaturalist": _images(1_000),
    "GTSRB": _images(43, (48, 48)),
    "EuroSAT": _images(10, (64, 64)),
    "PCAM": _images(2, (96, 96)),
    "RenderedSST2": _images(2, (448, 448)),
    "FER2013": Rows((48, 48), "L", 7, 28_709, 7_178),
    "Omniglot": Rows((105, 105), "L", 964, 19_280, 13_180),
    "LSUN": _images(10),
    "ImageNet": _images(1_000),
}
EMNIST_CLASSES = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
SPLITS = frozenset({"test", "val", "valid", "validation", "testing"})
"""Values of `split` and `image_set` that are not the training part."""
