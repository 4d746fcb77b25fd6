"""Small packages without which training scripts do not start, and of which a few lines are enough."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from .. import imports
from . import config_parsers
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .removed.python import LooseVersion
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


class SmallPackages(StandIn):
    """Stands in for packages that hold settings, compile functions or compare versions."""

    replaces = "package not installed"

    def prepare(self) -> None:
        """Finds them where they are not installed."""
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        if name not in PACKAGES or not users or is_only_asking() or has_fallback(self.sources, frame):
            return None
        self.tell(name, PACKAGES[name][0])
        return imports.spec_of(name, _made)


class EasyDict(dict[str, Any]):
    """A dictionary whose items are attributes, as those of dictionaries in it are."""

    def __init__(self, given: Any = None, **keywords: Any) -> None:
        super().__init__()
        for name, value in {**dict(given or {}), **keywords}.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, _inside(value))

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __delattr__(self, name: str) -> None:
        del self[name]

    def update(self, *given: Any, **keywords: Any) -> None:
        """As that of a dictionary."""
        for name, value in dict(*given, **keywords).items():
            self[name] = value


def _inside(value: Any) -> Any:
    if isinstance(value, dict) and not isinstance(value, EasyDict):
        return EasyDict(value)
    return [_inside(each) for each in value] if type(value) is list else value


def _unchanged(*arguments: Any, **_: Any) -> Any:
    """A function as it is, or what decorates one so."""
    if len(arguments) == 1 and callable(arguments[0]) and not isinstance(arguments[0], type):
        return arguments[0]
    return lambda function: function


def _compiling() -> dict[str, Any]:
    names = ("jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc", "generated_jit")
    return {**dict.fromkeys(names, _unchanged), "prange": range, "typed": types.SimpleNamespace(List=list, Dict=dict)}


def _versions() -> dict[str, Any]:
    def get_distribution(name: str) -> Any:
        from importlib import metadata

        version = metadata.version(name)
        return types.SimpleNamespace(version=version, parsed_version=LooseVersion(version), project_name=name)

    packaging = types.SimpleNamespace(version=types.SimpleNamespace(parse=LooseVersion, Version=LooseVersion))
    none = {"resource_filename": lambda *_: "", "require": lambda *_: []}
    return {"parse_version": LooseVersion, "get_distribution": get_distribution, "packaging": packaging, **none}


def _settings(name: str) -> Callable[[], dict[str, Any]]:
    return lambda: {name: EasyDict}


PACKAGES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "easydict": ("a dictionary with attributes", _settings("EasyDict")),
    "addict": ("a dictionary with attributes", _settings("Dict")),
    "configargparse": ("the parser of argparse", config_parsers.names),
    "numba": ("uncompiled functions", _compiling),
    "pkg_resources": ("comparable versions", _versions),
}


def _made(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(PACKAGES[name][1]())
    return module
