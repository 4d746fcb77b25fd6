"""Sizes of layers and settings of optimizers that were never read: those of their own, and usual ones."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from .content import NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

RATE = 0.01  # where an optimizer has none of its own
SIZES = {"kernel_size": 3, "num_heads": 2, "nhead": 2}
"""Settings of layers that are no numbers of features."""


def fill_settings(torch: Any, is_unread: Callable[[Any], bool]) -> None:
    """Has layers and optimizers of torch get numbers where they are given what was never read."""
    _fill_optimizers(torch, is_unread)
    for kind in {each for each in vars(torch.nn).values() if isinstance(each, type)}:
        if issubclass(kind, torch.nn.Module) and kind is not torch.nn.Module and "__init__" in vars(kind):
            kind.__init__ = _filled(vars(kind)["__init__"], is_unread)  # type: ignore[misc]


def _filled(build: Any, is_unread: Callable[[Any], bool]) -> Any:
    @functools.wraps(build)
    def built(self: Any, *arguments: Any, **keywords: Any) -> None:
        if is_unread((arguments, keywords)):
            parameters = list(inspect.signature(build).parameters.values())[1:]
            plain = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
            by_name = {each.name: each for each in plain}
            arguments = tuple(
                _usual(plain[place] if place < len(plain) else None) if is_unread(each) else each
                for place, each in enumerate(arguments)
            )
            keywords = {name: _usual(by_name.get(name)) if is_unread(each) else each for name, each in keywords.items()}
        build(self, *arguments, **keywords)

    return built


def _usual(parameter: inspect.Parameter | None) -> Any:
    if parameter is None:
        return NUMBER
    return SIZES.get(parameter.name, NUMBER) if parameter.default is parameter.empty else parameter.default


def _fill_optimizers(torch: Any, is_unread: Callable[[Any], bool]) -> None:
    """Has optimizers take their own settings where the script's are not known."""
    optimizer: Any = torch.optim.Optimizer
    build = optimizer.__init__

    def known(kind: type, name: str, value: Any) -> Any:
        if not is_unread(value) or name == "params":
            return value
        parameter = inspect.signature(kind.__init__).parameters.get(name)  # type: ignore[misc]
        usual = inspect.Parameter.empty if parameter is None else parameter.default
        return RATE if usual is inspect.Parameter.empty else usual

    @functools.wraps(build)
    def built(self: Any, params: Any, defaults: dict[str, Any]) -> None:
        groups = list(params)
        groups = [
            {key: known(type(self), key, value) for key, value in each.items()} if isinstance(each, dict) else each
            for each in groups
        ]
        build(self, groups, {key: known(type(self), key, value) for key, value in defaults.items()})

    optimizer.__init__ = built
