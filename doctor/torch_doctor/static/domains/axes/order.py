"""The domain of axes: which axes a tensor has, in which order, and how they came there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from torch_doctor.static.domains.axes.axis import Axis, of_shape, regrouped
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import measured, size_at
from torch_doctor.static.measuring.arguments import argument, sizes_in
from torch_doctor.static.tables import words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import Making, ParameterValue, Tensor, Value, shapes

if TYPE_CHECKING:
    from collections.abc import Callable

Axes: TypeAlias = "tuple[Axis, ...] | None"
"""The axes of a tensor, outermost first; None where nobody knows how many it has."""

_SAME: Final = frozenset((*MOVES, *words("contiguous clone detach pin_memory data type requires_grad_ parameter")))
"""What leaves the axes of its tensor as they are."""
_REGROUPING: Final = frozenset(words("view reshape view_as reshape_as flatten ravel unflatten squeeze unsqueeze"))
"""What leaves the elements in their order, and divides them into other axes."""


class Order(Domain[Axes]):
    """The axes of a tensor, as `permute`, `transpose` and `view` left them."""

    def unknown(self) -> Axes:
        """None."""
        return None

    def given(self, value: Value) -> Axes:
        """The axes of a tensor that is not made of another one are its own."""
        return _own(value, value) if isinstance(value, (Tensor, ParameterValue)) else None

    def read(self, made: Making) -> Axes:
        """What an operation makes of the axes of its first argument."""
        axes = self.of(made.args[0]) if made.args else None
        if axes is not None and made.name in _SAME:
            return axes
        if axes is not None and made.name in _REGROUPING:
            shape = measured(Tensor(meta=made)).shape
            return None if shape is None or shapes.ANY in shape else regrouped(axes, shape)
        if axes is not None and made.name in _MOVING:
            places = _MOVING[made.name](made, len(axes))
            return None if places is None else tuple(axes[place] for place in places)
        return _own(made, Tensor(meta=made))


def _own(source: object, value: Value) -> Axes:
    """The axes of a tensor that begin with it."""
    shape = measured(value).shape
    return None if shape is None or shapes.ANY in shape else of_shape(source, shape)


def _permuted(made: Making, rank: int) -> list[int] | None:
    dims = sizes_in(*(made.args[1:] or filter(None, (made.keywords.get("dims"),))))
    places = [dim % rank for dim in dims or () if isinstance(dim, int) and -rank <= dim < rank]
    return places if sorted(places) == [*range(rank)] else None


def _swapped(made: Making, rank: int) -> list[int] | None:
    if made.name in ("t", "t_", "T"):
        return [*range(rank)][::-1]
    if made.name in ("mT", "mH", "adjoint"):
        return None if rank <= 1 else [*range(rank - 2), rank - 1, rank - 2]
    given = argument(made, 1, "dim0"), argument(made, 2, "dim1")
    dims = [size_at(each) for each in given if each is not None]
    if len(dims) != len(given) or not all(isinstance(dim, int) and -rank <= dim < rank for dim in dims):
        return None
    first, second = (dim % rank for dim in dims if isinstance(dim, int))
    places = [*range(rank)]
    places[first], places[second] = second, first
    return places


_MOVING: Final[dict[str, Callable[[Making, int], list[int] | None]]] = {
    "permute": _permuted,
    **dict.fromkeys(words("t t_ T mT mH adjoint transpose transpose_ swapaxes swapdims"), _swapped),
}
"""What puts the axes of its tensor in another order, and which of them come in which place."""
