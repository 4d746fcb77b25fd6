"""Origin: which operation gave a tensor its kind, where the tensor is, and how it came there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.static.values.symbols import Conditions
    from torch_doctor.trace import Site

CPU = "cpu"
GPU = "gpu"
"""A device that is no CPU, or one of both by what the machine has: `"cuda" if torch.cuda.is_available() else "cpu"`."""
NAMED = "named"
"""A device that the script names and nobody knows, `args.device`."""


class PlainAttribute(Struct, frozen=True, kw_only=True, eq=False):
    """A plain attribute of a module: the number of the module, the attribute's name, and where it is assigned.

    `trained`: what lies there gathers gradients, as if it were a parameter.
    """

    module: int
    name: str
    site: Site
    trained: bool = False


class Origin(Struct, Value, frozen=True, kw_only=True, eq=False):
    """Where a tensor comes from, or the parameters of a module."""

    operation: str = ""
    """The torch name of what gave its numbers their kind, `torch.nn.Softmax`."""
    site: Site | None = None
    """Where that operation was called."""
    device: str = ""
    """CPU, GPU or NAMED; "" where it is not known."""
    needs: Conditions = frozenset()
    """What has to hold for it to be away from the CPU, where the test that chose the device is known."""
    how: str = ""
    """How it came there: "made" by a function of torch, in a "batch" of a loader, "moved", or as a "parameter"."""
    since: Site | None = None
    """Where the script made, moved or loaded it."""
    sized: bool = False
    """Whether it surely has dimensions and elements, or is taken apart into what has: a single number may be anywhere."""
    loaders: frozenset[object] = frozenset()
    """The loaders that it came from, and their data sets.

    They, and others like them, give what is on the CPU as soon as the script moves something of theirs.
    """
    fresh: bool = False
    """Whether it was computed of numbers alone and put on no device, or moved to the CPU: it follows no module or batch."""
    builder: int = 0
    """The number of the module in whose constructor a fresh tensor was made; 0: elsewhere."""
    attributes: tuple[PlainAttribute, ...] = ()
    """The plain attributes that a fresh tensor lies in, or was computed from."""
    births: tuple[Site, ...] = ()
    """Where a forward made a fresh tensor, or what it was computed from, or built a module."""
    options: tuple[tuple[Conditions, Origin], ...] = ()
    """The places that it may be at, each with what has to hold for it; () where it is at one."""

    @property
    def known(self) -> bool:
        """Whether anything is known of where it is."""
        return bool(self.device or self.loaders or self.options)

    @property
    def as_built(self) -> bool:
        """Whether it is that of a module which nobody moved."""
        return self.how == "parameter" and self.device == CPU and self.since is None

    def by(self, operation: str = "", site: Site | None = None) -> Origin:
        """The same place, for numbers that got their kind from another operation."""
        if operation == self.operation and site is self.site:
            return self
        return replace(self, operation=operation, site=site)

    def same(self, other: Origin) -> bool:
        """Whether both are at the same place, whichever way they came there."""
        return (self.device, self.sized, self.loaders, self.options) == (
            other.device,
            other.sized,
            other.loaders,
            other.options,
        )

    def merged(self, other: Origin) -> Origin | None:
        """The origin of a tensor that has one of both; None where they are at different places."""
        if self is other:
            return self
        if self.fresh and other.fresh:
            new = of_fresh((self, other), sized=self.sized and other.sized)
            return self if new.repeats(self) else new.by(self.operation, self.site)
        if not self.same(other):
            return None
        return replace(self, fresh=False, builder=0, attributes=(), births=()) if self.fresh else self

    def repeats(self, other: Origin) -> bool:
        """Whether nothing else is known of it than of another fresh one."""
        return (
            self.same(other)
            and self.builder == other.builder
            and self.attributes == other.attributes
            and self.births == other.births
        )


NOWHERE = Origin()
"""Nobody knows where."""
ON_CPU = Origin(device=CPU, how="made", sized=True)
"""On the CPU, as torch makes tensors that are told nothing."""
BUILT = Origin(device=CPU, how="parameter")
"""On the CPU, as torch builds modules."""
FRESH = Origin(device=CPU, how="made", sized=True, fresh=True)
"""On the CPU, and known to stay there."""


def of_fresh(origins: Sequence[Origin], *, sized: bool) -> Origin:
    """The origin of a tensor that was computed of fresh ones."""
    first, certain = origins[0], all(origin.device for origin in origins)
    if len(origins) == 1 and first.sized is (sized and certain):
        return first.by()
    return replace(
        FRESH,
        device=CPU if certain else "",
        sized=sized and certain,
        builder=first.builder if all(origin.builder == first.builder for origin in origins) else 0,
        attributes=tuple(dict.fromkeys(each for origin in origins for each in origin.attributes)),
        births=tuple(dict.fromkeys(site for origin in origins for site in origin.births)),
    )
