"""The terms of a loss: the values that were added up, each as it was before a number weighted it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.constants import VIEWS
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Either, Making, ParameterValue, Params, Plain, Sequence, Tensor, Unknown
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Value

_SUMS: Final = frozenset(words("+ - add sub subtract"))
_PRODUCTS: Final = frozenset(words("* / mul multiply div divide true_divide"))
_REDUCTIONS: Final = frozenset(words("sum mean"))
JOINS: Final = frozenset(words("stack cat concat concatenate hstack vstack"))
"""Functions that put terms into one tensor, which is summed up next."""
_THROUGH: Final = (VIEWS - set(words("detach data parameter repeat"))) | {"neg", "unbind", "Tensor"}
_MOST: Final = 4
"""Sums that a loss may be, by the path."""
_FAR: Final = 600
"""Records that a search goes through."""


class Term(Struct, frozen=True, eq=False):
    """A summand of a loss; `within` is the record of the sum, and `place` the position of the summand in it."""

    value: Value
    within: Making | None = None
    place: int = 0


class Terms(Domain[tuple[tuple[Term, ...], ...]]):
    """The terms of a value, once for each of the sums that it may be; nothing where it may be too many.

    A value that is no sum is its own only term. Summands that are a number of the script are left out.
    """

    def unknown(self) -> tuple[tuple[Term, ...], ...]:
        """Nothing."""
        return ()

    def join(
        self, left: tuple[tuple[Term, ...], ...], right: tuple[tuple[Term, ...], ...]
    ) -> tuple[tuple[Term, ...], ...]:
        """The sums of both, since each has terms of its own."""
        both = (*left, *right)
        return both if left and right and len(both) <= _MOST else ()

    def given(self, value: Value) -> tuple[tuple[Term, ...], ...]:
        """A value of which nothing is known is one term."""
        return ((Term(value),),)

    def record(self, value: Value) -> Making | None:
        """How a value was made, where it is a sum or what is computed of one."""
        made = comparing.made_of(value)
        return made if made is not None and (made.name == "either" or _summands(made)) else None

    def of(self, value: Value) -> tuple[tuple[Term, ...], ...]:
        """The terms of a value; what is computed of a single term, other than a multiple of it, is that term itself."""
        found = super().of(value)
        made = self.record(value)
        if made is None or _bare(made.name) in (*_PRODUCTS, "either") or any(len(terms) > 1 for terms in found):
            return found
        return ((Term(value),),) if found else ()

    def read(self, made: Making) -> tuple[tuple[Term, ...], ...]:
        """The terms of the summands."""
        if made.name == "either":
            left, right = made.args
            return self.join(self.of(left), self.of(right))
        found: tuple[tuple[Term, ...], ...] = ((),)
        for place, value in enumerate(_summands(made)):
            if isinstance(value, Const) or _is_nothing(value):
                continue
            adds = _bare(made.name) in (*_SUMS, *JOINS)
            inner = [
                (Term(each[0].value, made, place),) if adds and len(each) == 1 else each for each in self.of(value)
            ]
            found = tuple((*terms, *more) for terms in found for more in inner)
            if len(found) > _MOST:
                return ()
        return found


def _summands(made: Making) -> tuple[Value, ...]:
    """The values that are added up, or the only one of which this is a part or a multiple; nothing for anything else."""
    name = _bare(made.name)
    first = made.args[0] if made.args else None
    if first is None:
        return ()
    if name in _SUMS:
        found = tuple(carrying(made.args))
        return made.args if len(found) > 1 and any(map(_is_of_a_loss, made.args)) else found if len(found) == 1 else ()
    if name in _PRODUCTS:
        found = tuple(carrying(made.args))
        return found if len(found) == 1 else ()
    if name in JOINS:
        return first.content.all() if isinstance(first, Sequence) else ()
    return (first,) if name in _REDUCTIONS or name in _THROUGH else ()


def _bare(name: str) -> str:
    """The name of an operation, in place or not."""
    return name.rstrip("_") or name


def carrying(values: Iterable[Value]) -> list[Value]:
    """Those of some values that have a graph, may have one, or had one before it was cut."""
    return [
        value
        for value in values
        if isinstance(value, (Params, ParameterValue, Unknown)) or value.flow.graph is not False or value.flow.lost
    ]


def _is_of_a_loss(value: Value) -> bool:
    """Whether it is a single number, or a loss for each sample."""
    return isinstance(value, Plain) or (isinstance(value, Tensor) and (value.scalar is True or value.kind is Kind.LOSS))


def _is_nothing(value: Value) -> bool:
    """Whether a value is multiplied by zero."""
    made = comparing.made_of(value)
    zero = made is not None and any(isinstance(each, Const) and each.value == 0 for each in made.args)
    return zero and made is not None and _bare(made.name) in _PRODUCTS


def derives(value: Value, others: set[Making]) -> bool:
    """Whether a value was computed of one of those that were made so, as far as that is known."""
    waiting, seen = [value], set[Making]()
    while waiting and len(seen) < _FAR:
        each = waiting.pop()
        if isinstance(each, Sequence):
            waiting += each.content.all()
        elif isinstance(each, Either):
            waiting += [option for _, option in each.options]
        made = each.size if isinstance(each, Plain) else comparing.made_of(each)
        if made is None or made in seen:
            continue
        if made in others:
            return True
        seen.add(made)
        waiting += [*made.args, *made.keywords.values()]
    return len(seen) >= _FAR
