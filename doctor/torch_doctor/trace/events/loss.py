"""The loss: how it is built and called, what goes into it, and how it is lost to what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, on_one_line, quoted, short, unused
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class LossBuilt(Event, frozen=True, kw_only=True):
    """A loss module of torch is constructed."""

    loss: str
    """The torch name of its class."""
    name: str
    """The expression."""
    given: tuple[TensorFact, ...] = ()
    """The tensors that are passed as settings, except for weights."""
    doubtful: int = 0
    """The number of arguments for settings of which nothing is known."""
    used_at: Site | None = None
    """Where the object is used as the value of a loss, such as `.backward()` or `.item()`."""
    reduction: str = ""
    """As in `LossCalled`."""

    def words(self, _: Names, /) -> str:
        given = [f"gets {fact.words()}" for fact in self.given]
        return f"create the loss {short(self.loss)}{in_brackets(given)}"


class LossCalled(Event, frozen=True, kw_only=True):
    """A loss is computed."""

    loss: str
    """The torch name of the loss."""
    name: str
    """The expression."""
    expects: Kind
    """The kind that its input must have, such as `Kind.LOGITS` for cross-entropy."""
    input: TensorFact
    """The input."""
    target: TensorFact
    """The target."""
    output: TensorFact
    """The value of the loss."""
    raised: str = ""
    """The error of torch if it rejects the arguments; "" otherwise."""
    reduction: str = ""
    """How the losses of elements are combined: "mean", "sum", "batchmean", "none", or "" if unknown."""
    handed_in: bool = False
    """Whether an unresolved caller passes the loss."""

    def words(self, _: Names, /) -> str:
        expects = f"expects {self.expects.value}" if self.expects is not Kind.UNKNOWN else ""
        target = f"; target {self.target.words()}" if self.target.name or self.target.kind is not Kind.UNKNOWN else ""
        kind = "" if self.name.endswith(short(self.loss)) else short(self.loss)
        traits = in_brackets(part for part in (kind, expects) if part)
        refused = f": {on_one_line(self.raised)}" if self.raised else ""
        return f"loss {quoted(self.name)}{traits} gets {self.input.words()}{target}{refused}"


class SamplesChosen(Event, frozen=True, kw_only=True):
    """A loss goes backward, and besides its targets an item of the batch selects or weights the samples in it.

    `site` is the backward pass. Only the static witness writes it.
    """

    def words(self, _: Names, /) -> str:
        return "an item of the batch selects or weights the samples of the loss"


class ClassesMarked(Event, frozen=True, kw_only=True):
    """A loss gets targets from a loader that are 0 or 1 for each class by itself. `site` is the call of the loss."""

    def words(self, _: Names, /) -> str:
        return "the targets of the loss may mark several classes of a sample"


class Normalised(Event, frozen=True, kw_only=True):
    """A softmax, log-softmax or softmin is computed. `site` is the call, or the construction of a layer in a container."""

    function: str
    """The torch name of the function."""
    input: TensorFact
    """The input."""
    size: int
    """The size of the dimension; 0 if unknown."""
    dim: int | None = None
    """The dimension that the script passes; None if unknown."""
    dim_given: Tri = None
    """Whether the script passes a dimension."""
    in_model: bool = False
    """Whether a method of a module computes it."""
    collapsed: bool = False
    """Whether the script has reduced the dimension to one element. Only the static witness knows it."""
    of_array: bool = False
    """Whether the input is an array."""

    def words(self, _: Names, /) -> str:
        return f"{short(self.function)} over {self.size or f'dimension {self.dim}'} of {self.input.words()}"


class Ranked(Event, frozen=True, kw_only=True):
    """An argmax, a top-k or a maximum is computed along a dimension."""

    function: str
    """The torch name of the function."""
    input: TensorFact
    """The input."""
    dim: int
    """The dimension."""
    over_classes: Tri = None
    """Whether it is the dimension that a loss of the same output takes for the classes."""
    of_array: bool = False
    """Whether the input is an array."""

    def words(self, _: Names, /) -> str:
        return f"{short(self.function)} along dimension {self.dim} of {self.input.words()}"


class ScoresRead(Event, frozen=True, kw_only=True):
    """Scores, probabilities or their logarithms are compared, used in a computation, shown or passed to unresolved code."""

    input: TensorFact
    """The scores."""
    by: str
    """The function, method or operator that reads them."""
    order: bool = False
    """Whether only the order of the numbers counts."""
    share: bool = False
    """Whether they are taken for probabilities, as by a comparison with 0.5."""
    dim: int | None = None
    """The dimension along which the order counts; None if unknown."""

    def words(self, _: Names, /) -> str:
        what = "the order of " if self.order else ""
        return f"{short(self.by)} reads {what}{self.input.words()}{' as a probability' if self.share else ''}"


class Compared(Event, frozen=True, kw_only=True):
    """The result of a `Ranked` event is tested for equality with a target."""

    chosen: int
    """The `Ranked` event."""
    target: TensorFact
    """The target."""

    def words(self, _: Names, /) -> str:
        return f"compare the predicted classes with {self.target.words()}"


class Matched(Event, frozen=True, kw_only=True):
    """The output of a model and a tensor from a loader are tested for equality, element by element.

    The static witness reports only tensors with different numbers of dimensions, the probe the first test at each place.
    """

    left: TensorFact
    """The left operand."""
    right: TensorFact
    """The right operand."""
    left_at: Site | None = None
    """Where the left operand comes from; None if unknown."""
    right_at: Site | None = None
    """Where the right operand comes from; None if unknown."""

    def words(self, _: Names, /) -> str:
        return f"compare {self.left.words()} with {self.right.words()}, element by element"


class LogTaken(Event, frozen=True, kw_only=True):
    """A logarithm is computed."""

    function: str
    """The torch name of the function."""
    input: TensorFact
    """The values."""
    zero: str = ""
    """Why some of them can be 0: "far" for scores that lie far apart, "end" for a ReLU, otherwise as in `DerivativeInfinite`."""
    maker: str = ""
    """The operation that makes them 0, by its torch name without the module."""
    chosen: bool = False
    """Whether the values are one element of each row. Only the probe writes it."""

    def words(self, _: Names, /) -> str:
        because = f", which can be 0 ({self.zero})" if self.zero else ""
        return f"take the logarithm of {self.input.words()}{because}"


class Broadcast(Event, frozen=True, kw_only=True):
    """Two tensors of different shapes are combined element by element, and a loss derived from the result goes backward.

    Other operations than differences, and those within modules, have all elements of their result summed up by the loss.
    """

    name: str
    """The expression."""
    left: TensorFact
    """The left operand."""
    right: TensorFact
    """The right operand."""
    operation: str = "difference"
    """What it is: "difference", "sum", "product" or "quotient"."""
    by_method: bool = False
    """Whether a method of the left operand computes it."""
    linear: bool = False
    """Whether only sums and products are computed of the result before all its elements are summed up."""

    def words(self, _: Names, /) -> str:
        return f"the {self.operation} {quoted(self.name)} broadcasts {self.left.size()} and {self.right.size()}"


class Overwritten(Event, frozen=True, kw_only=True):
    """The result of a call is assigned to the name that was called: `criterion = criterion(out, y)`."""

    name: str
    """The variable or attribute."""
    loss: str
    """The torch name of the loss that it contained; "" for any other callable."""
    result: TensorFact
    """The result."""
    fails_at: Site | None = None
    """Where the script fails because of it: a call of the result, or the assignment itself; None if nowhere."""

    def words(self, _: Names, /) -> str:
        fails = f", which fails on line {self.fails_at.row}" if self.fails_at is not None else ""
        return f"overwrite {quoted(self.name)} with its own return value{fails}"


class TokensCompared(Event, frozen=True, kw_only=True):
    """A loss compares the scores of a model with tokens of its input."""

    name: str
    """The expression for the loss."""
    target: str
    """The expression for the targets."""
    ahead: int
    """How many positions the targets are ahead of the input: 0 for the same tokens, 1 for the next ones."""
    model: str = ""
    """The expression for the model."""
    given_at: Site | None = None
    """Where the model gets the tokens."""
    itself: bool = False
    """Whether the model shifts labels itself, and gets labels that are already shifted."""
    used: bool = True
    """Whether the loss goes backward, or its value is read if nothing does."""
    same: int = 0
    """The number of targets that equal such a token. Only the probe counts them."""
    of: int = 0
    """The number of targets that count. Only the probe counts them."""
    loss: float = 0.0
    """The value of the loss. Only the probe knows it."""
    shifted: float | None = None
    """The value of the loss for the next tokens; None if unknown. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        return f"loss {quoted(self.name)} compares with tokens {self.ahead} positions ahead{unused(self.used)}"
