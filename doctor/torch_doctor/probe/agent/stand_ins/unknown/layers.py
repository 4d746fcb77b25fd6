"""Layers, models and losses of modules that are not there."""

from __future__ import annotations

import functools
from typing import Any

from ..arguments.values import COUNTED, number
from .results import tensors_in

CONFIGURING = frozenset({"in_features", "out_features", "num_features", "in_channels", "out_channels", "embed_dim"})
WIDTH = 512


class Augmented(dict[str, Any]):
    """What an augmentation gives: what it was given by name, as items and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@functools.cache
def layer_class(torch: Any) -> Any:
    """The class of all layers that stand in, made when there is a torch."""

    class UnknownLayer(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        """A layer of which only the use is known; its one weight is there where something takes its parameters."""

        takes_anything = True

        def __init__(self, user: Any, name: str, given: Any, *, trained: bool) -> None:
            super().__init__()
            held = [each for each in _flat(given) if isinstance(each, torch.nn.Module)]
            self.held = torch.nn.ModuleList(held)
            self.weight = torch.nn.Parameter(torch.ones(())) if trained else None
            self._user, self._name = user, name
            self._key = user.next_key(name)

        def forward(self, *arguments: Any, **keywords: Any) -> Any:
            """What a rehearsal finds that it is to return; what is no tensor comes back as it went in."""
            self._user.receiving.got(self._name, (*arguments, *keywords.values()))
            if not any(True for _ in tensors_in((arguments, keywords), torch)):
                return arguments[0] if arguments else Augmented(keywords)
            parts = [each for each in self.held.parameters() if each.requires_grad]
            return self._user.computed(self._key, self._name, (arguments, keywords), self.weight, parts)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name in ("module", "held", "weight"):
                return super().__getattr__(name)
            try:
                return super().__getattr__(name)
            except AttributeError:
                if self._user.is_asked_whether(name):
                    raise
            return _part(self, name)

        def __repr__(self) -> str:
            return f"{self._name}()"

    UnknownLayer.__qualname__ = UnknownLayer.__name__  # who saves a whole model saves the name of its class
    globals()[UnknownLayer.__name__] = UnknownLayer
    return UnknownLayer


def _part(layer: Any, name: str) -> Any:
    """An attribute of a layer: a size, or a layer inside of it."""
    if name in CONFIGURING:
        return WIDTH
    if name.lower().rpartition("_")[2] in COUNTED:
        return number(name)
    inner = type(layer)(layer._user, f"{layer._name}.{name}", (), trained=False)
    layer._modules[name] = inner  # `add_module` asks whether it has one already
    return inner


def _flat(given: Any) -> list[Any]:
    found: list[Any] = []
    for each in given:
        if isinstance(each, (list, tuple)):
            found += _flat(each)
        elif isinstance(each, dict):
            found += _flat(each.values())
        else:
            found.append(each)
    return found
