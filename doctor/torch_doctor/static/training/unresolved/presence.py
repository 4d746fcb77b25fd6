"""Which sorts of objects a run has made at all."""

from __future__ import annotations

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run


class Scalers(Lasting):
    """The gradient scalers of a run."""

    any: bool = per_run(bool)  # whether there is one


class Loads(Lasting):
    """The data loaders of a run."""

    any: bool = per_run(bool)  # whether one was ever built
