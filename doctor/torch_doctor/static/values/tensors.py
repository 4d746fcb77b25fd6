"""Tensors, parameters and gradients, and the contexts that decide whether autograd records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.values.value import Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.values.classes import ClassValue
    from torch_doctor.static.values.shapes import Making, Meta
    from torch_doctor.trace import Site, Tri

_KEPT: Any = object()
"""Says that something stays as it is."""

MADE_OF_GRADIENTS = "gradient"
"""`made_by` of a tensor that was computed from gradients."""
MOVED_PARAMETER = "moved parameter"
"""`made_by` of what a move made of an `nn.Parameter`: as soon as the move is real, a computed tensor."""
VOLATILE = "volatile"
"""`made_by` of a `Variable(..., volatile=True)`: before torch 0.4 nothing computed from it recorded a graph."""


class Home:
    """A plain attribute of a module: the class and number of the module, the attribute's name, and where it is assigned.

    `trained`: what lies there gathers gradients, as if it were a parameter.
    """

    __slots__ = ("cls", "module", "name", "site", "trained")

    def __init__(self, cls: ClassValue, module: int, name: str, site: Site, *, trained: bool = False) -> None:
        self.cls = cls
        self.module = module
        self.name = name
        self.site = site
        self.trained = trained


class Made:
    """What is known of a tensor that is on the CPU: computed of numbers alone and put on no device, or moved there.

    `maker` is the number of the module in whose constructor that was (0: elsewhere). `sized`: it has dimensions and elements
    for certain. `homes`: the plain attributes that it lies in, or was computed from; `births`: where a forward made it, or
    what it was computed from.
    """

    __slots__ = ("births", "homes", "maker", "sized")

    def __init__(self, maker: int, *, sized: bool, homes: tuple[Home, ...] = (), births: tuple[Site, ...] = ()) -> None:
        self.maker = maker
        self.sized = sized
        self.homes = homes
        self.births = births


class Tensor(Value):
    """A tensor: what its numbers mean (`kind`, since `made_at`, by `made_by`), how it travelled (`trail`), its flow.

    `meta` is its dtype and shape, or how it was made, from which they follow when somebody asks; None: not known. `made` is
    there where it was computed of numbers alone, `place` where it is known otherwise where it is.
    """

    __slots__ = ("flow", "kind", "made", "made_at", "made_by", "meta", "place", "scalar", "trail")

    def __init__(
        self,
        flow: Flow = EMPTY,
        kind: Kind = Kind.UNKNOWN,
        made_at: Site | None = None,
        made_by: str = "",
        trail: tuple[tuple[Site, str], ...] = (),
        scalar: Tri = None,
        meta: Meta | Making | None = None,
        *,
        made: Made | None = None,
        place: Value | None = None,
    ) -> None:
        self.flow = flow
        self.kind = kind
        self.made_at = made_at
        self.made_by = made_by
        self.trail = trail
        self.scalar = scalar
        self.meta = meta
        self.made = made
        self.place = place

    def altered(  # noqa: PLR0913 - any of its attributes
        self,
        *,
        flow: Flow = _KEPT,
        kind: Kind = _KEPT,
        made_at: Site | None = _KEPT,
        made_by: str = _KEPT,
        trail: tuple[tuple[Site, str], ...] = _KEPT,
        scalar: Tri = _KEPT,
        meta: Meta | Making | None = _KEPT,
        made: Made | None = _KEPT,
        place: Value | None = _KEPT,
    ) -> Tensor:
        """The same tensor, of which something else is known."""
        return Tensor(
            self.flow if flow is _KEPT else flow,
            self.kind if kind is _KEPT else kind,
            self.made_at if made_at is _KEPT else made_at,
            self.made_by if made_by is _KEPT else made_by,
            self.trail if trail is _KEPT else trail,
            self.scalar if scalar is _KEPT else scalar,
            self.meta if meta is _KEPT else meta,
            made=self.made if made is _KEPT else made,
            place=self.place if place is _KEPT else place,
        )

    def with_flow(self, flow: Flow) -> Tensor:
        """The same tensor with another history."""
        return self.altered(flow=flow)

    def with_meta(self, meta: Meta | Making | None) -> Tensor:
        """The same numbers in another dtype or shape."""
        return self.altered(meta=meta)

    def with_made(self, made: Made | None) -> Tensor:
        """The same tensor of which something else is known of how it was made."""
        return self.altered(made=made)

    def at(self, place: Value | None) -> Tensor:
        """The same numbers somewhere else, or where that is known otherwise."""
        return self.altered(made=None, place=place)


class Params(Value):
    """Parameters of modules: an iterable of them, or one of them (`whole` False when there may be others).

    `bias`: it is one that is no weight. `single`: it is one of them, and no iterable. `cut`: it was taken by `.data`, and
    what is computed of it has no graph.
    """

    __slots__ = ("bias", "cut", "modules", "named", "single", "whole")

    def __init__(
        self,
        modules: frozenset[int],
        *,
        whole: bool = True,
        named: bool = False,
        bias: bool = False,
        single: bool = False,
        cut: bool = False,
    ) -> None:
        self.bias = bias
        self.cut = cut
        self.single = single
        self.modules = modules
        self.whole = whole
        self.named = named


class Grads(Value):
    """The `.grad` of such parameters."""

    __slots__ = ("modules",)

    def __init__(self, modules: frozenset[int]) -> None:
        self.modules = modules


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

    `born` is where it was made.
    """

    __slots__ = ("born", "device", "dtype", "enabled")

    def __init__(self, born: Site, device: str, dtype: str, *, enabled: Tri) -> None:
        self.born = born
        self.device = device
        self.dtype = dtype
        self.enabled = enabled
