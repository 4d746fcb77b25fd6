"""Names that an installed module does not have in this version, and that the script imports from it."""

from __future__ import annotations

import builtins
import sys
import types
from typing import TYPE_CHECKING, Any

from ..fallbacks import has_fallback
from .names import Unknown, UnknownModule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Lacking(types.ModuleType):
    """A module as one `from` import sees it, with the names that it lacks."""

    def __init__(self, module: types.ModuleType, names: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        vars(self).update(names, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def install(unknowns: Any) -> None:
    """Has imports of the user's code find what installed modules lack."""
    builtins.__import__ = _importing(builtins.__import__, unknowns)


def _importing(original: Callable[..., Any], unknowns: Any) -> Any:
    sources = unknowns.sources

    def importing(
        name: str,
        globals: Any = None,  # noqa: A002 - as Python has it
        locals: Any = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        module = original(name, globals, locals, fromlist, level)
        path = (globals or {}).get("__file__")
        if (
            not fromlist
            or not isinstance(path, str)
            or not sources.is_users(path)
            or not _is_installed(module, sources)
        ):
            return module
        lacking = [each for each in fromlist if each != "*" and not _has(module, each)]
        if not lacking or has_fallback(sources, sys._getframe(1)):
            return module
        return Lacking(module, {each: _made(module, each, unknowns) for each in lacking})

    return importing


def _is_installed(module: Any, sources: Any) -> bool:
    """Whether a module is a library's, and complete."""
    path = getattr(module, "__file__", None)
    return (
        isinstance(module, types.ModuleType)
        and not isinstance(module, UnknownModule)
        and isinstance(path, str)
        and not sources.is_users(path)
        and module.__name__.partition(".")[0] not in sys.stdlib_module_names
        and not getattr(module.__spec__, "_initializing", False)
    )


def _made(module: types.ModuleType, name: str, unknowns: Any) -> Any:
    unknowns.user.teller.note(
        f"{module.__name__} has no {name} in this version; it is replaced by a placeholder inferred from its use"
    )
    return Unknown(f"{module.__name__}.{name}", unknowns)


def _has(module: types.ModuleType, name: str) -> bool:
    try:
        return hasattr(module, name) or f"{module.__name__}.{name}" in sys.modules
    except ImportError:  # a lazy module says so
        return False
