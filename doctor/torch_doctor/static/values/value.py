"""What every value is, and what a call is given of them."""

from __future__ import annotations

from typing import TypeAlias

from torch_doctor.static.flow import EMPTY, Flow


class Value:
    """Anything an expression can evaluate to."""

    __slots__ = ()
    flow: Flow = EMPTY

    @property
    def tells_version(self) -> bool:
        """Whether it is computed of which version of a library is there."""
        return False


Args: TypeAlias = tuple[Value, ...]
"""The positional arguments of a call; the last may be a `Spread`."""


Keywords: TypeAlias = dict[str, Value]
"""The keyword arguments of a call; under "**" lies what cannot be told apart."""
