"""Evaluation: the mode of modules, results that are stored, sums and averages, and answers asked for twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ModeSet(Event, frozen=True, kw_only=True):
    """`module.train()` or `module.eval()` is called."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    training: Tri
    """True for training mode; None if the argument is unknown."""
    whole: bool = True
    """False if the module is a part of another one, such as `model.backbone.eval()`."""
    norms: frozenset[int] = NO_EVENTS
    """The batch norm layers in it, or the module itself if it is one."""
    part_of: frozenset[int] = NO_EVENTS
    """The modules in whose construction it was registered, and those around them: no `Registered` events tell of these."""

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "an unknown mode"}[self.training]
        return f"switch {quoted(self.name)} to {mode}{'' if self.whole else ' (part of a model)'}"


class Stored(Event, frozen=True, kw_only=True):
    """A tensor without a graph is stored in an attribute, an item or another tensor, where it may be read again."""

    forwards: frozenset[int]
    """The `Forward` events whose data it contains."""

    def words(self, _: Names, /) -> str:
        return "store a result without a graph"


class Summed(Event, frozen=True, kw_only=True):
    """`holder += value` in a loop, or `sum(holder)`."""

    holder: str
    """The expression for the sum."""
    started: Site | None = None
    """Where the sum is set to zero; None if unknown."""
    carries: frozenset[int] = NO_EVENTS
    """The `Summed` events whose values the sum certainly contains."""
    means: frozenset[int] = NO_EVENTS
    """The events that computed the added value, if it is a mean over a batch."""
    counts: bool = False
    """Whether the added value is 1."""
    rows: bool = False
    """Whether the added value is the number of samples in a batch."""
    weighted: frozenset[int] = NO_EVENTS
    """The events that computed the added value, if it is a mean over a batch times its number of samples, or a summed loss."""
    at_once: bool = False
    """Whether it is `sum(holder)`."""
    listed: int = 0
    """The list that is summed; 0 if there is none."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose results the added value contains."""
    hits: tuple[int | str | None, ...] | None = None
    """The shape of the labels, if the added value counts where outputs equal them; None for other values."""

    def words(self, _: Names, /) -> str:
        return f"add to {quoted(self.holder)}"


class Meaned(Event, frozen=True, kw_only=True):
    """The mean of all elements of a tensor is computed in a loop."""

    value: TensorFact
    """The tensor."""
    hits: tuple[int | str | None, ...] | None = None
    """The shape of the labels, if the tensor marks where outputs equal them; None for other tensors."""
    by_rows: bool = False
    """Whether it is the sum of all elements, divided by the number of samples in the batch."""

    def words(self, _: Names, /) -> str:
        return f"mean of {self.value.words()}"


class Steered(Event, frozen=True, kw_only=True):
    """A number determines what happens: it is compared, or passed to a scheduler."""

    sums: frozenset[int]
    """The `Summed` and `Averaged` events that it certainly contains."""

    def words(self, _: Names, /) -> str:
        return "control flow depends on a sum or an average"


class Averaged(Event, frozen=True, kw_only=True):
    """A sum is divided."""

    name: str
    """The expression."""
    sums: frozenset[int]
    """The `Summed` events that the dividend certainly contains."""
    length: int = 0
    """The loader or dataset whose length is the divisor; 0 if there is none."""
    index_of: int = 0
    """The loader whose last batch has the divisor as its index, counted from 0; 0 if there is none."""
    number: float | None = None
    """The divisor, if the source gives it. Only the static witness knows it."""
    by: frozenset[int] = NO_EVENTS
    """The `Summed` events in the divisor."""
    means: frozenset[int] = NO_EVENTS
    """The events that computed the averaged values, if these are equally weighted means over batches."""
    by_site: Site | None = None
    """The place of the divisor."""
    by_batch: bool = False
    """Whether the divisor is the number of samples in one batch."""
    again: bool = False
    """Whether the dividend is a quotient."""

    def words(self, _: Names, /) -> str:
        return f"divide a sum: {quoted(self.name)}"


class Gathered(Event, frozen=True, kw_only=True):
    """Values of all processes are put together or added up, those of samples that fill up the last batches included.

    Only the static witness writes it.
    """

    sums: frozenset[int] = NO_EVENTS
    """The `Summed` events in the values."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose results the values contain."""

    def words(self, _: Names, /) -> str:
        return "gather values of all processes"


class Multiplied(Event, frozen=True, kw_only=True):
    """A sum or an average is multiplied by a number that the source does not give."""

    sums: frozenset[int]
    """The `Summed` and `Averaged` events in it."""

    def words(self, _: Names, /) -> str:
        return "multiply a sum or an average"


DECIDING: Final = frozenset(("compared", "given to a scheduler"))
"""How a score decides something, in `ScoreUsed`: for that, the sum over all batches is meant, if there is one."""


class ScoreUsed(Event, frozen=True, kw_only=True):
    """After a loop over batches, a loss or metric of a single batch is used."""

    holder: str
    """The name that it is assigned to."""
    assigned: Site
    """Where it is assigned in the loop."""
    how: str
    """How it is used: "shown", "compared", "kept", "logged" or "given to a scheduler"."""
    forwards: frozenset[int]
    """The `Forward` events that it measures, all of one batch."""
    loop: int
    """The loop."""
    tallies: frozenset[int] = NO_EVENTS
    """The objects, as in `TallyUsed`, that returned it and add up the scores of all batches."""

    def words(self, _: Names, /) -> str:
        return f"the last batch's {quoted(self.holder)} is {self.how}"


ADDED, BEGUN, READ, LOGGED = "added", "begun", "read", "logged"
"""What happens to an object that adds up results, in `TallyUsed`."""


class TallyUsed(Event, frozen=True, kw_only=True):
    """Something happens to an object of the project or of a library that adds up results of models, and that a method can reset.

    Only the static witness writes it.
    """

    tally: int
    """The object."""
    class_name: str
    """The class of the object."""
    built: Site
    """Where the object is constructed."""
    how: str
    """What happens: "added", "begun" if it is or may be set back, "read" outside of loops over batches, "logged" if
    a library reads and resets it."""
    name: str = ""
    """The expression that a result is added to."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose results are added."""
    listed: bool = False
    """Whether a result is appended to a list."""

    def words(self, _: Names, /) -> str:
        what = (
            f"add a result to {quoted(self.name)} of"
            if self.how == ADDED
            else {BEGUN: "set back"}.get(self.how, self.how)
        )
        return f"{what} an object of {quoted(self.class_name)}"


OUT_OF_REACH: Final[dict[str, Callable[[float], bool]]] = {
    "==": lambda number: number not in (0, 1),
    "!=": lambda number: number not in (0, 1),
    ">": lambda number: number >= 1,
    ">=": lambda number: number > 1,
}
"""Whether the result of a comparison with a number is the same for True and False, by the sign before the number."""


class NumberCompared(Event, frozen=True, kw_only=True):
    """A tensor or array is compared with a number that no boolean reaches, so that the result is the same for all booleans.

    The static witness reports only booleans, the probe the first comparisons at each place.
    """

    sign: str
    """The sign before the number: "==", "!=", ">" or ">="."""
    number: float
    """The number."""
    dtype: str
    """The dtype of the tensor."""
    name: str = ""
    """The expression of the tensor; "" if unknown."""
    added: bool = False
    """Whether the tensor is a sum."""

    def words(self, _: Names, /) -> str:
        return f"compare {quoted(self.name or 'a tensor')} ({self.dtype}) with {self.number:g}"


class SettledCompared(Event, frozen=True, kw_only=True):
    """Labels are compared with predictions that are the same for every output of the model. Only the static witness writes it."""

    number: int
    """What all predictions are."""
    forwards: frozenset[int]
    """The `Forward` events that they are made of."""

    def words(self, _: Names, /) -> str:
        return f"compare labels with predictions that are {self.number} for every output"


class Reevaluated(Event, frozen=True, kw_only=True):
    """A copy of a module evaluated the same batch twice. Only the probe writes it."""

    forward: int
    """The `Forward` event of the first evaluation."""
    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    first: float
    """The element with the largest difference, in the first output."""
    second: float
    """The same element of the second output."""
    difference: float
    """The difference between them."""
    because: str
    """The reason; "" if the outputs are equal.

    "mode": parts are in training mode. "dropout": a dropout function ignores the mode. "state": with the same random numbers, the
    output differs. "disturbance": the script adds noise of a strength that is not learned. "noise": it draws random numbers for
    something else. "estimate": norms that divide weights are still random numbers, and training forwards return other outputs.
    """

    def words(self, _: Names, /) -> str:
        same = f"{self.first:.4g} and {self.second:.4g} ({self.because})" if self.difference else "the same"
        return f"evaluate a batch of `{self.name}` twice: {same}"


class ModelSpecified(Event, frozen=True, kw_only=True):
    """Code that gets a model may know its parts: it takes an attribute that not every model has, or names its class."""

    module: int
    """The model."""
    name: str
    """The attribute, or the parameter."""

    def words(self, _: Names, /) -> str:
        return f"look into the model by {quoted(self.name)}"
