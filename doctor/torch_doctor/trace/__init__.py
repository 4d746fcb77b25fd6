"""The event vocabulary that both witnesses write and every rule reads."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_doctor.trace.broken import *
from torch_doctor.trace.site import Site as Site

if TYPE_CHECKING:
    from torch_doctor.trace.vocabulary import *
else:

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - any member
        """Import the events when one is asked for: a scan of files that have not changed needs none.

        Raises:
            AttributeError: the package has no such name.
        """
        members = {} if name.startswith("__") else vars(import_module(f"{__name__}.vocabulary"))
        if name not in members:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        globals().update({each: member for each, member in members.items() if not each.startswith("__")})
        return members[name]
