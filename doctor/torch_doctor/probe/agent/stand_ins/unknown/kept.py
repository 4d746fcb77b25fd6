"""Parameters that a script replaces by a placeholder, such as pretrained vectors of words: they keep their values."""

from __future__ import annotations

import functools
from typing import Any

from .. import told
from ..stand_in import StandIn
from ..unread.content import Unread
from .names import Unknown


class KeptParameters(StandIn):
    """Leaves a parameter as it was initialized where what it is given has no shape."""

    replaces = "its values are not known"
    voids = (told.WEIGHTS,)

    def with_torch(self, torch: Any) -> None:
        """Patches how a module takes attributes, where it does not take one."""
        module: Any = torch.nn.Module
        take = module.__setattr__

        @functools.wraps(take)
        def taking(self_: Any, name: str, value: Any) -> None:
            try:
                take(self_, name, value)
            except TypeError:
                if type(value) not in (Unknown, Unread) or self_.__dict__.get("_parameters", {}).get(name) is None:
                    raise
                self.tell(f"{type(self_).__name__}.{name}", "the initial weights")

        module.__setattr__ = taking
