"""Noise that a module adds to what it computes, of a strength that nothing learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...watching.watch import Watch

DRAWING = frozenset({"randn", "randn_like", "rand", "rand_like", "normal", "uniform"})
SCALING = frozenset({"mul", "rmul", "div", "truediv", "neg", "to", "type_as", "float", "clone", "detach"})
ADDING = frozenset({"add", "radd", "sub", "rsub", "iadd"})
"""Names of functions, without underscores around them."""


def listener(watch: Watch) -> Any:
    """A mode of torch under which a module runs.

    Its `only_adds` tells whether noise was drawn for the user's code, and only scaled by plain numbers and added.
    """
    torch, sites = watch.torch, watch.recorder.sites

    class Listener(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._noise: dict[int, Any] = {}
            self._added = False
            self._otherwise = False

        @property
        def only_adds(self) -> bool:
            return self._added and not self._otherwise

        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            name = getattr(function, "__name__", "").strip("_")
            given = list(watch.marks.tensors([args, kwargs or {}]))
            noise = [each for each in given if self._noise.get(id(each)) is each]
            if (name in DRAWING and not noise and sites.frame(1) is not None) or (
                noise and name in SCALING and len(noise) == len(given)
            ):
                self._noise[id(result)] = result
            elif noise and name in ADDING and len(noise) < len(given):
                self._added = True
            elif noise and isinstance(result, torch.Tensor):
                self._otherwise = True
            return result

    return Listener()
