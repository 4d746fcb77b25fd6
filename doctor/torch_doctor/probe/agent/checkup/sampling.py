"""Some batches of a loader, and what is in them."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from typing import TYPE_CHECKING, Any

from .batches import is_dense, leaves, rows, spread, taken
from .files import opened
from .owners import DATA
from .telling import fact

if TYPE_CHECKING:
    from .stage import Stage

BATCHES = 32
MANY_CLASSES = 1000
SMALL = 4  # numbers in a row below which equal rows are no wonder
CHANNELS = 4
HELD_OUT = ("val", "dev", "eval", "test")
"""What loaders of rows that are held out are called."""


class Sample:
    """The first batches of a loader, or where `spread` some from all over its data.

    `parts` are their tensors by name, `asked` the indices of their rows, in their order.
    """

    def __init__(self, name: str, loader: Any, batches: list[Any], asked: list[Any] | None = None) -> None:
        self.name = name
        self.loader = loader
        self.batches = batches
        self.asked = asked or []
        self.spread = False
        self.files: list[str] = []  # that were read for it
        self.parts: dict[str, list[Any]] = {}
        self.tracked: set[str] = set()  # parts that require gradients
        for batch in batches:
            for path, tensor in leaves(batch):
                self.tracked.update([path] * tensor.requires_grad)
                self.parts.setdefault(path, []).append(tensor.detach())

    def index(self, batch: int, row: int) -> int | None:
        """The index in the data set of a row of a batch; None where nobody can tell."""
        known = self.asked[batch] if batch < len(self.asked) else None
        asked: list[Any] = list(known) if isinstance(known, (list, tuple)) else []
        if len(asked) != rows(self.batches[batch]) or row >= len(asked):
            return None
        return int(asked[row]) if hasattr(asked[row], "__index__") else None

    def row(self, path: str, batch: int, row: int) -> Any:
        """A part of a row of a batch; None where it has none."""
        held = self.parts.get(path, [])
        if batch >= len(held):
            return None
        tensor = held[batch]
        whole = tensor.dim() and tensor.shape[0] == rows(self.batches[batch])
        return tensor[row] if whole and is_dense(tensor) else None

    def rows(self) -> int:
        """How many rows it has."""
        return sum(map(rows, self.batches))

    @property
    def whole(self) -> bool:
        """Whether all batches of the loader were looked at."""
        try:
            return self.loader is not None and len(self.batches) >= len(self.loader)
        except (TypeError, NotImplementedError):
            return False

    def hashes(self, paths: list[str]) -> list[str]:
        """A hash of every row, of these parts."""
        found: list[str] = []
        for number, batch in enumerate(self.batches):
            length = rows(batch)
            parts = [self.parts[path][number] for path in paths if number < len(self.parts.get(path, ()))]
            held = [each for each in parts if each.dim() and each.shape[0] == length and is_dense(each)]
            contents = [(tuple(each.shape[1:]), each.cpu().contiguous()) for each in held]
            for row in range(length):
                digest = hashlib.sha256()
                for shape, each in contents:  # as bytes: writing out each number takes a hundred times as long
                    size = each.element_size() * (each.numel() // length)
                    digest.update(repr(shape).encode() + ctypes.string_at(each.data_ptr() + row * size, size))
                found.append(digest.hexdigest())
        return found


def samples(stage: Stage, seconds: float) -> list[Sample]:
    """A sample of each loader, that of the one that trains first."""
    known: list[Sample] | None = stage.notes.get("samples")
    if known is None:
        known = []
        order = sorted(stage.loaders, key=lambda each: each is not stage.loader)
        names = _names(stage)
        for loader in order[:4]:
            trains, share = loader is stage.loader, seconds / max(1, len(order))
            name = names.get(id(loader)) or ("training" if trains else "other")
            with opened() as files:
                found, asked = ([], []) if trains else spread(stage.torch, loader, BATCHES, share)
            all_over = bool(found)
            try:
                if not all_over:
                    with opened() as files:
                        found, asked = taken(stage.torch, loader, BATCHES, share)
            except Exception as error:  # noqa: BLE001 - the script's own, as the loader runs its code
                first = (str(error).splitlines() or [""])[0]
                stage.notes.setdefault("unread", []).append(f"`{name}` raises {type(error).__name__}: {first}")
                continue
            if found:
                known.append(Sample(name, loader, found, asked))
                known[-1].spread, known[-1].files = all_over, files
        stage.notes["samples"] = known
    return known


def validation(stage: Stage, found: list[Sample]) -> Sample | None:
    """The sample of what is evaluated on: the loader that is called so, or another than the one that trains."""
    others = [each for each in found if each.loader is not stage.loader and not stage.catcher.loaders.get(each.loader)]
    named = [
        each for word in HELD_OUT for each in others if word in each.name.lower() and "train" not in each.name.lower()
    ]
    own = getattr(stage.loader, "dataset", None)  # many score the rows that they train on, too, and say so
    others = [each for each in others if getattr(each.loader, "dataset", None) is not own]
    return next(iter(named + others), None) if stage.loader is not None else None


def held_out(stage: Stage, sample: Sample) -> bool:
    """Whether a loader is called as one of held-out data, or gave no batch before the first update, as one that trains would."""
    named = any(word in sample.name.lower() for word in HELD_OUT) and "train" not in sample.name.lower()
    catcher = stage.catcher
    return named or not any(catcher.of.get(iterator) is sample.loader for iterator in catcher.last)


def is_drawn(stage: Stage, sample: Sample) -> bool:
    """Whether the batches stand for all data of the loader: they are all of it, from all over it, or drawn at random."""
    data = stage.torch.utils.data
    return (
        sample.whole
        or sample.spread
        or isinstance(getattr(sample.loader, "sampler", None), (data.RandomSampler, data.SubsetRandomSampler))
    )


def is_chosen(stage: Stage, sample: Sample) -> bool:
    """Whether a sampler of the script, or one with weights, decides how often each sample comes."""
    data, loader = stage.torch.utils.data, sample.loader
    usual = (data.RandomSampler, data.SequentialSampler, data.SubsetRandomSampler, data.DistributedSampler)
    groups = getattr(loader, "batch_sampler", None)
    plain = type(getattr(loader, "sampler", None)) in usual
    return loader is not None and not (plain and (groups is None or type(groups) is data.BatchSampler))


def _names(stage: Stage) -> dict[int, str]:
    """What the script calls its loaders."""
    found: dict[int, str] = {id(stage.owner.evaluated): DATA}
    spaces = [vars(sys.modules["__main__"])]
    spaces += [space for frame in reversed(stage.frames) for space in (frame.f_globals, frame.f_locals)]
    for space in spaces:
        for name, value in list(space.items()):
            if any(value is loader for loader in stage.loaders):
                found[id(value)] = name
            held = vars(value) if hasattr(value, "__dict__") and name == "self" else {}
            for inner, each in list(value.items() if isinstance(value, dict) and name[:2] != "__" else held.items()):
                if any(each is loader for loader in stage.loaders):
                    found.setdefault(id(each), str(inner))
    return found


def described(torch: Any, sample: Sample) -> list[dict[str, Any]]:
    """What is in the tensors of a sample."""
    evidence = [
        fact("samples checked", sample.rows(), group=sample.name),
        fact("batches checked", len(sample.batches), group=sample.name),
    ]
    for path, tensors in sample.parts.items():
        evidence += _of_part(torch, sample, path, tensors)
    return evidence


def _of_part(torch: Any, sample: Sample, path: str, tensors: list[Any]) -> list[dict[str, Any]]:
    group = f"{sample.name}: {path}"
    shapes = list(dict.fromkeys(" × ".join(map(str, each.shape)) or "one number" for each in tensors))
    evidence = [
        fact("shape", ", ".join(shapes[:3]) + (f" and {len(shapes) - 3} more" if len(shapes) > 3 else ""), group=group),
        fact("dtype", str(tensors[0].dtype).replace("torch.", ""), group=group),
        fact("device", str(tensors[0].device), group=group),
        fact("requires_grad", path in sample.tracked, group=group),
    ]
    numbers = [each for each in tensors if each.numel() and not each.is_complex() and is_dense(each)]
    if not numbers:
        return evidence
    flat = torch.cat([each.reshape(-1).double().cpu() for each in numbers])
    finite = flat[flat.isfinite()]
    evidence.append(fact("non-finite values", int(flat.numel() - finite.numel()), group=group, expected="0"))
    if finite.numel():
        evidence += [
            fact("least", float(finite.min()), group=group),
            fact("largest", float(finite.max()), group=group),
            fact("mean", float(finite.mean()), group=group),
            fact("deviation", float(finite.std(unbiased=False)), group=group),
        ]
    first = numbers[0]
    if first.is_floating_point() and first.dim() == 4 and 1 < first.shape[1] <= CHANNELS:
        for channel in range(first.shape[1]):
            own = torch.cat(
                [each[:, channel].reshape(-1).double().cpu() for each in numbers if each.dim() == first.dim()]
            )
            evidence += [
                fact(f"mean of channel {channel}", float(own.mean()), group=group),
                fact(f"standard deviation of channel {channel}", float(own.std(unbiased=False)), group=group),
            ]
    return evidence
