"""What the first layer with weights of a model gets: numbers of about one, or bytes of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import claims
from ...libraries import known

if TYPE_CHECKING:
    from ...scopes import Here
    from ..watch import Watch

CALLS = 2  # of a model at one place that are looked at
LARGE = 16.0  # whole numbers up to no more than that need be no bytes
BYTE = 255.0
BRIGHT = 127.0  # what pictures exceed, and maps of labels hardly ever
PICTURES = 4  # dimensions of a batch of pictures
CHANNELS = (1, 3, 4)  # of pictures: grey, colours, colours with transparency


class Watcher:
    """Has the first layers of a model say what they get, for the first calls at each place."""

    def __init__(self, watch: Watch) -> None:
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._looks: dict[int, int] = {}
        nn = watch.torch.nn
        self._layers = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase)
        self._libraries = tuple(library.models for library in known())
        self._normalizing = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm)

    def install(self) -> None:
        """Nothing to wrap: the calls of models tell."""

    def before(self, module: Any, here: Here) -> list[Any]:
        """A model is about to be called: asks its layers; returns what ends that."""
        if self._looks.get(here.site, 0) >= CALLS:
            return []
        self._looks[here.site] = self._looks.get(here.site, 0) + 1
        handles: list[Any] = []

        def look(layer: Any, given: tuple[Any, ...]) -> None:
            for handle in handles:
                handle.remove()
            if handles and given and isinstance(given[0], self._torch.Tensor):
                handles.clear()
                self._recorder.safely(self._look, module, layer, given[0], here)

        handles.extend(
            layer.register_forward_pre_hook(look) for layer in module.modules() if isinstance(layer, self._layers)
        )
        return handles

    def _look(self, module: Any, layer: Any, given: Any, here: Here) -> None:
        if not given.numel() or not (given.is_floating_point() or given.dtype is self._torch.uint8):
            return
        with self._torch.no_grad():
            numbers = given.detach().float()
            largest, smallest = float(numbers.max()), float(numbers.min())
            whole = LARGE < largest <= BYTE and smallest >= 0 and bool((numbers == numbers.round()).all())
        if whole and self._is_normalised_behind(module, layer):
            return  # and the weights have the same gradients for any range
        if whole:
            name = self._recorder.caller(here.site)
            number = self._recorder.references.number(module)
            conv = isinstance(layer, self._torch.nn.modules.conv._ConvNd)
            shown = conv and given.dim() == PICTURES and given.shape[1] in CHANNELS and largest > BRIGHT
            self._recorder.event("PixelsGiven", here, module=number, name=name, largest=largest, shown=shown)
        else:
            self._recorder.measured(claims.INPUTS_NO_BYTES, 1, "calls", site=here.site)

    def _is_normalised_behind(self, module: Any, layer: Any) -> bool:
        """Whether the next layer with weights that the model has is one whose output is the same however large its input is.

        The statistics of a library's model were trained with it: they are those of another range.
        """
        if any(type(part).__module__.startswith(self._libraries) for part in module.modules()):
            return False
        behind = iter(part for part in module.modules() if next(part.parameters(recurse=False), None) is not None)
        return any(part is layer for part in behind) and isinstance(next(behind, None), self._normalizing)
