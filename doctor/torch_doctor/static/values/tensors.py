"""Tensors, parameters and gradients, and the contexts that decide whether autograd records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.values.origin import NOWHERE, Origin
from torch_doctor.static.values.value import Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.values.shapes import Making, Meta, Returned
    from torch_doctor.static.values.symbols import Symbol
    from torch_doctor.trace import Site, Tri

_KEPT: Any = object()
"""Says that something stays as it is."""

MADE_OF_GRADIENTS = "gradient"
"""The operation of a tensor that was computed from gradients."""
MOVED_PARAMETER = "moved parameter"
"""The operation of what a move made of an `nn.Parameter`: as soon as the move is real, a computed tensor."""
VOLATILE = "volatile"
"""The operation of a `Variable(..., volatile=True)`: before torch 0.4 nothing computed from it recorded a graph."""


class Tensor(Value):
    """A tensor: what its numbers mean (`kind`), where it comes from (`origin`) and what went into it (`flow`).

    `meta` is its dtype and shape, or how it was made, from which they follow when somebody asks, or what is known of the
    output of a module; None: not known.
    """

    __slots__ = ("flow", "kind", "meta", "origin", "scalar")

    def __init__(
        self,
        flow: Flow = EMPTY,
        kind: Kind = Kind.UNKNOWN,
        origin: Origin = NOWHERE,
        *,
        scalar: Tri = None,
        meta: Meta | Making | Returned | None = None,
    ) -> None:
        self.flow = flow
        self.kind = kind
        self.origin = origin
        self.scalar = scalar
        self.meta = meta

    def altered(
        self,
        *,
        flow: Flow = _KEPT,
        kind: Kind = _KEPT,
        origin: Origin = _KEPT,
        scalar: Tri = _KEPT,
        meta: Meta | Making | Returned | None = _KEPT,
    ) -> Tensor:
        """The same tensor, of which something else is known."""
        return Tensor(
            self.flow if flow is _KEPT else flow,
            self.kind if kind is _KEPT else kind,
            self.origin if origin is _KEPT else origin,
            scalar=self.scalar if scalar is _KEPT else scalar,
            meta=self.meta if meta is _KEPT else meta,
        )

    def with_flow(self, flow: Flow) -> Tensor:
        """The same tensor with another history."""
        return self.altered(flow=flow)

    def with_meta(self, meta: Meta | Making | Returned | None) -> Tensor:
        """The same numbers in another dtype or shape."""
        return self.altered(meta=meta)

    def at(self, place: Origin) -> Tensor:
        """The same numbers somewhere else, or where that is known otherwise."""
        return self.altered(origin=place.by(self.origin.operation, self.origin.site))


class Params(Value):
    """Parameters of modules: an iterable of them, or one of them (`whole` False when there may be others).

    `bias`: it is one that is no weight. `single`: it is one of them, and no iterable. `among`: it is one of several that its
    owner has, taken by its name. `cut`: it was taken by `.data`, and what is computed of it has no graph.
    `named`: the number of the module that gives them with their names.
    """

    __slots__ = ("among", "bias", "cut", "modules", "named", "single", "whole")

    def __init__(
        self,
        modules: frozenset[int],
        *,
        whole: bool = True,
        named: int = 0,
        bias: bool = False,
        single: bool = False,
        among: bool = False,
        cut: bool = False,
    ) -> None:
        self.among = among
        self.bias = bias
        self.cut = cut
        self.single = single
        self.modules = modules
        self.whole = whole
        self.named = named


class Grads(Value):
    """The `.grad` of such parameters; `whole` is False where it is that of one of several, or there may be others."""

    __slots__ = ("modules", "whole")

    def __init__(self, modules: frozenset[int], *, whole: bool = True) -> None:
        self.modules = modules
        self.whole = whole


class Context(Value):
    """A context manager that sets the grad mode; `enabled` None when that is not known. `born` is where it was made.

    `previous`: it was already applied, and this is what it restores.
    """

    __slots__ = ("born", "enabled", "name", "previous")

    def __init__(self, name: str, enabled: Tri, born: Site, previous: object = None) -> None:
        self.born = born
        self.name = name
        self.enabled = enabled
        self.previous = previous


class Autocast(Value):
    """An autocast for a type of device in a dtype ("" where they are not known); `enabled` None when that is not known.

    `born` is where it was made, and `test` what decides then whether it is on. `asked`: a function out of sight, which
    is given nothing, answers that: it may ask whether it is on already.
    """

    __slots__ = ("asked", "born", "device", "dtype", "enabled", "test")

    def __init__(
        self, born: Site, device: str, dtype: str, *, enabled: Tri, test: Symbol | None = None, asked: bool = False
    ) -> None:
        self.asked = asked
        self.born = born
        self.device = device
        self.dtype = dtype
        self.enabled = enabled
        self.test = test
