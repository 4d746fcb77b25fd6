"""Calls a function right after a module's own import, and finds modules that are not there."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Patch = Callable[[ModuleType], None]
    Absent = Callable[[str], ModuleSpec | None]
    Broken = Callable[[str, ModuleSpec], Callable[[Exception], ModuleType] | None]


class Finder:
    """The first finder of `sys.meta_path`: it lets the others find, and hooks into what they found."""

    patches: ClassVar[dict[str, list[Patch]]] = {}
    before: ClassVar[dict[str, Absent]] = {}
    absent: ClassVar[list[Absent]] = []
    broken: ClassVar[list[Broken]] = []
    _looking: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with what is to be called after its import; None lets them look."""
        instead = cls.before.get(name)
        if instead is not None and (spec := instead(name)) is not None:
            return spec
        patched = name in cls.patches
        if (not patched and not cls.absent) or name in cls._looking:
            return None
        spec = cls._found_by_others(name, path, target)
        if spec is None:
            return next((made for look in cls.absent if (made := look(name)) is not None), None)
        if patched and spec.loader is not None:
            _call_after(spec.loader, lambda module: cls.imported(name, module))
        if spec.loader is not None and "." not in name:
            for look in cls.broken:
                if (make := look(name, spec)) is not None:
                    _where_it_fails(spec.loader, make)
        return spec

    @classmethod
    def imported(cls, name: str, module: ModuleType) -> None:
        """Calls what waits for `name`."""
        for patch in cls.patches.get(name, ()):
            patch(module)

    @classmethod
    def _found_by_others(cls, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        cls._looking.add(name)
        try:
            for finder in sys.meta_path:
                if finder is not cls and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        return spec
        finally:
            cls._looking.discard(name)
        return None


def after(name: str, patch: Patch) -> None:
    """Calls `patch` with the module `name` once its own import is done; at once where it is imported already."""
    _install()
    Finder.patches.setdefault(name, []).append(patch)
    module = sys.modules.get(name)
    if module is not None:
        patch(module)


def instead(name: str, find: Absent) -> None:
    """Asks `find` for the spec of the module `name` before it is looked for; it may answer None."""
    _install()
    Finder.before[name] = find


def where_absent(find: Absent, *, last: bool = False) -> None:
    """Asks `find` for the spec of any module that is not there, after all others where it is the `last`; None leaves it absent."""
    _install()
    Finder.absent.insert(len(Finder.absent) if last else 0, find)


def where_broken(look: Broken) -> None:
    """Asks `look` of each package that is found what makes a module instead of it if its import fails; None lets it fail."""
    _install()
    Finder.broken.append(look)


def _install() -> None:
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


def _call_after(loader: Any, call: Patch) -> None:
    def exec_module(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        call(module)

    _execute_by(loader, exec_module)


def _where_it_fails(loader: Any, make: Callable[[Exception], ModuleType]) -> None:
    """Has another module take the place of one whose import fails, and of all that is in it."""

    def exec_module(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        try:
            execute(module)
        except Exception as error:  # noqa: BLE001 - whatever a library raises
            name = module.__name__
            for each in [each for each in sys.modules if each.startswith(f"{name}.")]:
                del sys.modules[each]
            sys.modules[name] = make(error)

    _execute_by(loader, exec_module)


def _execute_by(loader: Any, call: Callable[[Callable[[ModuleType], None], ModuleType], None]) -> None:
    """Has a loader execute its next module by a function, which gets the usual one."""
    execute: Callable[[ModuleType], None] = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        restore()
        call(execute, module)

    def restore() -> None:
        if isinstance(loader, type):
            setattr(loader, "exec_module", execute)  # noqa: B010 - an attribute that not every class has
        else:
            vars(loader).pop("exec_module", None)

    loader.exec_module = exec_module


class StandInLoader(importlib.abc.Loader):
    """Loads a module that `make` makes."""

    def __init__(self, make: Callable[[str], ModuleType]) -> None:
        self._make = make

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that `make` makes."""
        return self._make(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module is complete."""


def spec_of(name: str, make: Callable[[str], ModuleType]) -> ModuleSpec:
    """The spec of a module, and package, that `make` makes."""
    return importlib.machinery.ModuleSpec(name, StandInLoader(make), is_package=True)
