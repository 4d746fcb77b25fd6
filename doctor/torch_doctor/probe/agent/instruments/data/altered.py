"""Looks for samples of two loaders that were made of the same rows: joined with altered copies of these, or read twice."""

from __future__ import annotations

import itertools
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...watching.data.row_keys import FEWEST_NUMBERS, MOST_NUMBERS, columns, row_keys
from ..instrument import Instrument as Base
from .likeness import aligned
from .read_twice import Readings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

TENSORS = ("cat", "concat", "concatenate", "vstack")
ARRAYS = ("concatenate", "vstack")
JOINS = 16  # that are compared
PARTS = 12  # of a join
FEWEST_ROWS = 16
MOST_ROWS = 4096  # of a loader, where they are only seen in its batches

Sample = tuple[int, int]  # what tells its numbers from others, and its labels from others


class Instrument(Base):
    """Remembers rows that the script joins with rows that were made of them, one of each, and finds these in two loaders."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._sources: dict[int, tuple[int, int, int]] = {}  # of a row: the join, the row it was made of, and its part
        self._compared = 0
        self._samples: dict[int, list[Sample]] = {}
        self._complete: set[int] = set()  # the loaders of which all samples are known
        self._readings = Readings(watch)
        for name in TENSORS:
            watch.patches.replace(watch.torch, name, self._joining)
        for name in ARRAYS if (numpy := sys.modules.get("numpy")) is not None else ():
            watch.patches.replace(numpy, name, self._joining)

    # --- rows that are joined ---

    def _joining(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def join(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            if self._compared < JOINS and arguments and not recorder.quiet and not recorder.inside:
                recorder.safely(self._joined, arguments[0], made)
            return made

        return join

    def _joined(self, given: Any, made: Any) -> None:
        if type(given) not in (list, tuple) or not 1 < len(given) <= PARTS or not all(map(self._has_numbers, given)):
            return
        shapes: list[Any] = [each.shape for each in given]
        rows = sum(shape[0] for shape in shapes if shape)
        fits = len(set(map(len, shapes))) == 1 and len(shapes[0]) > 1 and len(made) == rows
        recorder = self.watch.recorder
        if not fits or shapes[0][0] < FEWEST_ROWS or recorder.rests() or recorder.sites.frame(2) is None:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            parts = [self._rows(each) for each in given]
            if all(each is not None for each in parts) and sum(each.numel() for each in parts) <= MOST_NUMBERS:
                self._compared += 1
                self._remember(parts)

    def _has_numbers(self, each: Any) -> bool:
        """Whether it is a plain tensor on the CPU or an array, and not what stands for one while a function is traced."""
        torch = self.watch.torch
        if type(each) is not torch.Tensor:
            return type(each) is getattr(sys.modules.get("numpy"), "ndarray", None)
        return bool(each.device.type == "cpu" and not torch._C._are_functorch_transforms_active())

    def _remember(self, parts: list[Any]) -> None:
        """Of which row of another part each row was made, where each is most like the one at its own place there."""
        origins = list(range(len(parts)))
        for place, part in enumerate(parts):
            found = (other for other in range(place) if origins[other] == other)
            origins[place] = next((other for other in found if aligned(parts[other], part)), place)
        for place, (origin, part) in enumerate(zip(origins, parts)):  # noqa: B905 - one for each
            if origins.count(origin) > 1:
                for number, row in enumerate(row_keys(part)):
                    self._sources[row] = self._compared, origin * MOST_NUMBERS + number, place

    def _rows(self, value: Any) -> Any:
        """Rows of fractions as a matrix; None for anything else."""
        tensor = value
        if not isinstance(value, self.watch.torch.Tensor):
            if type(value).__module__ != "numpy" or "float" not in str(value.dtype):
                return None
            tensor = self.watch.torch.as_tensor(value.copy())  # strides may be negative
        if not tensor.is_floating_point() or tensor.dim() < 2 or not tensor.numel():  # noqa: PLR2004 - rows of numbers
            return None
        rows = tensor.detach().cpu().float().flatten(1)
        return rows if rows.shape[1] >= FEWEST_NUMBERS else None

    # --- samples of loaders ---

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built: all of its samples, where its data set holds them as arrays."""
        number, dataset = self.watch.recorder.references.number(loader), getattr(loader, "dataset", None)
        with suppress(Exception):  # the script's data set may hold anything
            self._readings.told(number, dataset)
        if not self._sources:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad(), suppress(Exception):
            found = columns(self.watch.torch, dataset)
            rows = self._rows(found[0]) if found else None
            if rows is not None and rows.numel() <= MOST_NUMBERS:
                self._samples[number] = list(self._keyed(rows, found[1:]))
                self._complete.add(number)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: its samples, where they were not known before."""
        tensors = list(self.watch.marks.tensors(batch)) if self._sources else []
        number = next((self.watch.marks.of(each).loader for each in tensors), 0)
        known = self._samples.setdefault(number, []) if number else []
        if not number or number in self._complete or len(known) >= MOST_ROWS:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            first = next(((each, rows) for each in tensors if (rows := self._rows(each)) is not None), None)
            if first is not None:
                known.extend(self._keyed(first[1], [each for each in tensors if each is not first[0]]))

    def _keyed(self, rows: Any, others: list[Any]) -> Iterator[Sample]:
        """The samples in rows, with what is beside each of them."""
        beside = [
            row_keys(self.watch.torch.as_tensor(each).detach().cpu().double().reshape(len(rows), -1))
            for each in others
            if len(each) == len(rows)
        ]
        return zip(row_keys(rows), map(hash, zip(*beside)) if beside else itertools.repeat(0))  # noqa: B905 - one for each

    # --- the end ---

    def at_end(self, error: BaseException | None) -> None:
        """The script ended: tells of each pair of loaders how many samples were made of the same rows."""
        found = dict(self._readings.found)
        for pair in itertools.permutations(self._samples, 2):
            samples, known = (self._samples[each] for each in pair)
            if samples and known:
                found.setdefault(pair, (len(samples), self._shared(samples, known)))
        for (loader, other), (count, shared) in found.items():
            self.watch.recorder.event(
                "SamplesShared",
                self.watch.recorder.here(),
                loader=loader,
                other=other,
                how="copies",
                samples=count,
                shared=shared,
            )

    def _shared(self, samples: list[Sample], known: list[Sample]) -> int:
        """How many samples were made of a row of which another one of those known was made, too, with the same labels."""
        parts: dict[tuple[int, int, int], set[int]] = {}
        for row, labels in known:
            if row in self._sources:
                join, source, part = self._sources[row]
                parts.setdefault((join, source, labels), set()).add(part)
        found = ((self._sources[row], labels) for row, labels in samples if row in self._sources)
        return sum(bool(parts.get((join, source, labels), set()) - {part}) for (join, source, part), labels in found)
