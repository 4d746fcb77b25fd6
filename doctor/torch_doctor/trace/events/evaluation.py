"""Evaluation: the mode of modules, results that are stored, sums and averages, and answers asked for twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ModeSet(Event, frozen=True, kw_only=True):
    """`module.train()` (`training` True) or `eval()` (False); None when the argument is not known.

    `whole` is False when the call went to a part of a bigger module (`model.backbone.eval()`).
    """

    module: int
    name: str
    training: Tri
    whole: bool = True

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "an unknown mode"}[self.training]
        return f"switch {quoted(self.name)} to {mode}{'' if self.whole else ' (part of a model)'}"


class Stored(Event, frozen=True, kw_only=True):
    """A tensor without a graph, with the data of these forwards in it, was put where it may be found again.

    An attribute, an item of something that is no list or dict, or written into a tensor that is there already.
    """

    forwards: frozenset[int]

    def words(self, _: Names, /) -> str:
        return "store a result without a graph"


class Summed(Event, frozen=True, kw_only=True):
    """`holder += something`, in a loop, or `sum(holder)`, with `at_once`.

    `started` is where the holder was set to zero, None where that is not known. `carries` are the `Summed` events whose
    values the holder surely had inside. `means` are the events that computed what was added, where that is the mean over a
    batch. `counts`: it was one that was added, `rows`: the number of rows of a loader's batch. `listed` is the list that was
    summed up at once; 0 where it was no list. `forwards` are those whose results are in what was added.
    """

    holder: str
    started: Site | None = None
    carries: frozenset[int] = NO_EVENTS
    means: frozenset[int] = NO_EVENTS
    counts: bool = False
    rows: bool = False
    at_once: bool = False
    listed: int = 0
    forwards: frozenset[int] = NO_EVENTS

    def words(self, _: Names, /) -> str:
        return f"add to {quoted(self.holder)}"


class Meaned(Event, frozen=True, kw_only=True):
    """The mean of all that is in a tensor was taken, in a loop; `value` is the tensor."""

    value: TensorFact

    def words(self, _: Names, /) -> str:
        return f"mean of {self.value.words()}"


class Steered(Event, frozen=True, kw_only=True):
    """A number decides what happens: it is compared, or a scheduler is given it; `sums` are the events surely in it."""

    sums: frozenset[int]

    def words(self, _: Names, /) -> str:
        return "control flow depends on a sum or an average"


class Averaged(Event, frozen=True, kw_only=True):
    """A sum was divided: `name` is the expression, `sums` the `Summed` events that are surely in the dividend.

    `length` is the object whose length it was divided by, a loader or what it reads for one; 0 where it is none. `by` are
    the `Summed` events in the divisor. `means` are the events that computed what was averaged, where that is means over
    batches, each with the same weight: in a list, or each divided by the length before they are added up. `by_site` is the
    divisor's place.
    """

    name: str
    sums: frozenset[int]
    length: int = 0
    by: frozenset[int] = NO_EVENTS
    means: frozenset[int] = NO_EVENTS
    by_site: Site | None = None

    def words(self, _: Names, /) -> str:
        return f"divide a sum: {quoted(self.name)}"


class Multiplied(Event, frozen=True, kw_only=True):
    """A number with these `Summed` and `Averaged` events in it was multiplied by one that the source does not give."""

    sums: frozenset[int]

    def words(self, _: Names, /) -> str:
        return "multiply a sum or an average"


class ScoreUsed(Event, frozen=True, kw_only=True):
    """A loss or metric of a single batch was used when the loop over the batches, `loop`, was over.

    It is `how`: "shown", "compared", "kept", "logged" or "given to a scheduler". `forwards` are those that it scores, all of
    one batch. In the loop it is assigned to `holder`, at `assigned`.
    """

    holder: str
    assigned: Site
    how: str
    forwards: frozenset[int]
    loop: int

    def words(self, _: Names, /) -> str:
        return f"the last batch's {quoted(self.holder)} is {self.how}"


class Reevaluated(Event, frozen=True, kw_only=True):
    """One batch of the `Forward` event `forward` was evaluated a second time, on a copy of the module.

    `first` and `second` are the number of the output in which both answers are furthest apart, `difference` is how far
    that is. `because` says what differed: "mode" (parts were in training mode), "dropout"
    (a functional one that ignores the mode), "state" (the same random numbers gave another answer), "disturbance"
    (the script adds noise of a strength that nothing learns), "noise" (it draws random numbers for something else),
    "estimate" (norms that weights are divided by were random numbers still, and training forwards give another answer); ""
    where nothing did. Only the probe writes it.
    """

    forward: int
    module: int
    name: str
    first: float
    second: float
    difference: float
    because: str

    def words(self, _: Names, /) -> str:
        same = f"{self.first:.4g} and {self.second:.4g} ({self.because})" if self.difference else "the same"
        return f"evaluate a batch of `{self.name}` twice: {same}"
