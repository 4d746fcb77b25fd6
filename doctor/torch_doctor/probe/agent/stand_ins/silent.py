"""Objects and modules that take every call and do nothing: what stands in for plots and logs."""

from __future__ import annotations

import abc
import dis
import functools
import sys
import types
from typing import Any

from ..handed import hand

UNPACK = dis.opmap["UNPACK_SEQUENCE"]


KEEPING = frozenset(
    ("cache", "cached", "cache_data", "cache_resource", "experimental_memo", "experimental_singleton", "memoize")
)
"""Names under which packages offer decorators that keep what a function returned."""


class Silent:
    """Answers every attribute, call and index with another one; it is true, empty and 0.

    `a, b = silent` gives as many as are unpacked; called with nothing but one function, as a decorator is, it returns it.
    """

    def __init__(self, name: str = "silent", *_: Any, **__: Any) -> None:
        self.__dict__["_name"] = name if name.__class__ is str else "silent"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return made(f"{self._name}.{name}", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """As `returned`."""
        return returned(self._name, arguments, keywords)

    def __getitem__(self, _: Any) -> Any:
        return Silent(self._name)

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __delitem__(self, _: Any) -> None: ...

    def __iter__(self) -> Any:
        return iter([Silent(self._name) for _ in range(unpacked(sys._getframe(1)))])

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __contains__(self, _: Any) -> bool:
        return False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"<{self._name}, silent>"

    def __format__(self, _: str) -> str:
        return ""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __lt__(self, _: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __add__(self, _: Any) -> Any:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __mod__ = __or__ = (
        __and__
    ) = __add__

    def __neg__(self) -> Any:
        return self


class SilentModule(types.ModuleType):
    """A module whose every attribute is silent."""

    __all__: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        inner = sys.modules.get(f"{self.__name__}.{name}")
        value = inner if inner is not None else made(f"{self.__name__}.{name}", name)
        setattr(self, name, value)
        return value

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """As `returned`."""
        return returned(self.__name__, arguments, keywords)


class SilentClass(abc.ABCMeta):
    """The class of a class whose own attributes are silent, too (`Task.init(...)`); those that inherit it have theirs."""

    def __getattr__(cls, name: str) -> Any:
        if (name.startswith("__") and name.endswith("__")) or "_name" not in vars(cls):
            raise AttributeError(name)
        return made(f"{vars(cls)['_name']}.{name}", name)


def made(whole: str, name: str) -> Any:
    """What stands for an attribute: a class where the name is written like one, so that it can be a base."""
    if name[:1].isupper() and not name.isupper():
        inside = {"__module__": whole.rpartition(".")[0], "_name": whole, "__init__": _named_like_its_class}
        return SilentClass(name, (Silent,), inside)
    return Silent(whole)


def _named_like_its_class(self: Silent, *arguments: Any, **keywords: Any) -> None:
    """What builds an object of a silent class: its arguments are not its name."""
    del self
    hand((*arguments, *keywords.values()))


def returned(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a silent call returns."""
    hand((*arguments, *keywords.values()))
    if len(arguments) == 1 and not keywords and decorates(arguments[0]):
        return decorated(name, arguments[0])
    return Silent(f"{name}()")


def decorated(name: str, given: Any) -> Any:
    """A function or class as it is; what computes once for equal arguments, where its decorator is there for that."""
    if isinstance(given, type) or name.replace("()", "").rpartition(".")[2] not in KEEPING:
        return given
    kept: dict[Any, Any] = {}

    @functools.wraps(given)
    def once(*arguments: Any, **keywords: Any) -> Any:
        key = (*map(_same, arguments), *((name, _same(value)) for name, value in sorted(keywords.items())))
        if key not in kept:
            kept[key] = (given(*arguments, **keywords), arguments, keywords)
        return kept[key][0]

    return once


def _same(value: Any) -> Any:
    """What is equal for equal arguments: what cannot be a key is compared by its identity."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def decorates(given: Any) -> bool:
    """Whether the only argument of a call is a function or class that it decorates; types of numbers are asked for."""
    if isinstance(given, type):
        return given.__module__.partition(".")[0] not in ("builtins", "numpy", "torch")
    return isinstance(given, types.FunctionType)


def unpacked(frame: types.FrameType) -> int:
    """How many values the statement that iterates wants: those it unpacks, else none."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if 0 <= at < len(code) and code[at] == UNPACK else 0
