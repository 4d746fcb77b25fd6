"""Names that modules had, and that the user's code alone still finds there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .. import told
from ..fallbacks import importing_frame
from ..stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

GONE = "removed from this version: an error without the probe"
FAILS = "without the probe, the script fails by itself here"


class Removed(StandIn):
    """Something that was removed, and works as it did."""

    replaces = GONE
    voids = (told.VERSION,)

    def was_used(self, what: str, instead: str) -> None:
        """Tells that what was removed was used."""
        self.tell(what, instead)

    def took_argument(self, function: str, argument: str, new: str | None, module: str) -> None:
        """Tells of an argument that the installed version refuses: without the probe, the script fails by itself there."""
        package = module.partition(".")[0]
        version = str(getattr(sys.modules.get(package), "__version__", "")).partition("+")[0]
        expects = f"it expects `{new}`" if new else "nothing replaces it"
        why = f"`{function}` of {package} {version} has no argument `{argument}`: {expects}"
        self.tell(f"{function}({argument}=…)", f"{new}=…" if new else "the default", why=f"{FAILS}; {why}")

    def names(self, module: ModuleType, known: Mapping[str, tuple[str, Callable[[], Any]]], label: str = "") -> None:
        """Has a module answer names that it had: each with how it is called now, and what makes it."""
        label = label or module.__name__
        found_elsewhere = vars(module).get("__getattr__")

        def answered(name: str) -> Any:
            entry = known.get(name)
            if entry is None or not self._asked_by_user():
                if found_elsewhere is not None:
                    return found_elsewhere(name)
                message = f"module {module.__name__!r} has no attribute {name!r}"
                raise AttributeError(message, name=name, obj=module)
            now, make = entry
            self.was_used(f"{label}.{name}", now)
            return make()

        answering: Any = module
        answering.__getattr__ = answered

    def _asked_by_user(self) -> bool:
        frame = importing_frame()
        return frame is not None and self.sources.is_users(frame.f_code.co_filename)


def loaded(path: str) -> Any:
    """What a dotted path names, its modules imported."""
    name, _, rest = path.partition(":")
    __import__(name)
    value: Any = sys.modules[name]
    for part in rest.split(".") if rest else ():
        value = getattr(value, part)
    return value


def moved(path: str) -> tuple[str, Callable[[], Any]]:
    """An entry for what is elsewhere now: `module:name`."""
    return path.replace(":", ".").removeprefix("builtins."), lambda: loaded(path)
