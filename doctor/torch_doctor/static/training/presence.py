"""Which sorts of objects a run has made at all."""

from __future__ import annotations

from torch_doctor.static.knowledge import Lasting


class Scalers(Lasting):
    """The gradient scalers of a run."""

    def __init__(self) -> None:
        self.any = False  # whether there is one


class Loads(Lasting):
    """The data loaders of a run."""

    def __init__(self) -> None:
        self.any = False  # whether one was ever built
