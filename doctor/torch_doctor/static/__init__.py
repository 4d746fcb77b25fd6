"""The first witness: executes source abstractly and writes the events it can prove."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from torch_doctor.static.budget import OutOfTime
    from torch_doctor.static.failure import Failure
    from torch_doctor.static.followed import Followed
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.installed.environment import Installed
    from torch_doctor.static.installed.whose import Environment, usual_folder
    from torch_doctor.static.order import FileOrder
    from torch_doctor.static.runs import Witness
    from torch_doctor.static.searching import is_there
    from torch_doctor.static.spending import Spending

__all__ = [
    "Environment",
    "Failure",
    "FileOrder",
    "Followed",
    "Imports",
    "Installed",
    "OutOfTime",
    "Spending",
    "Witness",
    "is_there",
    "usual_folder",
]
_MODULES: Final = {
    "Environment": "installed.whose",
    "Failure": "failure",
    "Followed": "followed",
    "Imports": "imports",
    "Installed": "installed.environment",
    "FileOrder": "order",
    "OutOfTime": "budget",
    "Spending": "spending",
    "Witness": "runs",
    "is_there": "searching",
    "usual_folder": "installed.whose",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: a scan of files that have not changed executes none of them.

    Raises:
        AttributeError: the package has no such name.
    """
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
