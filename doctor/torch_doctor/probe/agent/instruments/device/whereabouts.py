"""Where each tensor is, and what was given to the forward under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...stand_ins.cuda.places import GPU, Place, places

if TYPE_CHECKING:
    from ...watching.watch import Watch


class Whereabouts:
    """The places of tensors, on a real GPU or on the one that the CPU stands in for.

    `root` is the module that was called last as a whole, `forward` the site of the call, `given` the places of its inputs;
    `lost` are the places of tensors whose moved copies nobody has.
    """

    def __init__(self, watch: Watch) -> None:
        self.real = bool(watch.recorder.plan.get("device") != "cpu" and watch.torch.cuda.is_available())
        self.root: Any = None
        self.forward = -1
        self.given: list[Place | None] = []
        self.lost: list[Place] = []

    def of(self, tensor: Any) -> Place | None:
        """Where a tensor is; None where that is not known."""
        if self.real:
            if tensor.device.type != "cpu":
                return GPU
            known = places.of(tensor)
            return known if known is None or not known.gpu else None
        return places.of(tensor)
