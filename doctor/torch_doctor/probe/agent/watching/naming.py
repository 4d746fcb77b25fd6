"""What classes are called in events."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..recorder import Recorder

PLACES = (
    ("torch.nn.modules.", "torch.nn."),
    ("torch.nn.parallel.", "torch.nn.parallel."),
    ("torch.optim.lr_scheduler", "torch.optim.lr_scheduler."),
    ("torch.optim.", "torch.optim."),
)


def class_name(cls: type, recorder: Recorder) -> str:
    """`torch.nn.Linear` for torch's own, the bare name for the project's, the whole name for all others."""
    module, name = cls.__module__, cls.__qualname__
    for place, short in PLACES:
        if module.startswith(place):
            return short + name
    return cls.__name__ if is_project(cls, recorder) else f"{module}.{name}"


def is_project(cls: type, recorder: Recorder) -> bool:
    """Whether a class is defined in the user's own files."""
    methods = (value for value in vars(cls).values() if hasattr(value, "__code__"))
    code = next((getattr(inspect.unwrap(value), "__code__", None) for value in methods), None)
    if code is not None and recorder.sites.is_users(code.co_filename):
        return True
    if cls.__module__ == "__main__":
        return True
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return isinstance(path, str) and recorder.sites.is_users(path)


def nearest(cls: type, prefix: str) -> type | None:
    """The first class in the order of inheritance whose module begins so."""
    return next((each for each in cls.__mro__ if each.__module__.startswith(prefix)), None)


def last(value: Any) -> str:
    """The last part of a dotted name."""
    return str(value).rpartition(".")[2]
