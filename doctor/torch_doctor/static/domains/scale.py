"""How pictures are scaled before a model gets them: by which numbers those that were read are shifted and divided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.domains import padding
from torch_doctor.static.domains.channels import TRANSFORMED, Channels, numbers_in
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.scales import Scale, Transformed
from torch_doctor.static.tables import words
from torch_doctor.static.values import ARRAY, Const, Making, Plain, Sequence, Tensor, Value, leaves
from torch_doctor.static.values.symbols import PICTURE, PIXELS
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Site

_KEEPS: Final = frozenset(
    words(
        """
        tensor as_tensor asarray from_numpy Tensor FloatTensor stack cat concat concatenate array float double half to type
        type_as flip fliplr flipud roll rot90 expand repeat interpolate number
        """
    )
)
"""How tensors are made that have the numbers of others, in another order, or mixed with those beside them."""
_CASTS: Final = frozenset(words("float double half bfloat16 to type type_as FloatTensor Tensor"))
_OPERATORS: Final = (
    dict.fromkeys(words("+ add"), "+")
    | dict.fromkeys(words("- sub subtract"), "-")
    | dict.fromkeys(words("* mul multiply"), "*")
    | dict.fromkeys(words("/ div divide true_divide"), "/")
)


class ScaledAt(NamedTuple):
    """Pictures that were read at a place, and how they are scaled."""

    site: Site
    scale: Scale


class ScaleOf(Domain[ScaledAt | None]):
    """How the pictures are scaled that a value was made of; None where that is not known, or it was made of anything else."""

    numbers = True

    def unknown(self) -> ScaledAt | None:
        """None."""
        return None

    def join(self, left: ScaledAt | None, right: ScaledAt | None) -> ScaledAt | None:
        """The first of two that are scaled alike."""
        return _alike((left, right))

    def given(self, value: Value) -> ScaledAt | None:
        """An array is told by its symbol, a tensor that was read by its kind."""
        if isinstance(value, Sequence):
            return _alike(map(self.of, leaves(value)))
        if isinstance(value, Tensor) and value.kind is Kind.PIXELS and value.origin.site is not None:
            return ScaledAt(value.origin.site, Scale())
        if not isinstance(value, Plain):
            return None
        if value.size is not None and value.size.name == ARRAY and value.symbol[0] not in (PIXELS, PICTURE):
            return self.of(value.size.args[0])
        return of_symbol(value.symbol)

    def read(self, made: Making) -> ScaledAt | None:
        """What is computed of pictures and numbers, or arranges them."""
        if made.name == "either":
            return _alike(map(self.of, made.args))
        if made.name in _OPERATORS and len(made.args) == 2 and not made.keywords:
            left, right = made.args
            of, by = (self.of(left), right) if self.of(left) is not None else (self.of(right), left)
            scale = None if of is None else computed(_OPERATORS[made.name], of.scale, by, first=by is right)
            return None if of is None or scale is None else of._replace(scale=scale)
        if made.name == TRANSFORMED and isinstance(made.of, Transformed):
            return (
                None if made.of.read_at is None or made.of.scale is None else ScaledAt(made.of.read_at, made.of.scale)
            )
        if not made.args or (made.name not in _KEEPS and made.name != "[]" and not padding.arranges(made)):
            return None
        found = _alike(map(self.of, made.args)) if made.name in ("cat", "concat") else self.of(made.args[0])
        if found is not None and made.name == "[]" and found.scale.several and not _adds_dimension(made.args[1]):
            return None
        cast = found is not None and (made.name in _CASTS or "dtype" in made.keywords)
        return found._replace(scale=found.scale._replace(whole=False)) if cast and found is not None else found


def before(value: Value) -> Value:
    """The batch of a loader that a value was made of, as the loader gave it; the value where there is none."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name != "batch" and made.args:
        scaled = [each for each in made.args if isinstance(each, Tensor)]
        if len(scaled) != 1:
            return value
        value, made = scaled[0], scaled[0].meta
    return value


def _adds_dimension(key: Value) -> bool:
    return isinstance(key, Const) and key.value is None


def of_symbol(symbol: Symbol) -> ScaledAt | None:
    """How the picture is scaled whose symbol this is; None for anything else."""
    if symbol[0] not in (PIXELS, PICTURE):
        return None
    scale = Channels(*symbol[3:]).scale
    return None if scale is None else ScaledAt(symbol[1], scale)


def computed(op: str, scale: Scale, by: Value, *, first: bool) -> Scale | None:
    """How pictures are scaled after an operation with numbers; None where that is not known."""
    known = numbers_in(by)
    if not known or (not first and op in "-/"):
        return None
    return scale.computed(op, known)


def _alike(found: Iterable[ScaledAt | None]) -> ScaledAt | None:
    """The first of several that are scaled alike."""
    scaled = list(found)
    first = scaled[0] if scaled else None
    return (
        first if first is not None and all(each is not None and each.scale == first.scale for each in scaled) else None
    )
