"""Notes what the constructors of a library's modules build: what cares about the mode, and what has parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.installed.meanings import NONE, UNCLEAR, Given, Known, Leans, Literal, truth

if TYPE_CHECKING:
    from torch_doctor.static.tables import layers
    from torch_doctor.trace import Tri


class Caring(Struct, frozen=True):
    """One reason why a module cares about the mode, or may: it holds as long as some parameters have their defaults.

    `rate`: where its one parameter is given, it cares if that number is not 0.
    """

    cares: Tri
    leans: Leans = NONE
    rate: bool = False


class When(Struct, frozen=True):
    """Whether what is being followed is executed: `comes` None, perhaps; False, only where parameters are given."""

    comes: Tri = True
    leans: Leans = NONE


SURELY = When()


class Notes:
    """What was met: the reasons to care, and whether there are parameters."""

    def __init__(self) -> None:
        self.cares: dict[Caring, None] = {}
        self.parameters: Tri = False

    def layer(self, layer: layers.Layer, given: Given, when: When) -> None:
        """One of torch's layers, built with these arguments."""
        if layer.parameters:
            self.owns(when)
        if isinstance(layer.mode, bool):
            self.note(layer.mode, NONE, when)
            return
        argument = layer.mode
        value = given.argument(argument.position, argument.name)
        if value is None:
            missing = UNCLEAR if given.rest and not given.asked else Known(Literal(argument.default))
            value = Known(missing.what, frozenset([(argument.name, -1)]) if given.asked else NONE)
        if argument.beside is not None:
            self.note(None if truth(value) is not False else False, value.leans, when)
        elif argument.above == 0 and isinstance(argument.default, float):
            self.rate(value, when)
        else:
            answer = truth(value)
            self.note(answer, value.leans, when)

    def rate(self, value: Known, when: When) -> None:
        """A rate of dropout: it matters unless it is 0."""
        number = value.what.value if isinstance(value.what, Literal) else None
        leans = value.leans | when.leans
        cares = number > 0 if isinstance(number, (int, float)) else None
        if not leans <= value.leans and when.comes is not True:
            self.note(cares, value.leans, when)
        elif cares is not False or leans:
            self.cares[Caring(cares and when.comes, leans, rate=len(leans) == 1)] = None

    def note(self, cares: Tri, leans: Leans, when: When) -> None:
        """Something that cares, or may, as long as some parameters have their defaults."""
        if cares is False:
            if leans:
                self.cares[Caring(cares=False, leans=leans | when.leans)] = None
            return
        answer = cares if when.comes else when.comes
        if answer is not False or when.leans:
            self.cares[Caring(answer, leans | when.leans)] = None

    def owns(self, when: When) -> None:
        """Something with parameters."""
        if when.comes is True:
            self.parameters = True
        elif self.parameters is False and when.comes is None:
            self.parameters = None
