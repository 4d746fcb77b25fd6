"""Weights in tensors: copies of a model's parameters, and averages of them over its training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.domains import constants
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Module, ParameterValue, Params, Plain, Sequence, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

STATE: Final = "state"
"""The record of a tensor in a state dict, of the module that it belongs to."""
SAME: Final = constants.VIEWS | frozenset(words("parameters_to_vector [] cpu numpy from_numpy copy_ view_as data"))
"""What has the numbers of its first argument, or some of them."""
SCALES: Final = frozenset(words("* / mul mul_ div div_ multiply true_divide"))
SUMS: Final = frozenset(words("+ add add_ lerp lerp_"))
DIFFERENCES: Final = frozenset(words("- sub sub_ subtract"))


class Blend(NamedTuple):
    """The weights of modules in a value."""

    of: frozenset[int]
    """The modules, or the owners of the parameters; empty for a number or zeros, to which weights are added."""
    averaged: bool = False
    """Whether they are added to what the weights were before."""
    stats: bool = False
    """Whether they include the buffers: they are from a state dict."""


NUMBER: Final = Blend(frozenset())


class Blended(Domain["Blend | None"]):
    """The `Blend` in a value; None for anything else, such as gradients."""

    stores: MutableMapping[Making, Blend] = per_path(dict)
    """Tensors outside of modules into which weights were averaged in place."""
    into: MutableMapping[int, Blend] = per_path(dict)
    """Modules, or owners of parameters, whose own weights are an average."""

    def unknown(self) -> Blend | None:
        """Nothing."""
        return None

    def given(self, value: Value) -> Blend | None:
        """Parameters are weights, those that follow others an average."""
        if isinstance(value, (Params, ParameterValue, Module)):
            owners = value.modules if isinstance(value, Params) else frozenset((value.id,))
            known = [self.into.get(number) for number in owners]
            found = next((each for each in known if each is not None), None)
            return found if found is not None else Blend(owners, stats=isinstance(value, Module))
        if isinstance(value, Sequence):
            return self.joined(map(self.of, value.content.all()))
        return NUMBER if isinstance(value, (Const, Plain)) else None

    def of(self, value: Value) -> Blend | None:
        """The answer for a value: for a tensor that was changed in place, what it became."""
        made = root(value)
        known = self.stores.get(made) if made is not None and self.stores else None
        return known if known is not None else super().of(value)

    def join(self, left: Blend | None, right: Blend | None) -> Blend | None:
        """An average is at first a copy, or zeros."""
        if left is None or right is None:
            return None
        return Blend(left.of | right.of, left.averaged or right.averaged, left.stats or right.stats)

    def joined(self, found: Iterable[Blend | None]) -> Blend | None:
        """What holds of several values together."""
        answers = list(found)
        result = answers[0] if answers else None
        for answer in answers[1:]:
            result = self.join(result, answer)
        return result

    def read(self, made: Making) -> Blend | None:
        """What scales weights, adds them up, or copies them."""
        first = made.args[0] if made.args else None
        if made.name in constants.FILLED:
            return NUMBER if constants.FILLED[made.name] == 0 else None
        if first is None:
            return None
        if made.name == "either":
            return self.joined(map(self.of, made.args))
        if made.name in (STATE, *SAME):
            return self.of(made.args[1] if made.name == "copy_" and len(made.args) > 1 else first)
        terms = [self.of(each) for each in made.args[:2]]
        both = self.joined(terms)
        if both is None or not both.of or len(terms) < 2:
            return None
        left, right = terms[0] or NUMBER, terms[1] or NUMBER
        if made.name in SCALES:
            return both if not (left.of and right.of) else None
        if made.name in SUMS | DIFFERENCES:
            return Blend(both.of, both.averaged or bool(left.of and right.of), both.stats)
        return None


def root(value: Value | None) -> Making | None:
    """The record of the tensor whose memory a value has: the one that methods in place, or views, were called on."""
    made = value.meta if isinstance(value, Tensor) else None
    while (
        isinstance(made, Making) and made.args and (made.name.endswith("_") or made.name in ("detach", "data", "view"))
    ):
        inner = made.args[0]
        if not isinstance(inner, Tensor) or not isinstance(inner.meta, Making):
            break
        made = inner.meta
    return made if isinstance(made, Making) else None
