"""Variables of the environment that the script reads and that are not set."""

from __future__ import annotations

import os

from .. import told
from ..stand_in import StandIn
from .values import untyped


class Variables(StandIn):
    """Sets those without which an earlier attempt failed."""

    replaces = "environment variable not set"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Gives each a value by its use, or its name."""
        for name in self.learnt.names("variable") if self.learnt else ():
            if name not in os.environ:
                self.learnt.of("variable", name)
                os.environ[name] = value = untyped(name, self.sources)
                self.tell(name, f"{value!r}")
