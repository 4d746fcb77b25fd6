"""Tests for the places where derivatives are infinite, which come too late: the arm that is not taken is differentiated, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.constants import VIEWS
from torch_doctor.static.domains.limits.singular import Singular, singular
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.values import Value

_TESTS: Final = {
    **dict.fromkeys(words("> gt greater"), ">"),
    **dict.fromkeys(words("< lt less"), "<"),
    **dict.fromkeys(words(">= ge greater_equal"), ">="),
    **dict.fromkeys(words("<= le less_equal"), "<="),
    **dict.fromkeys(words("== eq"), "=="),
    **dict.fromkeys(words("!= ne not_equal"), "!="),
}
_OPPOSITE: Final = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED: Final = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}
_INVERTED: Final = frozenset(words("~ logical_not"))
_PRODUCTS: Final = frozenset(words("* mul multiply"))
_EACH: Final = frozenset(
    words("+ - * / add sub mul div neg exp log sqrt square abs sin cos tanh float to clone nan_to_num")
)
_SMALL: Final = 1e-2
_DEEP: Final = 6
_FEW: Final = 24


class Condition(NamedTuple):
    """A comparison of a value with a number."""

    value: Value
    sign: str
    number: float

    @property
    def opposite(self) -> Condition:
        """What holds where this does not."""
        return self._replace(sign=_OPPOSITE[self.sign])

    def keeps_out(self, place: float, beyond: str) -> bool:
        """Whether it is there to keep out a value, or what lies beyond that: "below" or "above" it."""
        if self.sign == "!=":
            return self.number == place
        if self.sign == ">":
            return 0 <= self.number - place <= _SMALL
        if self.sign == "<":
            return 0 <= place - self.number <= _SMALL
        if self.number == place:
            return beyond == {">=": "below", "<=": "above"}.get(self.sign)
        distance = self.number - place if self.sign == ">=" else place - self.number
        return self.sign in (">=", "<=") and 0 < distance <= _SMALL


class Guarded(NamedTuple):
    """An operation in an arm that a test keeps from the places where its derivative is infinite."""

    made: Making
    singular: Singular
    place: float


def guarded(made: Making) -> Iterator[Guarded]:
    """The operations of which a choice leaves out the results at the places where their derivatives are infinite."""
    for arm, test in _arms(made):
        for inner in _computed(arm):
            found = singular(inner)
            if found is None:
                continue
            place = next((each for each in found.places if test.keeps_out(each, found.beyond(each))), None)
            if place is not None and _same(found, inner, test):
                yield Guarded(inner, found, place)


def _arms(made: Making) -> Iterator[tuple[Value, Condition]]:
    """The values that are chosen from, each with the test of what is chosen."""
    if made.name == "where" and len(made.args) > 2:
        test = _test(made.args[0])
        if test is not None:
            yield made.args[1], test
            yield made.args[2], test.opposite
    elif made.name in ("masked_fill", "masked_fill_") and len(made.args) > 1:
        test = _test(made.args[1])
        if test is not None:
            yield made.args[0], test.opposite
    elif made.name in _PRODUCTS and len(made.args) > 1:
        for one, other in (made.args[:2], made.args[1::-1]):
            test = _test(one)
            if test is not None:
                yield other, test


def _test(value: Value) -> Condition | None:
    """The comparison that a mask comes from."""
    opposite = False
    for _ in range(_DEEP):
        made = made_of(value)
        if made is None or not made.args:
            return None
        if made.name in _INVERTED:
            opposite = not opposite
        elif made.name in _TESTS and len(made.args) > 1:
            test = _comparison(_TESTS[made.name], *made.args[:2])
            return test.opposite if test is not None and opposite else test
        elif made.name not in VIEWS:
            return None
        value = made.args[0]
    return None


def _comparison(sign: str, left: Value, right: Value) -> Condition | None:
    if isinstance(left, Const):
        left, right, sign = right, left, _MIRRORED[sign]
    number = right.value if isinstance(right, Const) else None
    if not isinstance(left, Tensor) or not isinstance(number, (int, float)):
        return None
    return Condition(left, sign, float(number))


def _computed(arm: Value) -> list[Making]:
    """How the numbers of an arm were computed, each for itself."""
    found: list[Making] = []
    waiting = [(arm, 0)]
    while waiting and len(found) < _FEW:
        value, deep = waiting.pop()
        made = made_of(value)
        if made is None or made in found or value.flow.graph is False or deep > _DEEP:
            continue
        found.append(made)
        if singular(made) is not None or made.name in _EACH or made.name in VIEWS:
            waiting += [(each, deep + 1) for each in made.args]
    return found


def _same(found: Singular, made: Making, test: Condition) -> bool:
    """Whether a test is about the operand of an operation, its size, or the root that the operation gives."""
    tested, own = made_of(test.value), made_of(found.operand)
    if tested is None:
        return test.value is found.operand
    if tested is own or (tested is made and found.root):
        return True
    if tested.name not in ("abs", "absolute") or not tested.args or test.number < 0:
        return False
    return made_of(tested.args[0]) is own if own is not None else tested.args[0] is found.operand
