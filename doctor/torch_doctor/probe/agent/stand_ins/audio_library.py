"""The module `torchaudio`, made of the parts of its replica when a script imports it."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from .. import imports
from . import told
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .silent import Silent
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

TOP = "torchaudio"
REPLICAS = f"{(__package__ or '').rpartition('.')[0]}.replicas.torchaudio"


class Audio(StandIn):
    """Stands in for torchaudio where it is not installed."""

    replaces = "package not installed"
    voids = (told.VALUES, told.FILES)

    def prepare(self) -> None:
        """Finds it, and its modules."""
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        if name != TOP and not name.startswith(f"{TOP}."):
            return None
        if name != TOP:
            known = name in MODULES and isinstance(sys.modules.get(TOP), Library)
            return imports.spec_of(name, functools.partial(_inner, stand_in=self)) if known else None
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        if not users or is_only_asking() or has_fallback(self.sources, frame):
            return None
        self.tell(TOP, "synthetic waveforms and their transforms")
        return imports.spec_of(name, Library)


class Library(types.ModuleType):
    """`torchaudio`: what reads files, and its modules when they are asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "2.6.0"

    def __getattr__(self, name: str) -> Any:
        if name in ("load", "info", "save"):
            return getattr(_part("waves"), name)
        if f"{TOP}.{name}" in MODULES:
            return importlib.import_module(f"{TOP}.{name}")
        if name in NOTHING:
            return Silent(name)
        message = f"module {TOP!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=self)


NOTHING = frozenset({"set_audio_backend", "get_audio_backend", "list_audio_backends", "initialize_sox", "shutdown_sox"})


def _inner(name: str, stand_in: StandIn) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update({key: each for key, each in MODULES[name](stand_in).items() if not key.startswith("_")})
    return module


def _part(name: str) -> Any:
    return importlib.import_module(f"{REPLICAS}.{name}")


def _transforms(_: StandIn) -> dict[str, Any]:
    found = vars(_part("spectra"))
    kinds = {
        name: each for name, each in found.items() if isinstance(each, type) and each.__module__.startswith(REPLICAS)
    }
    for kind in kinds.values():
        kind.__module__ = f"{TOP}.transforms"
    return kinds


def _functional(_: StandIn) -> dict[str, Any]:
    spectra = _part("spectra")

    def amplitude(x: Any, multiplier: float, *_: Any, **__: Any) -> Any:
        return multiplier * x.clamp(min=spectra.FEW).log10()

    return {"resample": _part("waves").resample, "amplitude_to_DB": amplitude}


MODULES: dict[str, Callable[[StandIn], dict[str, Any]]] = {
    f"{TOP}.transforms": _transforms,
    f"{TOP}.functional": _functional,
    f"{TOP}.datasets": lambda stand_in: _part("datasets").by_name(stand_in.tell),
}
