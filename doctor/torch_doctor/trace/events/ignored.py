"""Labels that a loss leaves out, and scores that count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted, unused

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class LabelsIgnored(Event, frozen=True, kw_only=True):
    """A loss over classes is computed that leaves out the labels with one value.

    Only the static witness writes it, and not if the value is the default one and no label is known to have it.
    """

    name: str
    """The expression for the loss."""
    value: str
    """The value, or what identifies it."""
    named: bool
    """Whether the script names the value, with more than one label for each sample."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose results are the input."""

    def words(self, _: Names, /) -> str:
        value = self.value if self.value.lstrip("-").isdigit() else "something computed"
        return f"loss {quoted(self.name)} leaves out labels that are {value}"


class PredictionsPassed(Event, frozen=True, kw_only=True):
    """A trainer of a library passes predictions and labels to a function of the project, which scores them.

    `site` is the definition of the function.
    """

    classes: bool = False
    """Whether each row of the predictions has the scores of the classes, and each label is the class of one row."""

    def words(self, _: Names, /) -> str:
        return "pass predictions and labels to this function"


class PaddingScored(Event, frozen=True, kw_only=True):
    """Predictions are compared with labels of which some are padding or void, and a score is computed of the results.

    `site` is the comparison. The static witness writes it where every result counts.
    """

    name: str
    """The expression for the score; "" if unknown."""
    counted: Tri
    """Whether the score depends on those labels; None if the probe could not find out."""
    fill: str = ""
    """The value of the padding, or what identifies it; "" if it is only known from a loss."""
    known: bool = False
    """Whether `fill` is a number that no class has."""
    padded_at: Site | None = None
    """Where the labels are padded; None if unknown."""
    scored_at: Site | None = None
    """Where the results are averaged, or their sum is divided."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events that the predictions are made of, or the `PredictionsPassed` event."""
    labels: str = ""
    """The expression for the labels, if they are compared within the expression for the score; "" otherwise."""
    settings_at: Site | None = None
    """Where the settings of a metric of a library are given that can ignore labels of one value; None for any other score."""
    classes: int = 0
    """The number of classes, if the metric refuses labels that are none of these."""
    positions: int = 0
    """The number of such labels. Only the probe knows it, as the following."""
    of: int = 0
    """The number of all labels."""
    right: float = 0.0
    """The score of predictions that are correct, except for those labels."""
    other: float = 0.0
    """The score of other predictions for those labels, with the same ones for the others."""
    unknown: str = ""
    """Why there is no score; "" if there is one."""

    def words(self, _: Names, /) -> str:
        how = {True: "counts", False: "leaves out", None: "may count"}[self.counted]
        return f"the score {quoted(self.name or 'of these predictions')} {how} padding"


class PaddedTargets(Event, frozen=True, kw_only=True):
    """A loss gets padded targets."""

    name: str
    """The expression for the loss."""
    target: str
    """The expression for the targets."""
    counted: Tri
    """Whether the padding contributes to the loss."""
    within: bool = False
    """Whether a model computes its own loss, which ignores -100."""
    compares: bool = False
    """Whether the loss compares numbers, as in a regression; else it is one over classes."""
    labelled_at: Site | None = None
    """Where the labels get the padding, if a trainer of a library passes them to such a model; None otherwise."""
    trains: bool = True
    """Whether gradients may be computed from the loss."""
    used: bool = True
    """Whether gradients are computed from the loss, or its value is read if there are none."""
    padded_at: Site | None = None
    """Where the targets are padded."""
    fill: str = ""
    """The expression for the value of the padding."""
    settings_at: Site | None = None
    """Where the settings of the loss are given; None if unknown."""
    inferred: bool = False
    """Whether the targets count as padded because the tokens at the same positions are. Only the probe infers it."""
    positions: int = 0
    """The number of padded targets."""
    of: int = 0
    """The number of all targets."""
    before: float = 0.0
    """The loss with the padding. Only the probe knows it."""
    after: float = 0.0
    """The loss without the padding. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        counts = {True: "includes padding", False: "ignores padding", None: "gets padded targets"}[self.counted]
        return f"loss {quoted(self.name)} of {quoted(self.target)} {counts}{unused(self.used)}"
