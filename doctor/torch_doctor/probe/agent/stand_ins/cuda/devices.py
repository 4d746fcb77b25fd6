"""Which devices mean a GPU, and what stands for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .places import places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def needed(torch: ModuleType, plan: Mapping[str, Any]) -> bool:
    """Whether the CPU has to stand in, by `plan["device"]` (`cpu`, `cuda`, `auto`) and what torch sees."""
    return plan.get("device", "auto") == "cpu" or not torch.cuda.is_available()


class Devices:
    """Puts the CPU in the place of every GPU that is asked for."""

    def __init__(self, torch: ModuleType, tell: Callable[[], None]) -> None:
        self._torch: Any = torch
        self.tell = tell
        """Tells that the CPU stands in, when the script first asks for a GPU."""
        self.cpu = torch.device("cpu")

    def on_cpu(self, device: Any) -> Any:
        """The device to use for `device`; what is no GPU, and what is no device, is returned as it is."""
        if isinstance(device, str):
            if not device.startswith("cuda"):
                return device
        elif isinstance(device, self._torch.device):
            if places.means_gpu(device):
                return self.cpu
            if device.type != "cuda":
                return device
        elif not isinstance(device, int) or isinstance(device, bool):
            return device
        self.tell()
        return self.cpu

    def is_cpu(self, device: Any) -> bool:
        """Whether it is the CPU that `device` names."""
        return bool(device == "cpu" or (isinstance(device, self._torch.device) and device.type == "cpu"))
