"""Scaling: what the pictures of a dataset are normalised by, and what the numbers in batches are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class PreparerBuilt(Event, frozen=True, kw_only=True):
    """Something that preprocesses samples is created."""

    sort: str
    """`FITTED` for what is fitted on samples, `TOKENS` for a loaded tokenizer, `CLASSES` for what numbers classes."""
    name: str
    """The expression."""
    how: str
    """A text that is equal for preprocessing of the same sort with the same result."""
    rows: str = ""
    """For words that are put in an order, a text that is equal for the same samples that have them; "" if unknown."""

    def words(self, _: Names, /) -> str:
        return f"samples may be preprocessed by {self.name} ({self.sort})"


class InputPrepared(Event, frozen=True, kw_only=True):
    """The input of a model is preprocessed. Nothing is reported for an input with unknown preprocessing."""

    forward: int
    """The `Forward` event of the model."""
    sort: str
    """The sort of the preprocessing: `CHANNELS`, `SCALE`, `TRANSFORMS`, `FITTED`, `TOKENS` or `VOCABULARY`."""
    how: str
    """A text that is equal for equal preprocessing of a sort; several are joined by `WAYS`."""
    prepared_at: Site
    """Where the input is preprocessed."""
    meant: str = ""
    """For channels, the order in the statistics that normalized the input; "" if unknown."""
    scaled_at: Site | None = None
    """Where these statistics are; None if there are none."""
    mean: tuple[float, ...] = ()
    """For a scale, the numbers that are subtracted from the pixels, from 0 to 255, in each channel."""
    std: tuple[float, ...] = ()
    """For a scale, the numbers that divide them then."""
    later: bool = False
    """For a scale, whether the script changes it after a loader returned the batch."""
    loader: int = 0
    """The loader of the input; 0 if there is none."""
    name: str = ""
    """The expression for what preprocesses it; "" if there is none."""
    part: int = 0
    """The part of the model, with weights of its own, that gets the input; 0 if the model itself gets it."""
    splits: frozenset[int] = frozenset()
    """For what is fitted, and for rows as split, the splits that they are a part of."""

    def words(self, _: Names, /) -> str:
        return f"a model gets preprocessed input: {self.sort} {self.name or self.how}"


WAYS = "; "
"""Stands between several ways in which one input was prepared."""
CHANNELS = "channels"
"""The sort of the order in which the channels of pictures come: RGB or BGR."""
SCALE = "scale"
"""The sort of the numbers by which pixels are scaled."""
TRANSFORMS = "transforms"
"""The sort of what the transforms of a data set do to the numbers of pictures: by its class, and what makes them tensors."""
FITTED = "fitted"
"""The sort of what an estimator, or a statistic, of such a name makes of rows: by the rows that it was fitted on."""
BY_HAND = "statistic"
"""The name of what is fitted where the script computes it of rows itself: a mean, a maximum and the like."""
CLASSES = "classes"
"""The sort of what numbers classes by the order in which rows have them: by these rows."""
WORDS = "words"
"""The sort of what numbers words by the order in which rows have them, where rows of classes may all have one order."""
VOCABULARY = "vocabulary"
"""The sort of what numbers the words of rows: by these rows."""
COUNTS = "counts"
"""The sort of what counts how often rows have each word: an order by that numbers classes."""
NAMES = "names"
"""The sort of names of classes that are numbers, and have another order when they are sorted as text."""
AS_SPLIT = "as split"
"""The sort of rows that are as a split returned them: nothing was fitted that prepares them."""
TOKENS = "tokens"
"""The sort of what tokenizers make of texts: by their vocabularies, and whether they keep capital letters."""


class LabelsCompared(Event, frozen=True, kw_only=True):
    """Predicted classes are compared with numbers that are read from the names of classes."""

    forward: int
    """The `Forward` event of the prediction."""
    how: str
    """A text that is equal for the same names."""
    name: str
    """The expression for the numbers."""

    def words(self, _: Names, /) -> str:
        return f"compare predicted classes with {self.name}"


class BatchReworked(Event, frozen=True, kw_only=True):
    """A batch is, or may be, changed before a model gets it. Only the first time is reported."""

    loader: int
    """The loader of the batch."""

    def words(self, _: Names, /) -> str:
        return "compute something from a batch"


class BatchMeasured(Event, frozen=True, kw_only=True):
    """The statistics of the first floating-point tensor of a batch. Only the probe writes it, for the first batches."""

    loader: int
    """The loader of the batch."""
    mean: float
    """The mean."""
    std: float
    """The standard deviation."""
    channels: tuple[float, ...] = ()
    """The mean of each of three channels, for images."""

    def words(self, _: Names, /) -> str:
        return f"a batch with the mean {self.mean:.4g} and the standard deviation {self.std:.4g}"


class ScaleCompared(Event, frozen=True, kw_only=True):
    """A copy of the process trained on data as they are, and on standardized data. Only the probe writes it.

    Both begin with the same weights and take the same batches in the same order. It is at the call of the model.
    """

    forward: int
    """The `Forward` event of the first step."""
    name: str
    """The expression that is called."""
    what: str
    """What was standardized, and suffices: "inputs", "targets" or "both"."""
    inputs: tuple[float, ...] = ()
    """Of the columns that the first layer gets: the largest root mean square, its column, their number, and the smallest and the
    largest standard deviation. Empty if no layer gets data."""
    targets: tuple[float, ...] = ()
    """The same of the targets of a regression; empty if there are none."""
    raw: tuple[float, ...] = ()
    """The loss after each step on the data as they are, as a part of the loss of the best constant prediction; possibly thinned."""
    standardized: tuple[float, ...] = ()
    """The same for standardized data, over half as many steps."""
    steps: int = 0
    """The number of steps on standardized data."""
    longer: int = 0
    """The number of steps on the data as they are."""
    best: float = 0.0
    """The lowest mean loss of a pass over all batches in these steps."""
    end: float = 0.0
    """The mean loss of the last pass on standardized data."""
    seeds: int = 0
    """The number of initial weights with which the copy learns only from standardized data; 0 if they do not agree."""

    def words(self, _: Names, /) -> str:
        told = (
            f"{self.end:.2g} after {self.steps} steps with standardized {'data' if self.what == 'both' else self.what}"
        )
        return f"train a copy: {self.best:.2g} of a constant's loss after {self.longer} steps, {told}"
