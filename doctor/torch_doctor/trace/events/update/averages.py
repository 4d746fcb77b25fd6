"""Averages of weights: what is added to them, where they are put, and what becomes of batch norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class WeightsAveraged(Event, frozen=True, kw_only=True):
    """The current weights of modules are added to an average of them. Only the static witness writes it."""

    of: frozenset[int]
    """The modules, or the owners of the parameters, whose weights are averaged."""
    into: frozenset[int] = NO_EVENTS
    """The modules, or the owners, whose weights are the average; empty if tensors outside of modules are."""

    def words(self, names: Names, /) -> str:
        return f"average the weights of {names.things(self.of)}"


class AverageGiven(Event, frozen=True, kw_only=True):
    """An average of weights is written into a module. It comes with `WeightsGiven`. Only the static witness writes it."""

    modules: frozenset[int]
    """The owners of the parameters that are set."""
    of: frozenset[int]
    """The modules, or the owners of the parameters, whose weights were averaged."""
    name: str = ""
    """The expression for the module, if known."""

    def words(self, names: Names, /) -> str:
        return f"set weights of {names.things(self.modules)} to an average"


class AverageKept(Event, frozen=True, kw_only=True):
    """A model was evaluated with an average of its earlier weights, and then trained. Only the probe writes it.

    `site` is the call that evaluates it.
    """

    forward: int
    """The `Forward` event that evaluates it."""
    kept: bool
    """Whether the next optimizer step starts from the average; False if the weights were set back."""
    tensors: int
    """The number of earlier versions of the weights in the average."""
    distance: float
    """The distance between the average and the weights after the last step, relative to the norm of these."""

    def words(self, _: Names, /) -> str:
        after = "goes on from it" if self.kept else "goes on from other weights"
        return f"evaluate an average of {self.tensors} versions of the weights: training {after}"


class AveragedNormsRan(Event, frozen=True, kw_only=True):
    """A model with averaged weights is evaluated, whose batch norm has gathered no statistics with these weights."""

    forward: int
    """The `Forward` event that evaluates it."""
    module: int
    """The model."""
    norms: int
    """The number of its batch norm layers."""
    of: frozenset[int] = NO_EVENTS
    """The modules, or the owners of the parameters, whose weights were averaged."""
    since: Site | None = None
    """Where the model last got averaged weights."""
    initial: bool = False
    """Whether the statistics are those of new layers; otherwise they are those of the model that trains."""
    equal: bool = False
    """Whether an `AveragedModel` averages with equal weights. Only the static witness knows it."""
    versions: int = 0
    """The number of earlier versions of the weights in the average. Only the probe counts them."""
    renewed: bool = False
    """Whether the statistics are others, so that they may have been gathered for the average. Only the probe writes it."""

    def words(self, _: Names, /) -> str:
        whose = "other" if self.renewed else "initial" if self.initial else "the trained model's"
        return f"evaluate averaged weights with {whose} statistics of batch norm"
