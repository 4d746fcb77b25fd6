"""What is told of one function or method, and the words in which most of them are told."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.tables.kinds import OF_ONE, Effect
from torch_doctor.trace.words import Kind, Source, Tri

Result: TypeAlias = Literal["tensor", "plain", "tuple", "none"]


class Function(Struct, frozen=True):
    """What is known of one function or method."""

    result: Result = "tensor"  # plain: a Python number, string, list or array; tuple: of tensors; none: nothing
    kind: Kind | None = None  # of the result; None: that of what it is given, as far as `effect` keeps it
    effect: Effect = Effect.MOVED
    operands: tuple[
        tuple[int, str], ...
    ] = ()  # places and names of what `effect` is about; () where they are the usual
    graph: bool = True  # False: the result has no graph, whatever goes in
    scalar: Tri = False  # True: always a single number; None: where it is called without a dim
    source: Source | None = None  # of what it makes; None: that of its arguments
    with_dim: Result = "tensor"  # the result where a dim is given
    indices: bool = False  # the last item of its tuple holds indices, without a graph
    in_place: bool = False  # changes its first argument (a method: its tensor) and returns it
    loss: bool = True  # a loss is still a loss behind it (its half, its sum, its weighted mean)
    zero_gradient: bool = False  # it has a graph and the gradient through it is zero

    def of(self, kind: Kind) -> Kind:
        """Return the kind of the result for a first tensor argument of this kind, and no other tensor."""
        if kind is Kind.LOSS and self.loss and self.kind in (None, Kind.UNKNOWN):
            return kind
        if self.kind is not None:
            return self.kind
        return kind if kind in OF_ONE.get(self.effect, ()) else Kind.UNKNOWN

    @property
    def selects(self) -> bool:
        """Whether its result holds numbers of its argument, or their average."""
        return self.kind is None and self.effect in _SELECTS


_SELECTS = frozenset((Effect.MOVED, Effect.PICKED, Effect.AVERAGED, Effect.CUT))

KEPT = Function()  # moves numbers, selects them
NUMBERS = Function(effect=Effect.OTHER)  # arithmetic
PRODUCT = Function(effect=Effect.PRODUCT, loss=False)
OTHER = Function(kind=Kind.UNKNOWN, loss=False)  # what comes out is no loss even if a loss goes in
HIDDEN = Function(kind=Kind.HIDDEN)
LOGITS = Function(kind=Kind.LOGITS)
PROBABILITIES = Function(kind=Kind.PROBABILITIES)
LOG_PROBABILITIES = Function(kind=Kind.LOG_PROBABILITIES)
BOUNDED = Function(kind=Kind.BOUNDED)
LOG_BOUNDED = Function(kind=Kind.LOG_BOUNDED)
TEST = Function(kind=Kind.UNKNOWN, graph=False, loss=False)  # yes or no, elementwise or as a whole
COMPARED = Function(effect=Effect.COMPARED, graph=False, loss=False)  # yes or no, of each pair of numbers
LABELS = Function(kind=Kind.LABELS, graph=False, loss=False)
PLAIN = Function("plain", kind=Kind.UNKNOWN, graph=False, loss=False)
NONE = Function("none", kind=Kind.UNKNOWN, graph=False, loss=False)
TUPLE = Function("tuple")
PLACES = Function("tuple", kind=Kind.LABELS, graph=False, loss=False)  # indices, a tensor for each dimension
TUPLE_NUMBERS = Function("tuple", kind=Kind.UNKNOWN)
REDUCED = Function(effect=Effect.AVERAGED, scalar=None)  # a mean of scores is a score, of losses a loss
SUMMED = Function(effect=Effect.SUMMED, scalar=None)
SPREAD = Function(kind=Kind.UNKNOWN, scalar=None)
PICKED = Function(effect=Effect.PICKED)
EXTREME = Function(effect=Effect.PICKED, scalar=None, with_dim="tuple", indices=True)
TOP = Function("tuple", effect=Effect.PICKED, indices=True)
DATA = Function(kind=Kind.UNKNOWN, graph=False, source=Source.DATA, loss=False)
NOISE = Function(kind=Kind.NOISE, graph=False, source=Source.NOISE, loss=False)
STEPS = Function(kind=Kind.UNKNOWN, zero_gradient=True)
DRAWN = replace(NOISE, graph=True, zero_gradient=True)
OVERWRITTEN = replace(DATA, graph=True, zero_gradient=True, in_place=True)


def named(*groups: tuple[str, Function]) -> dict[str, Function]:
    """A table of groups of names."""
    return {name: function for names, function in groups for name in names.split()}
