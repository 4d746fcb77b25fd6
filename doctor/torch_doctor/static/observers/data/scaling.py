"""How the pictures of a dataset are scaled: whether its transforms normalise them, by which numbers, or a loop does so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import datasets, words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.functions import ALIKE
from torch_doctor.static.training import row_reading
from torch_doctor.static.values import (
    Const,
    Instance,
    Lib,
    Loader,
    Method,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    UnknownAttribute,
)
from torch_doctor.trace import BatchReworked, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Object, Value
    from torch_doctor.trace import Site

_FAMILIES: Final = ("torchvision.transforms.", "albumentations.")
_JOINS: Final = frozenset(("Compose", "Sequential"))
_OPEN: Final = frozenset(words("Lambda RandomApply RandomChoice RandomOrder OneOf OneOrOther SomeOf ReplayCompose"))
"""Transforms that do what others say, or only now and then."""
_CONVERTS: Final = frozenset(
    words("ToTensor PILToTensor ToImage ToImageTensor ToDtype ConvertImageDtype ToTensorV2 ToFloat")
)
_DEEPEST: Final = 5
_NORMALISES: Final = "Normalize"


_READING: Final = frozenset(
    words("size dim numel item tolist numpy type_as requires_grad_ long int bool eq ne nelement get keys items values")
)
"""Methods of what a loader gives that make no other pictures of it, beside those that change their shape or place."""
_SPARED: Final = ("builtins.", "torch.nn.functional.", "torch.eq", "torch.sum", "torch.max", "tqdm.")


class TransformChain(NamedTuple):
    """What the transforms of a data set do to the numbers of its pictures."""

    sort: str
    """The pictures, and what converts them to tensors: only what is alike in both is compared."""
    normalised_at: Site | None
    """Where they are normalised; None if they are not."""
    read_at: Site
    """Where the loader is built that gives them."""
    mean: tuple[float, ...]
    """What is subtracted, if it is known."""
    std: tuple[float, ...]
    """What divides them."""


class Chains(Lasting):
    """How the transforms of loaders' data sets scale pictures, where all of them are known."""

    known: dict[int, TransformChain] = per_run(dict)


class Scaling(
    Observer,
    called=(
        Lib,
        Tool,
        Instance,
        Unknown,
        Named(Method, lambda name: name not in ALIKE and name not in _READING),
    ),
    computed="+-*/",
):
    """What the transforms of each loader's dataset do to its numbers, where all are known, and what is computed of batches."""

    writes = (BatchReworked,)

    @override
    def computed(self, run: Run, _: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Arithmetic with what a loader gave, before a model gets it."""
        self._rework(run, operands, node)

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """A function of which it is not known that it leaves the numbers alone gets what a loader gave."""
        if isinstance(func, (Method, UnknownAttribute)):
            if func.name not in ALIKE and func.name not in _READING:
                self._rework(run, (func.of, *call.values), call.node)
        elif not (isinstance(func, Lib) and canonical(func.name).startswith(_SPARED)) or call.method == "normalize":
            self._rework(run, call.values, call.node)

    def _rework(self, run: Run, values: Iterable[Value], node: p.Node) -> None:
        if run.modules_called:
            return
        for value in values:
            given = isinstance(value, (Tensor, Unknown)) and value.flow.source is Source.LOADER
            if given and not value.flow.forwards and not _told(run, value.flow.loader):
                run.emit(BatchReworked, node, loader=value.flow.loader)

    @override
    def built(self, run: Run, thing: Object, call: Call) -> None:
        """A loader is built, over a library's dataset or one of the project's that has one chain of transforms."""
        data = thing.fields.get("dataset") if isinstance(thing, Loader) else None
        while isinstance(data, Tool) and data.name in datasets.PARTS and data.args:
            data = run.resolve(data.args[0])
        if not isinstance(data, (Tool, Instance)):
            return
        steps = _chain(run, _transform(run, data))
        if not steps and not (isinstance(data, Instance) and steps is None and _has_none(data)):
            return
        steps = steps or []
        names = [canonical(step.name) for step in steps]
        scales = [step for step, name in zip(steps, names, strict=True) if name.endswith(f".{_NORMALISES}")]
        if len(scales) > 1:
            return
        source = data.cls.name if isinstance(data, Instance) else canonical(data.name)
        converted = [name for name in names if name.rpartition(".")[2] in _CONVERTS]
        at = scales[0].born if scales else None
        known = TransformChain(
            f"{source} {converted}", at, run.site(call.node), *(_numbers(scales[0]) if scales else ((), ()))
        )
        run.of(Chains).known[thing.id] = known


def _has_none(data: Instance) -> bool:
    """Whether a data set of the project has no transform where it may have some."""
    transforms = (value for value in data.fields.values() if isinstance(value, Tool) and _is_transform(value))
    return next(transforms, None) is None and row_reading.lacks_transforms(data)


def _told(run: Run, loader: int) -> bool:
    """Whether it is known on the current path that something is computed of what a loader gives."""
    return any(event.loader == loader and event.guards <= run.guards for event in run.trace.of(BatchReworked))


def _transform(run: Run, data: Tool | Instance) -> Value | None:
    """The only chain of transforms of a dataset; None where there are several, or others may be."""
    given: list[Value]
    if isinstance(data, Instance):
        given = [value for value in data.fields.values() if isinstance(value, Tool) and _is_transform(value)]
    elif not canonical(data.name).startswith("torchvision.datasets.") or "transforms" in data.keywords:
        return None
    elif "transform" in data.fields:
        later = data.fields["transform"]
        given = [run.resolve(later)] if isinstance(later, (Tool, Sequence)) else []
    else:
        others = [value for key, value in data.keywords.items() if key != "target_transform"]
        given = [value for value in map(run.resolve, (*data.args, *others)) if not isinstance(value, (Const, Plain))]
    return given[0] if len(given) == 1 else None


def _is_transform(value: Tool) -> bool:
    return canonical(value.name).startswith(_FAMILIES)


def _chain(run: Run, value: Value | None, depth: int = _DEEPEST) -> list[Tool] | None:
    """The transforms one after the other; None where one is not known."""
    value = None if value is None else run.resolve(value)
    if isinstance(value, Sequence):
        parts = [_chain(run, item, depth - 1) for item in value.content.items] if depth else [None]
        known = [part for part in parts if part is not None]
        if value.content.rest is not None or len(known) < len(parts):
            return None
        return [step for part in known for step in part]
    if not isinstance(value, Tool) or not _is_transform(value):
        return None
    short = canonical(value.name).rpartition(".")[2]
    if short in _JOINS:
        return _chain(run, value.args[0], depth - 1) if len(value.args) == 1 and depth else None
    return None if short in _OPEN else [value]


def _numbers(step: Tool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the deviation that a picture is normalised by; () where they are not known."""
    given = dict(zip(("mean", "std"), step.args, strict=False)) | step.keywords
    mean, std = _constants(given.get("mean")), _constants(given.get("std"))
    return (mean, std) if mean and len(mean) == len(std) else ((), ())


def _constants(value: Value | None) -> tuple[float, ...]:
    items = value.content.items if isinstance(value, Sequence) and value.content.rest is None else (value,)
    numbers = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, (int, float))]
    return tuple(map(float, numbers)) if len(numbers) == len(items) else ()
