"""Where tensors and modules are: on the CPU, on a device that the script names, or nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from torch_doctor.trace import Site

CPU = "cpu"
GPU = "gpu"
"""A device that is no CPU, or one of both by what the machine has: `"cuda" if torch.cuda.is_available() else "cpu"`."""
NAMED = "named"
"""A device that the script names and nobody knows, `args.device`."""


class Place(Value):
    """Where something is, `device` ("" where that is not known), since `site`.

    `how`: "batch" (a loader gave it), "made", "moved" or "parameter". `sized`: it has dimensions, or is taken apart into
    what has. `loaders`: it came from one of these; they, or others like them, give what is on the CPU as soon as something
    of theirs is moved.
    """

    __slots__ = ("device", "how", "loaders", "site", "sized")

    def __init__(
        self,
        device: str = "",
        how: str = "",
        site: Site | None = None,
        *,
        sized: bool = False,
        loaders: frozenset[object] = frozenset(),
    ) -> None:
        self.device = device
        self.how = how
        self.site = site
        self.sized = sized
        self.loaders = loaders

    def same(self, other: Place) -> bool:
        """Whether both say the same."""
        return (self.device, self.sized, self.loaders) == (other.device, other.sized, other.loaders)


NOWHERE = Place()
"""Nobody knows where."""
IN_MEMORY = Place(CPU, "made", sized=True)
"""On the CPU, as torch makes tensors that are told nothing."""
NEW = Place(CPU, "parameter")
"""On the CPU, as torch builds modules."""
