"""What Python's own library had."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

from ... import imports
from ..fallbacks import importing_frame
from .names import Removed, moved

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

CONTAINERS = (
    "Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator Generator Reversible Sized "
    "Container Callable Collection Set MutableSet Mapping MutableMapping MappingView KeysView ItemsView ValuesView Sequence "
    "MutableSequence ByteString"
).split()
NAMES: dict[str, dict[str, tuple[str, Callable[[], Any]]]] = {
    "collections": {name: moved(f"collections.abc:{name}") for name in CONTAINERS},
    "time": {"clock": moved("time:perf_counter")},
    "fractions": {"gcd": moved("math:gcd")},
    "inspect": {
        "getargspec": ("inspect.getfullargspec", lambda: _getargspec),
        "formatargspec": ("inspect.signature", lambda: lambda *_, **__: "()"),
    },
    "string": {name: moved(f"string:ascii_{name}") for name in ("letters", "lowercase", "uppercase")},
    "os": {"getcwdu": moved("os:getcwd"), "errno": moved("errno")},
}


class PythonNames(Removed):
    """Names of the standard library, and modules of it."""

    def prepare(self) -> None:
        """Hooks the modules when they are imported, and those that are there no more."""
        for name, known in NAMES.items():
            imports.after(name, lambda module, known=known: self.names(module, known))  # type: ignore[misc]
        imports.after("dataclasses", self._patch_defaults)
        imports.where_absent(self._find)

    def _patch_defaults(self, module: types.ModuleType) -> None:
        """Until Python 3.11, the default of a field could be an object of any class but a list, a dictionary or a set.

        Since then it has to be hashable: https://docs.python.org/3/whatsnew/3.11.html#dataclasses.
        """
        fields: Any = module
        get = fields._get_field

        @functools.wraps(get)
        def field(cls: Any, name: str, *arguments: Any) -> Any:
            try:
                return get(cls, name, *arguments)
            except ValueError:
                default = vars(cls).get(name)
                path = getattr(sys.modules.get(cls.__module__), "__file__", None)
                if type(default).__module__ == "builtins" or not path or not self.sources.is_users(path):
                    raise
            self.was_used("mutable default", "one object shared by all instances")
            setattr(cls, name, fields.field(default_factory=lambda: default))
            return get(cls, name, *arguments)

        fields._get_field = field

    def _find(self, name: str) -> ModuleSpec | None:
        """`distutils`, of which scripts use the order of versions and the truth of words."""
        frame = importing_frame()
        if name not in MODULES or frame is None or not self.sources.is_users(frame.f_code.co_filename):
            return None
        self.was_used(name.partition(".")[0], "a copy of the commonly used part")
        return imports.spec_of(name, _made)


def _getargspec(function: Any) -> Any:
    found = inspect.getfullargspec(function)
    return types.SimpleNamespace(args=found.args, varargs=found.varargs, keywords=found.varkw, defaults=found.defaults)


class LooseVersion:
    """A version, whose numbers are compared as numbers."""

    def __init__(self, vstring: str = "") -> None:
        self.vstring = vstring
        parts = "".join(each if each.isalnum() else "." for each in vstring).split(".")
        self.version = [int(each) if each.isdecimal() else each for each in parts if each]

    def _numbers(self, other: Any) -> list[list[tuple[bool, Any]]]:
        whole = other if isinstance(other, LooseVersion) else LooseVersion(str(other))
        return [[(isinstance(each, str), each) for each in version.version] for version in (self, whole)]

    def __eq__(self, other: object) -> bool:
        first, second = self._numbers(other)
        return first == second

    def __hash__(self) -> int:
        return hash(self.vstring)

    def __lt__(self, other: Any) -> bool:
        first, second = self._numbers(other)
        return bool(first < second)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __gt__(self, other: Any) -> bool:
        first, second = self._numbers(other)
        return bool(first > second)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __str__(self) -> str:
        return self.vstring


def _strtobool(value: str) -> int:
    lowered = value.lower()
    if lowered in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if lowered in ("n", "no", "f", "false", "off", "0"):
        return 0
    message = f"invalid truth value {value!r}"
    raise ValueError(message)


MODULES: dict[str, dict[str, Any]] = {
    "distutils": {},
    "distutils.version": {"LooseVersion": LooseVersion, "StrictVersion": LooseVersion},
    "distutils.util": {"strtobool": _strtobool},
}


def _made(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(MODULES[name], __path__=[])
    above, _, last = name.rpartition(".")
    if above in sys.modules:
        setattr(sys.modules[above], last, module)
    return module
