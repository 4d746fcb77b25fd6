"""The digits of TensorFlow 1's tutorials, which scripts of the time read with torch, too."""

from __future__ import annotations

import importlib
import types
from typing import Any, NamedTuple

from .. import told
from ..unknown.things import current

PIXELS, CLASSES, BRIGHTEST = 784, 10, 255
ROWS = {"train": 60_000, "validation": 5_000, "test": 10_000}
NAME, HOW = "input_data.read_data_sets", "60000 random samples 784, 10 classes"


class DigitSet:
    """One of the three sets: rows of pixels between 0 and 1, and the class of each."""

    def __init__(self, numpy: Any, count: int, *, one_hot: bool, flat: bool, scaled: bool) -> None:
        draw = numpy.random.default_rng(count)
        pixels = draw.integers(0, BRIGHTEST + 1, (count, PIXELS), dtype=numpy.uint8)
        classes = draw.integers(0, CLASSES, count, dtype=numpy.uint8)
        self.images = pixels if flat else pixels.reshape(count, 28, 28, 1)
        if scaled:
            self.images = self.images.astype(numpy.float32) / numpy.float32(BRIGHTEST)
        self.labels = numpy.eye(CLASSES)[classes] if one_hot else classes
        self.num_examples, self.epochs_completed = count, 0
        self._next = 0

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:  # noqa: FBT001, FBT002 - TensorFlow's
        """The next rows and their classes, from the beginning again where these are the last."""
        del fake_data, shuffle  # they are random as they are
        begin = self._next if self._next + batch_size <= self.num_examples else 0
        self.epochs_completed += begin < self._next
        self._next = begin + batch_size
        return self.images[begin : self._next], self.labels[begin : self._next]


class DigitSets(NamedTuple):
    """What `read_data_sets` returns."""

    train: DigitSet
    validation: DigitSet
    test: DigitSet


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,  # noqa: FBT001, FBT002 - TensorFlow's
    one_hot: bool = False,  # noqa: FBT001, FBT002
    dtype: Any = "float32",
    reshape: bool = True,  # noqa: FBT001, FBT002
    validation_size: int = ROWS["validation"],
    **_: Any,
) -> DigitSets:
    """The digits, made up."""
    del train_dir, fake_data
    current().user.tell(NAME, HOW, why="TensorFlow 1's tutorials are not installed", voids=(told.VALUES,))
    numpy = importlib.import_module("numpy")
    scaled = "uint8" not in str(getattr(dtype, "__name__", dtype))
    rows = {**ROWS, "train": ROWS["train"] - validation_size, "validation": validation_size}
    return DigitSets(*(DigitSet(numpy, count, one_hot=one_hot, flat=reshape, scaled=scaled) for count in rows.values()))


def _reader() -> dict[str, Any]:
    return {"read_data_sets": read_data_sets}


def _package() -> dict[str, Any]:
    return {"input_data": types.SimpleNamespace(read_data_sets=read_data_sets)}


PARTS: dict[str, Any] = {
    "tensorflow.examples.tutorials.mnist": _package,
    "tensorflow.examples.tutorials.mnist.input_data": _reader,
    "tensorflow.contrib.learn.python.learn.datasets.mnist": _reader,
}
"""Modules of which only these names are known."""
