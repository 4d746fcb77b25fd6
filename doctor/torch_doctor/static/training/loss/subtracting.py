"""What a loss subtracts from what: the terms of a difference, with their signs, as far as its record shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Sequence, Tensor
from torch_doctor.static.values.shapes import Returned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.values import Value

LOSS: Final = "loss"
"""The name of what a loss made of its input and its target."""
_SQUARES: Final = frozenset(("**", "pow", "square", "abs", "norm"))
_MOST: Final = 60
"""Operations of a loss, and terms of a difference, that are looked at."""
ARRANGING: Final = frozenset(
    words(
        """
        [] squeeze unsqueeze view reshape flatten gather select index_select take_along_dim max amax min amin mean sum values
        contiguous clone float double to cuda cpu type expand expand_as transpose permute t T chunk split stack cat unbind
        """
    )
)
"""What selects, arranges or adds up numbers of one tensor."""


class SignedTerm(Struct, frozen=True):
    """A summand of a difference, without its factor.

    `scaled` is whether it had one that may be smaller than 1, `selected` whether it is the output of a module, or a part of one.
    """

    value: Value
    positive: bool
    scaled: bool
    selected: bool

    @property
    def forwards(self) -> frozenset[int]:
        """The forwards that gradients of it reach."""
        return self.value.flow.graph_forwards if self.value.flow.graph is not False else frozenset()


def differences(loss: Value) -> Iterator[tuple[Value, Making]]:
    """The losses of an input and a target, and the squared differences, that a loss consists of, and how they were made."""
    waiting = [(loss, False)]
    seen = set[Making]()
    while waiting and len(seen) < _MOST:
        value, squared = waiting.pop()
        made = record(value)
        if made is None or made in seen or not value.flow.graph_forwards:
            continue
        seen.add(made)
        compares = made.name == LOSS and all(each.flow.forwards for each in made.args[:2])
        if len(made.args) > 1 and (compares or (squared and made.name in ("-", "sub"))):
            yield value, made
            continue
        twice = made.name in ("*", "mul") and len(made.args) > 1 and record(made.args[0]) is record(made.args[1])
        inner = squared or twice or made.name in _SQUARES or made.name == LOSS
        for argument in made.args:
            inside = argument.content.all() if isinstance(argument, Sequence) else (argument,)
            waiting += [(each, inner) for each in inside]


def terms(made: Making) -> list[SignedTerm]:
    """The terms of a difference, or of what a loss compares: its input less its target."""
    found: list[SignedTerm] = []
    left, right = made.args[:2]
    waiting = [(left, True, False), (right, False, False)]
    while waiting and len(found) < _MOST:
        value, positive, scaled = waiting.pop()
        inner = None if isinstance(value.meta if isinstance(value, Tensor) else None, Returned) else record(value)
        name = "" if inner is None else inner.name
        args = () if inner is None else inner.args
        if name in ("+", "add", "-", "sub") and len(args) > 1:
            sign = positive if name in ("+", "add") else not positive
            factor = inner is not None and "alpha" in inner.keywords
            waiting += [(args[0], positive, scaled), (args[1], sign, scaled or factor)]
        elif name == "where" and len(args) > 2:
            waiting += [(each, positive, scaled) for each in args[1:3]]
        elif name in ("-", "neg") and len(args) == 1:
            waiting.append((args[0], not positive, scaled))
        elif name in ("*", "mul", "/", "div") and (product := _factor(name, *args[:2])) is not None:
            of, smaller, negative = product
            waiting.append((of, positive is not negative, scaled or smaller))
        elif name in ARRANGING and args and (inside := _computed(args[0])) is not None:
            waiting.append((inside, positive, scaled))
        else:
            found.append(SignedTerm(value, positive, scaled, _is_selected(value)))
    return found


def record(value: Value) -> Making | None:
    """How a tensor was made; of the output of a module, within it."""
    made = value.meta if isinstance(value, Tensor) else None
    return made.within if isinstance(made, Returned) else made if isinstance(made, Making) else None


def _computed(value: Value) -> Value | None:
    """What lies in a selection, where that is computed of terms itself; of several, the one with a graph."""
    if isinstance(value, Sequence):
        several = [each for each in value.content.all() if each.flow.graph_forwards]
        value = several[0] if several else value
    made = None if isinstance(value.meta if isinstance(value, Tensor) else None, Returned) else record(value)
    if made is None:
        return None
    if made.name in ARRANGING and made.args:
        return _computed(made.args[0])
    return value if made.name in ("+", "-", "add", "sub", "*", "mul") else None


def _factor(name: str, one: Value, other: Value | None = None) -> tuple[Value, bool, bool] | None:
    """What is multiplied by something without a graph, whether that may be smaller than 1, and whether it is negative."""
    if other is None:
        return None
    if not one.flow.graph_forwards and name in ("*", "mul"):
        one, other = other, one
    if not one.flow.graph_forwards or other.flow.graph_forwards:
        return None
    number = other.value if isinstance(other, Const) else None
    if isinstance(number, (int, float)):
        smaller = abs(number) < 1 if name in ("*", "mul") else abs(number) > 1
        return one, smaller, number < 0
    return one, True, False


def _is_selected(value: Value) -> bool:
    """Whether a value is the output of a module, or selected of it."""
    while isinstance(value, Tensor) and not isinstance(value.meta, Returned):
        made = value.meta
        if not isinstance(made, Making) or not made.args:
            return bool(value.flow.graph_forwards)
        if not any(each.flow.graph_forwards for each in made.args):
            return True  # the module is out of sight, or its output has several parts
        if made.name not in ARRANGING:
            return False
        value = made.args[0]
    return isinstance(value, Tensor)
