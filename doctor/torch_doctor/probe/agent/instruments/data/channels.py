"""Follows the channels of images from where a data set reads them to what a model gets, by changing one of them at a time."""

from __future__ import annotations

import copy
import functools
import itertools
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ... import claims
from ..chance import seed, undisturbed
from ..instrument import Instrument as Base
from .consuming import consumes
from .stored_samples import small_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

READERS = ("imread", "imdecode")
CHANNELS = 3
IN_RED_FIRST = 256  # the flag of OpenCV that reads images with red first
NOTHING = (-1, 0)  # no place, and no channel
SAMPLES = 2  # of a data set
PLACES = 3  # where one sample reads images
MOST_SETS = 8  # within one another
SECONDS = 0.2  # that reading a sample may take to be read again
ASKED = 4  # inputs of models that are compared with batches


class Instrument(Base):
    """Says where images are read whose channels come to a model in the order in which they were read."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._kept: dict[int, dict[int, int]] = {}  # by loader: where images are read, and how many keep their order
        self._batches: dict[int, Any] = {}
        self._asked = 0

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built: its data set reads samples a few times, on the side."""
        torch, dataset = self.watch.torch, getattr(loader, "dataset", None)
        if isinstance(dataset, torch.utils.data.IterableDataset) or not hasattr(dataset, "__getitem__"):
            return
        if any(True for _ in _readers(dataset)) and not consumes(self.watch.torch, dataset):
            with self.watch.unwatched(), undisturbed(torch):
                kept: dict[int, int] = {}
                twin = small_copy(self.watch, dataset)  # reading may change what a data set stores
                twin = dataset if twin is None else twin
                for row in range(SAMPLES):
                    for place in self._keeping(twin, row):
                        kept[place] = kept.get(place, 0) + 1
                self._kept[self.watch.recorder.references.number(loader)] = kept

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: its images are kept until the next one."""
        marks = self.watch.marks
        for tensor in marks.tensors(batch):
            loader = marks.of(tensor).loader
            if self._kept.get(loader) and tensor.dim() == CHANNELS + 1:
                self._batches[loader] = tensor.detach().clone()
                return

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model got something: whether it is a batch, as it is."""
        if not self._batches or self._asked > ASKED:
            return
        self._asked += 1
        with self.watch.unwatched(), self.watch.torch.no_grad():
            for given in self.watch.marks.tensors([*arguments, *keywords.values()]):
                for loader, batch in list(self._batches.items()):
                    if given.shape == batch.shape and bool((given.detach().cpu() == batch).all()):
                        del self._batches[loader]
                        for place, count in self._kept.pop(loader).items():
                            self.watch.recorder.measured(
                                claims.CHANNELS_KEPT, count, "images", site=place, about=[event]
                            )

    # --- samples ---

    def _keeping(self, dataset: Any, row: int) -> list[int]:
        """The places at which the sample reads an image whose channels it has in the same order, each as one of its own."""
        try:
            places: dict[int, None] = {}
            begun = time.process_time()
            before = self._image(dataset, row, places)
            if (
                time.process_time() - begun > SECONDS
                or before is None
                or not self._same(before, self._image(dataset, row, {})).all()
            ):
                return []
            return [place for place in list(places)[:PLACES] if self._follows(dataset, row, before, place)]
        except Exception:  # noqa: BLE001 - a data set that fails will say so itself
            return []

    def _follows(self, dataset: Any, row: int, before: Any, place: int) -> bool:
        """Whether a change of each channel that is read there changes the channel of the same number, and that alone."""
        for channel in range(CHANNELS):
            after = self._image(dataset, row, {}, (place, channel))
            if after is None or after.shape != before.shape:
                return False
            stays = self._same(before, after).flatten(1).all(1).tolist()
            if stays != [each != channel for each in range(CHANNELS)]:
                return False
        return True

    def _same(self, one: Any, other: Any) -> Any:
        return one == other if other is not None and one.shape == other.shape else self.watch.torch.zeros(1)

    def _image(self, dataset: Any, row: int, places: dict[int, None], changed: tuple[int, int] = NOTHING) -> Any:
        """The image in a sample, with its channels first, and where images were read; one channel of these is `changed`."""
        torch = self.watch.torch
        seed(torch, row)
        with ExitStack() as stack:
            for owner, name, reader in list(_readers(dataset)):
                stack.enter_context(_set(owner, name, self._reading(reader, places, changed)))
            sample = copy.copy(dataset)[row]
        parts = (
            sample.values() if isinstance(sample, dict) else sample if isinstance(sample, (tuple, list)) else (sample,)
        )
        for part in parts:
            found = torch.as_tensor(part) if hasattr(part, "__array_interface__") else part
            if isinstance(found, torch.Tensor) and found.dim() == CHANNELS and found.shape[0] == CHANNELS:
                return found
        return None

    def _reading(self, reader: Any, places: dict[int, None], changed: tuple[int, int]) -> Any:
        sites = self.watch.recorder.sites
        of_opencv = reader is getattr(sys.modules.get("cv2"), getattr(reader, "__name__", ""), None)

        @functools.wraps(reader)
        def read(*arguments: Any, **keywords: Any) -> Any:
            image, frame = reader(*arguments, **keywords), sites.frame(2)
            flags = keywords.get("flags", arguments[1] if len(arguments) > 1 else 1)
            stands_in = of_opencv and arguments and _is_missing(arguments[0])
            if frame is None or stands_in or _in_red_first(flags) or not _has_channels(image):
                return image
            place = sites.of_frame(frame)
            places[place] = None
            if place == changed[0]:
                image = image.copy()
                image[..., changed[1]] = image[..., changed[1]].max() - image[..., changed[1]]
            return image

        return read


def _is_missing(path: Any) -> bool:
    return isinstance(path, (str, os.PathLike)) and not os.path.lexists(path)


def _in_red_first(flags: Any) -> bool:
    return isinstance(flags, int) and flags > 0 and bool(flags & IN_RED_FIRST)


def _has_channels(image: Any) -> bool:
    """Whether an array is an image of which the first channel is another than the last: one of shades of grey has no order."""
    return getattr(image, "shape", ())[2:] == (CHANNELS,) and bool((image[..., 0] != image[..., -1]).any())


def _readers(dataset: Any) -> Iterator[tuple[Any, str, Any]]:
    """The functions that read images by which a data set, and those that it holds, may read them: where each is found."""
    seen: dict[tuple[int, str], tuple[Any, str, Any]] = {}
    waiting = [dataset] if hasattr(dataset, "__dict__") else []
    for _ in range(MOST_SETS):
        if not waiting:
            break
        one = waiting.pop()
        several = vars(one).get("datasets")
        held = vars(one).get("dataset"), *(several if type(several) in (list, tuple) else ())
        waiting += [each for each in held if hasattr(each, "__dict__")]
        for owner in itertools.chain(*map(_owners, type(one).__mro__)):
            for name in READERS:
                reader = vars(owner).get(name)
                if callable(reader):
                    seen[id(owner), name] = owner, name, reader
    yield from seen.values()


def _owners(kind: type) -> Iterator[Any]:
    """The module of a class, those that it has imported, and OpenCV."""
    module = sys.modules.get(kind.__module__)
    if module is not None:
        yield module
        yield from [each for each in vars(module).values() if type(each) is type(sys)]
    if "cv2" in sys.modules:
        yield sys.modules["cv2"]


@contextmanager
def _set(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value of an attribute, for a while."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
