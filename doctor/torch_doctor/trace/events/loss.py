"""The loss: how it is built and called, what goes into it, and how it is lost to what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, on_one_line, quoted, short
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class LossBuilt(Event, frozen=True, kw_only=True):
    """A loss module of torch (`loss`, its torch name) was constructed, spelled `name`.

    `given` are the tensors that went where its constructor takes settings, which is every place but those of weights.
    `doubtful` counts the arguments there of which is not known what they are; `used_at` is where the object was used as if
    it were the loss's value (`.backward()`, `.item()`). `reduction` is as in `LossCalled`.
    """

    loss: str
    name: str
    given: tuple[TensorFact, ...] = ()
    doubtful: int = 0
    used_at: Site | None = None
    reduction: str = ""

    def words(self, _: Names, /) -> str:
        given = [f"gets {fact.words()}" for fact in self.given]
        return f"create the loss {short(self.loss)}{in_brackets(given)}"


class LossCalled(Event, frozen=True, kw_only=True):
    """A loss was computed. `loss` is its torch name, `expects` what its input must be (`Kind.LOGITS` for cross-entropy).

    `raised` is what torch said, where it refused. `reduction` is how the losses of single elements were summed up: "mean",
    "sum", "batchmean" or "none" ("": not known). `handed_in`: callers out of sight gave the loss.
    """

    loss: str
    name: str
    expects: Kind
    input: TensorFact
    target: TensorFact
    output: TensorFact
    raised: str = ""
    reduction: str = ""
    handed_in: bool = False

    def words(self, _: Names, /) -> str:
        expects = f"expects {self.expects.value}" if self.expects is not Kind.UNKNOWN else ""
        target = f"; target {self.target.words()}" if self.target.name or self.target.kind is not Kind.UNKNOWN else ""
        kind = "" if self.name.endswith(short(self.loss)) else short(self.loss)
        traits = in_brackets(part for part in (kind, expects) if part)
        refused = f": {on_one_line(self.raised)}" if self.raised else ""
        return f"loss {quoted(self.name)}{traits} gets {self.input.words()}{target}{refused}"


class Normalised(Event, frozen=True, kw_only=True):
    """A softmax, log-softmax or softmin (`function`, its torch name) over a dimension of this `size` (0: not known).

    `site` is where its result got its kind: the call, or the construction of the layer in a container. `dim` is the
    dimension as the script gives it (None: not known). `dim_given` is False where the script leaves the choice to torch.
    `in_model` tells that a method of a module computes it.
    """

    function: str
    input: TensorFact
    size: int
    dim: int | None = None
    dim_given: Tri = None
    in_model: bool = False

    def words(self, _: Names, /) -> str:
        return f"{short(self.function)} over {self.size or f'dimension {self.dim}'} of {self.input.words()}"


class Ranked(Event, frozen=True, kw_only=True):
    """An argmax, a top-k or a maximum (`function`, its torch name) was taken along the dimension `dim` of `input`."""

    function: str
    input: TensorFact
    dim: int

    def words(self, _: Names, /) -> str:
        return f"{short(self.function)} along dimension {self.dim} of {self.input.words()}"


class ScoresRead(Event, frozen=True, kw_only=True):
    """Scores, probabilities or their logarithms, `input`, were read: compared, computed with, shown, or handed out of sight.

    `by` is the function, the method or the operator. `order`: only the order of the numbers counts, along `dim` where that is
    known. `share`: they are taken for probabilities, as by a comparison with 0.5.
    """

    input: TensorFact
    by: str
    order: bool = False
    share: bool = False
    dim: int | None = None

    def words(self, _: Names, /) -> str:
        what = "the order of " if self.order else ""
        return f"{short(self.by)} reads {what}{self.input.words()}{' as a probability' if self.share else ''}"


class Compared(Event, frozen=True, kw_only=True):
    """What a `Ranked` event (its number, `chosen`) chose was compared with `target`, whether they are equal."""

    chosen: int
    target: TensorFact

    def words(self, _: Names, /) -> str:
        return f"compare the predicted classes with {self.target.words()}"


class Matched(Event, frozen=True, kw_only=True):
    """What a model answered and what a loader gave were compared, element by element, whether they are equal.

    `left` and `right` are both sides, at the places `left_at` and `right_at`, where these are known. The static witness writes
    those of which one has more dimensions than the other, the probe the first of each place.
    """

    left: TensorFact
    right: TensorFact
    left_at: Site | None = None
    right_at: Site | None = None

    def words(self, _: Names, /) -> str:
        return f"compare {self.left.words()} with {self.right.words()}, element by element"


class LogTaken(Event, frozen=True, kw_only=True):
    """A logarithm (`function`, its torch name) was taken of values of a known kind."""

    function: str
    input: TensorFact

    def words(self, _: Names, /) -> str:
        return f"take the logarithm of {self.input.words()}"


class Broadcast(Event, frozen=True, kw_only=True):
    """A difference of two tensors of different shapes, which were stretched to match; a loss made of it went backward.

    `name` is the user's expression.
    """

    name: str
    left: TensorFact
    right: TensorFact

    def words(self, _: Names, /) -> str:
        return f"the difference {quoted(self.name)} broadcasts {self.left.size()} and {self.right.size()}"


class Overwritten(Event, frozen=True, kw_only=True):
    """A variable or attribute, `name`, that was just called got the call's result: `criterion = criterion(out, y)`.

    `site` is the assignment. `loss` is the torch name of the loss that was in it ("" for any other callable), `result` what
    is in it now. `fails_at` is where that makes the script fail: the call of the result, or the assignment itself where a
    registered module cannot be replaced or where the name is not yet bound; None where none was seen.
    """

    name: str
    loss: str
    result: TensorFact
    fails_at: Site | None = None

    def words(self, _: Names, /) -> str:
        fails = f", which fails on line {self.fails_at.row}" if self.fails_at is not None else ""
        return f"overwrite {quoted(self.name)} with its own return value{fails}"


class PaddedTargets(Event, frozen=True, kw_only=True):
    """A loss over classes, spelled `name`, got targets, spelled `target`, that were padded at `padded_at` with `fill`.

    `counted`: the padding counts among the targets, as the settings of the loss say, which it gets at `settings_at` (None: not
    known). A run tells it from the loss itself: it was `before`, and is `after` where the `positions` that are padding, of
    so many targets in all, are left out. `within`: it is the loss of a model, which computes it by itself and ignores -100.
    `trains`: gradients may come of it. `used`: they do, or it is looked at where there are none.
    """

    name: str
    target: str
    counted: Tri
    within: bool = False
    trains: bool = True
    used: bool = True
    padded_at: Site | None = None
    fill: str = ""
    settings_at: Site | None = None
    positions: int = 0
    of: int = 0
    before: float = 0.0
    after: float = 0.0

    def words(self, _: Names, /) -> str:
        counts = {True: "includes padding", False: "ignores padding", None: "gets padded targets"}[self.counted]
        return f"loss {quoted(self.name)} of {quoted(self.target)} {counts}{_unused(self.used)}"


class TokensCompared(Event, frozen=True, kw_only=True):
    """A loss, spelled `name`, compares scores with tokens that are `ahead` of those that the model was given in their places.

    0: with these themselves; 1: with the next ones. `target` is how the targets are spelled, `model` what was given the
    tokens, `given_at` where. `itself`: the model moves labels by itself, and these had been moved before; `used`: its loss of
    them goes backward, or is looked at where nothing does. In a run `same` of the `of` targets that count are such tokens,
    and the loss, `loss`, is `shifted` for the next ones.
    """

    name: str
    target: str
    ahead: int
    model: str = ""
    given_at: Site | None = None
    itself: bool = False
    used: bool = True
    same: int = 0
    of: int = 0
    loss: float = 0.0
    shifted: float | None = None

    def words(self, _: Names, /) -> str:
        return f"loss {quoted(self.name)} compares with tokens {self.ahead} positions ahead{_unused(self.used)}"


def _unused(used: bool) -> str:  # noqa: FBT001 - a field
    return "" if used else ", but is not used"
