"""Data sets of pictures: random rows of the size, number and classes that theirs have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset

from ...stand_ins import folders, picture_code
from ...stand_ins.vision_table import EMNIST_CLASSES, KNOWN, SPLITS, VisionRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...stand_ins.stand_in import StandIn

BLOCK = 2_048  # rows that are drawn; the others repeat them


class VisionDataset(Dataset[Any]):
    """A data set of pictures in a folder, with transforms."""

    stand_in: Any = None

    def __init__(
        self, root: Any = None, transforms: Any = None, transform: Any = None, target_transform: Any = None
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform, self.target_transform, self.both = transform, target_transform, transforms
        self.transforms = (
            transforms if transforms is not None or not (transform or target_transform) else self._separately
        )

    def _separately(self, image: Any, target: Any) -> tuple[Any, Any]:
        return (
            self.transform(image) if self.transform is not None else image,
            self.target_transform(target) if self.target_transform is not None else target,
        )

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        if self.both is not None:
            first, second = self.both(image, target)
            return first, second
        return self._separately(image, target)

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class MadeUp(VisionDataset):
    """A data set by its name; it reads nothing and fetches nothing."""

    name = ""

    def __init__(self, root: Any = None, *arguments: Any, **given: Any) -> None:
        words = [each for each in arguments if isinstance(each, str)]
        flags = [each for each in arguments if isinstance(each, bool)]
        functions = [each for each in arguments if callable(each)]
        named = ("transform", "target_transform")
        functions_by_name = dict(zip(named, functions)) | {name: given[name] for name in named if given.get(name)}  # noqa: B905
        super().__init__(root, given.get("transforms"), **functions_by_name)
        split = given.get("split", given.get("image_set", given.get("classes", words[0] if words else "train")))
        part = str(split).rpartition("_")[2].partition("-")[0]
        self.train = bool(given.get("train", given.get("background", flags[0] if flags else part not in SPLITS)))
        self.split = self.image_set = split
        self.target_type = given.get("target_type", "attr")
        rows = KNOWN[self.name]
        if self.name == "EMNIST":
            rows = rows._replace(classes=EMNIST_CLASSES.get(str(split), rows.classes))
        self.rows: VisionRows = rows
        self.count = rows.train if self.train else rows.test
        self.classes = [f"class {number}" for number in range(rows.classes)]
        self.class_to_idx = {each: number for number, each in enumerate(self.classes)}
        generator = torch.Generator().manual_seed(self.count)
        self._labels = torch.randint(0, max(1, rows.classes), (self.count,), generator=generator)
        if rows.array is not None:
            self._fill(rows, generator)
        elif rows.target == "class":
            self.targets = self._labels.tolist()
        shape = f"{rows.size[0]}×{rows.size[1]}" + ("" if rows.mode == "L" else f"×{len(rows.mode)}")
        sort = f", {rows.classes} classes" if rows.target == "class" else f" with {rows.target}"
        self.stand_in.tell(
            f"torchvision.datasets.{self.name}", f"{self.count} random samples {shape}{sort}", why=folders.WHY
        )

    def _fill(self, rows: VisionRows, generator: Any) -> None:
        """The arrays that hold all rows."""
        channels = len(rows.mode) if rows.mode == "RGB" else 0
        shape = {"chw": (channels, *rows.size), "hwc": (*rows.size, channels)}.get(rows.layout, rows.size)
        block = torch.randint(0, 256, (min(BLOCK, self.count), *shape), generator=generator, dtype=torch.uint8)
        images = block.repeat(-(-self.count // len(block)), *[1] * len(shape))[: self.count]
        first, second = rows.array or ("data", "targets")
        tensors = rows.layout == "tensor"
        setattr(self, first, images if tensors else images.numpy())
        setattr(
            self,
            second,
            self._labels if tensors else self._labels.numpy() if second == "labels" else self._labels.tolist(),
        )
        self.train_data = self.test_data = getattr(self, first)
        self.train_labels = self.test_labels = getattr(self, second)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not -self.count <= index < self.count:
            raise IndexError(index)
        place = int(index) % self.count
        if self.rows.array is None:
            return self._transformed(_picture(self.rows, place), self._target(place))
        first, second = self.rows.array
        stored, target = getattr(self, first)[index], getattr(self, second)[index]
        data = torch.as_tensor(stored)
        data = data.permute(1, 2, 0) if self.rows.layout == "chw" else data
        return self._transformed(from_tensor(data), int(target))

    def _target(self, place: int) -> Any:
        """What goes with a picture."""
        height, width = self.rows.size
        generator = torch.Generator().manual_seed(place)
        if self.rows.target == "mask":
            return from_tensor(
                torch.randint(0, self.rows.classes, (height, width), generator=generator, dtype=torch.uint8)
            )
        if self.rows.target == "attributes":
            kinds = [self.target_type] if isinstance(self.target_type, str) else list(self.target_type)
            made = {
                "attr": torch.randint(0, 2, (40,), generator=generator),
                "identity": torch.tensor(place % 10_177),
                "bbox": torch.tensor([10, 10, 100, 150]),
                "landmarks": torch.randint(0, 150, (10,), generator=generator),
            }
            found = tuple(made[kind] for kind in kinds)
            return found[0] if len(found) == 1 else found
        if self.rows.target == "voc":
            box = {"xmin": "10", "ymin": "10", "xmax": str(width // 2), "ymax": str(height // 2)}
            return {"annotation": {"object": [{"name": "person", "bndbox": box, "difficult": "0"}]}}
        if self.rows.target == "coco":
            area = [10.0, 10.0, width / 2, height / 2]
            return [
                {
                    "bbox": area,
                    "category_id": place % 80 + 1,
                    "area": area[2] * area[3],
                    "iscrowd": 0,
                    "image_id": place,
                }
            ]
        if self.rows.target == "captions":
            return [f"a picture of thing number {place % 7} beside another" for _ in range(5)]
        return int(self._labels[place])


class FakeData(VisionDataset):
    """Random pictures, as many as are asked for."""

    def __init__(
        self,
        size: int = 1000,
        image_size: Any = (3, 224, 224),
        num_classes: int = 10,
        transform: Any = None,
        target_transform: Any = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.size:
            raise IndexError(index)
        generator = torch.Generator().manual_seed(index + self.random_offset)
        data = torch.rand(self.image_size, generator=generator).mul(255).to(torch.uint8)
        target = int(torch.randint(0, self.num_classes, (1,), generator=generator))
        return self._transformed(from_tensor(data.permute(1, 2, 0)), target)


class DatasetFolder(VisionDataset):
    """The files of a folder, whose inner folders are the classes; made up where it is not there."""

    def __init__(
        self,
        root: Any,
        loader: Any = None,
        extensions: Any = None,
        transform: Any = None,
        target_transform: Any = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader or default_loader
        if not os.path.isdir(root):
            folders.make(str(root), extensions, self.stand_in, type(self).__name__)
        self.classes = sorted(each.name for each in os.scandir(root) if each.is_dir())
        if not self.classes:
            message = f"Couldn't find any class folder in {root}."
            raise FileNotFoundError(message)
        self.class_to_idx = {each: number for number, each in enumerate(self.classes)}
        takes = is_valid_file or (lambda path: path.lower().endswith(tuple(extensions or picture_code.READABLE)))
        self.samples = [
            (path, self.class_to_idx[each])
            for each in self.classes
            for top, _, names in sorted(os.walk(os.path.join(root, each)))
            for name in sorted(names)
            if takes(path := os.path.join(top, name))
        ]
        self.imgs, self.targets = self.samples, [target for _, target in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)


class ImageFolder(DatasetFolder):
    """The pictures of a folder, whose inner folders are the classes."""

    def __init__(
        self,
        root: Any,
        transform: Any = None,
        target_transform: Any = None,
        loader: Any = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(root, loader, None, transform, target_transform, is_valid_file)


def default_loader(path: str) -> Any:
    """The picture in a file."""
    from .pictures import picture_module

    return picture_module().open(path).convert("RGB")


pil_loader = default_loader


def from_tensor(data: Any) -> Any:
    """The picture of bytes with the channels last."""
    from .pictures import picture_module

    return picture_module().fromarray(data.numpy())


def _picture(rows: VisionRows, place: int) -> Any:
    shape = rows.size if rows.mode == "L" else (*rows.size, 3)
    generator = torch.Generator().manual_seed(place)
    return from_tensor(torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8))


def by_name(stand_in: StandIn) -> dict[str, type]:
    """All data sets, for one run."""
    VisionDataset.stand_in = stand_in
    made = {name: type(name, (MadeUp,), {"name": name}) for name in KNOWN}
    own = (VisionDataset, FakeData, DatasetFolder, ImageFolder)
    return {**made, **{each.__name__: each for each in own}}
