"""Arguments that functions of libraries had: an earlier attempt failed on them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .names import FAILS, GONE

if TYPE_CHECKING:
    from types import ModuleType


class Keywords(StandIn):
    """Leaves arguments out that a function does not take: what they would have done is not known."""

    replaces = GONE
    voids = (told.ACTIONS,)

    def prepare(self) -> None:
        """Hooks the modules of these functions."""
        for whole in self.learnt.names("keyword") if self.learnt else ():
            parts = whole.split(".")
            for length in range(1, len(parts)):
                after(".".join(parts[:length]), functools.partial(self._patch, whole, parts[length:]))

    def _patch(self, whole: str, names: list[str], module: ModuleType) -> None:
        """Patches the function where it lies in this module, and not in one below."""
        owner: Any = module
        for name in names[:-1]:
            owner = getattr(owner, name, None)
        function = getattr(owner, names[-1], None)
        if not callable(function):
            return
        left_out = frozenset(map(str, self.learnt.of("keyword", whole) or ()))

        @functools.wraps(function)
        def called(*arguments: Any, **keywords: Any) -> Any:
            for name in left_out.intersection(keywords):
                del keywords[name]
                why = f"{FAILS}: the function has no argument `{name}`"
                self.tell(f"{whole}({name}=…)", "a call without it", why=why)
            return function(*arguments, **keywords)

        setattr(owner, names[-1], called)
