"""What holds for the whole process: switches of torch and its tools, and the seeds of random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event

if TYPE_CHECKING:
    from torch_doctor.trace.words import Tri


@dataclass(slots=True, kw_only=True, eq=False)
class SettingSet(Event):
    """A switch of the whole process was set; leaving the context that set it sets it again.

    `setting` is its dotted torch name, or the name of the environment variable; `name` the user's text. `value` is None
    where it is not known.
    """

    setting: str
    name: str
    value: Tri = None


@dataclass(slots=True, kw_only=True, eq=False)
class Seeded(Event):
    """A source of random numbers was given a seed, or may have been: `function` is what was called."""

    function: str


@dataclass(slots=True, kw_only=True, eq=False)
class RunAsScript(Event):
    """`if __name__ == "__main__":`, where the file is run and not imported."""


@dataclass(slots=True, kw_only=True, eq=False)
class FiniteChecked(Event):
    """Something was tested for NaN or Inf, or may have been: `function` is what was called."""

    function: str
