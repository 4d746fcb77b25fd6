"""Numbers that count all elements of a tensor, and labels as a loader gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import padding
from torch_doctor.static.domains.domain import Written
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import words
from torch_doctor.static.training.data import arrays, batch_parts
from torch_doctor.static.values import ARRAY, Const, Making, Plain, Tensor, Value, shapes
from torch_doctor.static.values.symbols import LENGTH
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

_FLATTENED: Final = frozenset(words("flatten ravel view reshape"))
_CHOSEN: Final = frozenset(words("masked_select nonzero unique where masked_fill take gather index_select topk"))
"""What takes some elements of a tensor, or replaces some."""
_CLASSES: Final = frozenset(
    words("randint randint_like randperm multinomial bernoulli argmax bucketize > < >= <= == !=")
)
"""What gives numbers of classes, and nothing that stands for none."""
_REPEATED: Final = frozenset(words("batch [] repeat repeat_interleave tile expand expand_as flip roll narrow select"))


def counts_all(value: Value) -> bool:
    """Whether a number counts all elements of a tensor from which none was selected.

    That is `x.numel()`, the length of `x.flatten()`, or the product of two sizes or more.
    """
    if isinstance(value, Tensor):  # a size that became a tensor
        made = value.meta
        return isinstance(made, Making) and made.name in padding.TENSORS and counts_all(made.args[0])
    if not isinstance(value, Plain):
        return False
    size = value.size
    if size is not None and size.name == shapes.NUMEL:
        return _is_whole(size.args[0])
    if size is not None and size.name == arrays.METHOD and size.of == "size":
        return bool(size.args) and _is_whole(size.args[0])
    if size is not None and size.name == "size":
        return _is_flat(size.args[0])
    if size is not None and size.name == ARRAY:
        made = getattr(size.args[0], "meta", None)
        shape = made.args[0] if isinstance(made, Making) and made.name == "prod" and made.args else None
        return isinstance(shape, Plain) and shape.size is not None and shape.size.name == "shape"
    factors = list(_factors(value.symbol))
    return len(factors) > 1 and all(map(_is_size, factors)) and any(each[0] != "const" for each in factors)


def _factors(symbol: Symbol) -> Iterator[Symbol]:
    """The factors of a product."""
    if symbol[0] == "*":
        for part in symbol[1:]:
            yield from _factors(part)
    else:
        yield symbol


def _is_size(symbol: Symbol) -> bool:
    """Whether a number is the size of something, or written in the source."""
    if symbol[0] == "const":
        return isinstance(symbol[1], int)
    return bool(symbol[0] == LENGTH)


def _is_flat(value: Value) -> bool:
    """Whether a tensor has one dimension with all elements of another one."""
    made = value.meta if isinstance(value, Tensor) else None
    flat = isinstance(made, Making) and made.name in _FLATTENED and len(measured(value).shape or ()) == 1
    return flat and _is_whole(value)


def _is_whole(value: Value) -> bool:
    """Whether a tensor has all elements of those that it was made of."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name != "batch":
        if made.name in _CHOSEN or (made.name == "[]" and not padding.arranges(made)):
            return False
        first = made.args[0] if made.args else None
        made = first.meta if isinstance(first, Tensor) else None
    return True


def is_raw(run: Run, labels: Value) -> bool:
    """Whether labels are what a loader gave, moved or arranged in another way at most, and some may be void."""
    while (
        isinstance(labels, Tensor) and isinstance(made := labels.meta, Making) and made.name not in ("batch", "unbind")
    ):
        if not made.args or made.name == "[]" or not padding.arranges(made) or made in run.of(Written).made:
            return False
        labels = made.args[0]
    if isinstance(labels, Tensor):
        raw = labels.flow.source is Source.LOADER and labels.meta not in run.of(Written).made
        return raw and not _are_classes(run, labels.meta)
    return batch_parts.is_part(run, labels)


def _are_classes(run: Run, made: object) -> bool:
    """Whether all labels of a batch were drawn, or computed, among the classes, and none was changed since."""
    while isinstance(made, Making) and made not in run.of(Written).made:
        if made.name in _CLASSES:
            return True
        if made.name not in _REPEATED and not padding.arranges(made):
            return False
        made = made.args[0].meta if made.args and isinstance(made.args[0], Tensor) else None
    return False


def are_several(run: Run, labels: Value) -> bool:
    """Whether each sample has more than one label: they have several dimensions, or had before they were flattened."""
    while isinstance(labels, Tensor):
        shape = measured(labels).shape
        if shape is not None and len(shape) > 1 and shape[-1] != 1:
            return True
        made = labels.meta
        labels = made.args[0] if isinstance(made, Making) and made.args and padding.arranges(made) else Const(None)
    return batch_parts.is_flat(run, labels)
