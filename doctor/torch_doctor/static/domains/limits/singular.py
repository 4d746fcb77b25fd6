"""Where the derivatives of operations are infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, ParameterValue, Sequence, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

LOGARITHMS: Final = frozenset(words("log log2 log10 log_ log1p"))
"""Operations whose value is infinite, too."""
_PLACES: Final[dict[str, tuple[float, ...]]] = {
    **dict.fromkeys(words("sqrt sqrt_ rsqrt rsqrt_ reciprocal log log_ log2 log10"), (0.0,)),
    "log1p": (-1.0,),
    **dict.fromkeys(words("acos arccos asin arcsin atanh arctanh erfinv"), (1.0, -1.0)),
    **dict.fromkeys(words("acosh arccosh"), (1.0,)),
    "logit": (0.0, 1.0),
}
_POWERS: Final = frozenset(words("** pow pow_ float_power"))
_QUOTIENTS: Final = frozenset(words("/ div divide true_divide"))


class Singular(Struct, frozen=True, eq=False):
    """An operation with the operand that decides, and the values of that at which the derivative is infinite.

    `root` is whether it is a root or a power between 0 and 1.
    """

    operation: str
    operand: Value
    places: tuple[float, ...]
    root: bool = False

    def beyond(self, place: float) -> str:
        """On which side of a value the operation gives NaN: "below", "above" or "" for neither."""
        if self.operation in ("div", "reciprocal") or self.operation in LOGARITHMS:
            return ""
        upper = place == max(self.places) and len(self.places) > 1
        return "above" if upper else "below"


def singular(made: Making) -> Singular | None:
    """Where the derivative of an operation is infinite; None where it is finite everywhere, or nobody knows."""
    name, args = made.name, made.args
    if not args:
        return None
    if name in _PLACES:
        if name == "logit" and argument(made, 1, "eps") is not None:
            return None
        return Singular(name.rstrip("_"), args[0], _PLACES[name], name.startswith("sqrt"))
    if name in _POWERS:
        exponent = argument(made, 1, "exponent")
        number = exponent.value if isinstance(exponent, Const) else None
        if not isinstance(number, (int, float)) or number >= 1 or number == 0:
            return None
        whole = number == int(number)
        return Singular("reciprocal" if whole else "pow", args[0], (0.0,), number > 0)
    if name in _QUOTIENTS and len(args) > 1 and isinstance(args[1], (Tensor, ParameterValue)):
        return Singular("div", args[1], (0.0,))
    return None


def of_one(made: Making) -> bool:
    """Whether this is the deviation of one element, which is NaN: the number of elements less one divides."""
    if made.name not in ("std", "var") or not made.args or made.keywords.keys() & {"correction", "unbiased"}:
        return False
    shape = measured(made.args[0]).shape
    dim = argument(made, 1, "dim")
    if shape is None or len(made.args) > 2:
        return False
    if dim is None:
        return bool(shape) and all(size == 1 for size in shape)
    number = dim.value if isinstance(dim, Const) else None
    return type(number) is int and -len(shape) <= number < len(shape) and shape[number] == 1


def inside(values: Iterable[Value]) -> list[Value]:
    """Values, and those of lists among them."""
    found: list[Value] = []
    for value in values:
        found += value.content.all() if isinstance(value, Sequence) else (value,)
    return found
