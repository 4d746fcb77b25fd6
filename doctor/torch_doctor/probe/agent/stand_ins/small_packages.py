"""Small packages without which training scripts do not start, and of which a few lines are enough."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import TYPE_CHECKING, Any

from .. import imports
from . import config_parsers, told
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .packages import attributes, corpora, flags, nodes, parsers, roots, texts, tutorials, words
from .removed.python import LooseVersion
from .stand_in import StandIn
from .unknown.names import UnknownModule
from .unknown.things import current

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


class SmallPackages(StandIn):
    """Stands in for packages that hold settings, compile functions, compare versions or take texts apart."""

    replaces = "package not installed"

    def prepare(self) -> None:
        """Finds them where they are not installed."""
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        top = name.partition(".")[0]
        if top not in PACKAGES or is_only_asking() or has_fallback(self.sources, frame):
            return None
        if not users or (name != top and hasattr(sys.modules.get(top), "__file__")):  # one that is installed
            return None
        self.tell(top, PACKAGES[top][0], voids=(told.VALUES,) if top in words.NAMES else None)
        return imports.spec_of(name, _made)


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


PACKAGES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    **attributes.NAMES,
    **flags.NAMES,
    **nodes.NAMES,
    **parsers.NAMES,
    **roots.NAMES,
    **texts.NAMES,
    **words.NAMES,
    "configargparse": ("the parser of argparse", config_parsers.names),
    "numba": ("uncompiled functions", _compiling),
    "pkg_resources": ("comparable versions", _versions),
}


def _made(name: str) -> types.ModuleType:
    """A package, or a module in it, which has the same names, and placeholders for others."""
    module = UnknownModule(name, current())
    vars(module).update(PACKAGES[name.partition(".")[0]][1]())
    return module


def completed(spec: ModuleSpec) -> ModuleSpec:
    """The spec of a module that stands for one of a package of which some names are known; they are put into it."""
    names = {**corpora.PARTS, **tutorials.PARTS}.get(spec.name) or nodes.PARTS.get(spec.name.partition(".")[0])
    loader: Any = spec.loader
    if names is None or not isinstance(loader, imports.StandInLoader):
        return spec

    def made(name: str) -> types.ModuleType:
        module: types.ModuleType = loader.create_module(importlib.machinery.ModuleSpec(name, loader))
        vars(module).update(names())
        return module

    return imports.spec_of(spec.name, made)
