"""Datasets of torchvision whose files are not there: random rows of the right size, number, classes and transforms."""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import folders, told
from .stand_in import StandIn
from .vision_table import EMNIST_CLASSES, KNOWN, SPLITS, VisionRows

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


ROWS = "_torch_doctor_rows"
MISSING = (OSError, RuntimeError, ValueError, AssertionError, ImportError)
BLOCK = 2_048  # rows that are drawn; the others repeat them
WHY = "data not found"


class VisionDatasets(StandIn):
    """Fills datasets of torchvision whose files are not there."""

    replaces = "data not found"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Patches the datasets when `torchvision` is imported."""
        after("torchvision.datasets", functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    datasets: Any = module
    base = datasets.VisionDataset
    building: set[int] = set()
    done: set[type] = {base, datasets.FakeData}
    classes = [each for each in vars(datasets).values() if isinstance(each, type) and issubclass(each, base)]
    for found in classes:
        for cls in found.__mro__:
            if issubclass(cls, base) and cls not in done:
                done.add(cls)
                _patch_class(cls, datasets, stand_in, building)


def _patch_class(cls: Any, datasets: Any, stand_in: StandIn, building: set[int]) -> None:
    own = vars(cls)
    if "__init__" in own:
        cls.__init__ = _building(cls, cls.__init__, datasets, stand_in, building)
    if "__len__" in own:
        length = cls.__len__
        cls.__len__ = functools.wraps(length)(
            lambda self: self.__dict__[ROWS][0] if ROWS in self.__dict__ else length(self)
        )
    if "__getitem__" in own:
        item = cls.__getitem__
        cls.__getitem__ = functools.wraps(item)(
            lambda self, index: _row(self, index) if ROWS in self.__dict__ else item(self, index)
        )


def _building(cls: type, build: Callable[..., None], datasets: Any, stand_in: StandIn, building: set[int]) -> Any:
    """The constructor that looks whether the files are there, downloads nothing, and else fills in rows."""
    signature = inspect.signature(build)

    @functools.wraps(build)
    def built(self: Any, *arguments: Any, **keywords: Any) -> None:
        if id(self) in building:  # a base's constructor: the outermost decides
            build(self, *arguments, **keywords)
            return
        try:
            bound = signature.bind(self, *arguments, **keywords)
        except TypeError:
            build(self, *arguments, **keywords)  # raises what the script expects
            return
        bound.apply_defaults()
        given = {**bound.arguments, **bound.arguments.get("kwargs", {})}
        building.add(id(self))
        try:
            if "download" in bound.arguments:
                bound.arguments["download"] = False
            elif "download" in bound.arguments.get("kwargs", {}):
                bound.arguments["kwargs"] = {**bound.arguments["kwargs"], "download": False}
            try:
                build(*bound.args, **bound.kwargs)
            except MISSING as error:
                name = next((each.__name__ for each in type(self).__mro__ if each.__name__ in KNOWN), "")
                if issubclass(cls, datasets.DatasetFolder) and cls.__module__.endswith(".folder"):
                    if not folders.make(str(given["root"]), given.get("extensions"), stand_in, cls.__name__):
                        raise
                    build(*bound.args, **bound.kwargs)
                elif name and not _is_there(given):
                    _fill(self, name, given, datasets.VisionDataset, stand_in)
                else:
                    raise error from None
        finally:
            building.discard(id(self))

    return built


def _is_there(given: dict[str, Any]) -> bool:
    """Whether the folder is there and holds something: then what is wrong with it is the script's to say."""
    root = given.get("root")
    try:
        return bool(root) and given.get("download") is None and bool(os.listdir(root))
    except OSError:
        return False


def _fill(dataset: Any, name: str, given: dict[str, Any], base: Any, stand_in: StandIn) -> None:
    """Makes the dataset one of random rows."""
    rows = KNOWN[name]
    if name == "EMNIST":
        rows = rows._replace(classes=EMNIST_CLASSES.get(str(given.get("split")), rows.classes))
    split = given.get("split", given.get("image_set", given.get("classes")))
    part = str(split).rpartition("_")[2].partition("-")[0]
    training = bool(given.get("train", given.get("background", part not in SPLITS)))
    count = rows.train if training else rows.test
    transforms = {key: given.get(key) for key in ("transform", "target_transform", "transforms")}
    if transforms["transforms"] is not None:
        transforms = {"transforms": transforms["transforms"]}
    base.__init__(dataset, given.get("root") or ".", **{key: value for key, value in transforms.items() if value})
    classes = [f"class {number}" for number in range(rows.classes)]
    dataset.__dict__.update(train=training, root=given.get("root"), transform=given.get("transform"))
    dataset.__dict__.update(target_transform=given.get("target_transform"))
    for key in ("split", "image_set", "target_type", "mode"):
        if key in given:
            dataset.__dict__[key] = given[key]
    if not isinstance(getattr(type(dataset), "classes", None), list) and rows.target in ("class", "mask"):
        dataset.__dict__["classes"] = classes
    if not isinstance(getattr(type(dataset), "class_to_idx", None), property):
        dataset.__dict__["class_to_idx"] = {each: number for number, each in enumerate(classes)}
    if rows.array:
        _fill_arrays(dataset, rows, count)
    else:
        dataset.__dict__[ROWS] = (count, rows, given)
        if rows.target in ("mask", "voc"):  # as files, for who opens them without the dataset
            dataset.__dict__["images"] = [f"JPEGImages/{number:06}.jpg" for number in range(count)]
            dataset.__dict__["targets"] = [f"SegmentationClass/{number:06}.png" for number in range(count)]
        if rows.target == "class":
            targets = [number % rows.classes for number in range(count)]
            dataset.__dict__.update(targets=targets, _labels=targets)
    shape = f"{rows.size[0]}×{rows.size[1]}" + ("" if rows.mode == "L" else f"×{len(rows.mode)}")
    sort = f", {rows.classes} classes" if rows.target == "class" else f" with {rows.target}"
    stand_in.tell(f"torchvision.datasets.{name}", f"{count} random samples {shape}{sort}")


def _fill_arrays(dataset: Any, rows: VisionRows, count: int) -> None:
    import numpy as np
    import torch

    draw = np.random.default_rng(count)
    height, width = rows.size
    channels = len(rows.mode) if rows.mode == "RGB" else 0
    shape = {"chw": (channels, height, width), "hwc": (height, width, channels)}.get(rows.layout, (height, width))
    block = draw.integers(0, 256, (min(BLOCK, count), *shape), dtype=np.uint8)
    images = np.concatenate([block] * -(-count // len(block)))[:count]
    labels = draw.integers(0, rows.classes, count)
    images_name, labels_name = rows.array or ("data", "targets")
    dataset.__dict__[images_name] = torch.from_numpy(images) if rows.layout == "tensor" else images
    if rows.layout == "tensor":
        dataset.__dict__[labels_name] = torch.from_numpy(labels)
    else:
        dataset.__dict__[labels_name] = labels if labels_name == "labels" else labels.tolist()


def _row(dataset: Any, index: int) -> tuple[Any, Any]:
    """One random image and what goes with it, transformed as the dataset says."""
    import numpy as np
    from PIL import Image

    count, rows, given = dataset.__dict__[ROWS]
    if not -count <= index < count:
        raise IndexError(index)
    draw = np.random.default_rng(int(index) % count)
    shape = rows.size if rows.mode == "L" else (*rows.size, 3)
    image: Any = Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8))
    target = _target(rows, int(index) % count, draw, given)
    if dataset.transforms is not None:
        return dataset.transforms(image, target)  # type: ignore[no-any-return]
    return image, target


def _target(rows: VisionRows, index: int, draw: Any, given: dict[str, Any]) -> Any:
    """What goes with an image of this dataset."""
    import numpy as np
    import torch
    from PIL import Image

    height, width = rows.size
    if rows.target == "mask":
        return Image.fromarray(draw.integers(0, rows.classes, (height, width), dtype=np.uint8))
    if rows.target == "attributes":
        kinds = given.get("target_type") or ["attr"]
        kinds = [kinds] if isinstance(kinds, str) else kinds
        made = {
            "attr": torch.from_numpy(draw.integers(0, 2, 40)),
            "identity": int(draw.integers(0, 10_177)),
            "bbox": torch.tensor([10, 10, 100, 150]),
            "landmarks": torch.from_numpy(draw.integers(0, 150, 10)),
        }
        found = tuple(made[kind] for kind in kinds)
        return found[0] if len(found) == 1 else found
    if rows.target == "voc":
        box = {"xmin": "10", "ymin": "10", "xmax": str(width // 2), "ymax": str(height // 2)}
        one = {"name": ("person", "dog", "car")[index % 3], "bndbox": box, "difficult": "0"}
        size = {"width": str(width), "height": str(height), "depth": "3"}
        return {"annotation": {"object": [one], "size": size, "filename": f"{index}.jpg"}}
    if rows.target == "coco":
        area = [10.0, 10.0, width / 2, height / 2]
        thing = {
            "bbox": area,
            "category_id": index % 80 + 1,
            "area": area[2] * area[3],
            "iscrowd": 0,
            "image_id": index,
        }
        return [thing]
    if rows.target == "captions":
        return [f"a picture of thing number {index % 7} beside another" for _ in range(5)]
    return index % rows.classes
