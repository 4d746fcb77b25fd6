"""`torch.load`: whatever was on a GPU, or is to be put there, is read to the CPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .devices import Devices


def patch(torch: Any, devices: Devices) -> None:
    """Replaces `torch.load`."""
    load = torch.load

    @functools.wraps(load)
    def load_on_cpu(f: Any, map_location: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if map_location is None:
            map_location = "cpu"
        elif isinstance(map_location, dict):
            map_location = {
                **{key: str(devices.on_cpu(value)) for key, value in map_location.items()},
                "cuda:0": "cpu",
                "cuda": "cpu",
            }
        else:
            map_location = devices.on_cpu(map_location)
        return load(f, map_location, *arguments, **keywords)

    torch.load = load_on_cpu
