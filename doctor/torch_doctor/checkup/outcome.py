"""What a checkup tells: rungs with their evidence, as the JSON report has them and every other report reads them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from torch_doctor.rule import Finding  # noqa: TC001 - msgspec reads it

Status: TypeAlias = Literal["passed", "failed", "skipped", "shown"]
"""`shown`: the rung ran and has no verdict of its own. What did not run is always `skipped`."""

RUNGS = (
    "inspect",
    "baseline",
    "overfit-one-batch",
    "small-subset",
    "learning-rate",
    "terms",
    "repeatability",
    "metric",
    "device",
    "throughput",
    "non-finite",
    "errors",
    "receipt",
)
"""The names of all rungs, in the order in which they are climbed."""


class Fact(Struct, frozen=True, omit_defaults=True):
    """One piece of evidence: what was measured, its value and unit, and what would have been expected.

    `value` is None where nothing could be measured. `group` gathers facts that belong together: a layer, a loader.
    """

    label: str
    value: bool | int | float | str | None
    unit: str = ""
    expected: str = ""
    group: str = ""


class Series(Struct, frozen=True, omit_defaults=True):
    """One line of a plot, or its bars; a `y` of None is a gap, such as a loss that is not finite.

    `axis` is what a line is measured in, where the lines of a plot differ in that: each axis gets a panel, one below the other
    with the same `x`, with a logarithmic scale where one of its lines has `log`.
    """

    label: str
    x: list[float]
    y: list[float | None]
    axis: str = ""
    log: bool = False


class Mark(Struct, frozen=True):
    """A place on the horizontal axis with a name: the script's own learning rate, say."""

    label: str
    x: float


class Image(Struct, frozen=True):
    """One picture of a contact sheet: a PNG in base64, and what stands below it."""

    png: str
    caption: str = ""


class Sample(Struct, frozen=True, omit_defaults=True):
    """One sample of the data, as the model answered it: where to find it, its label, the answer, and what is to be seen of it.

    `confidence` is the probability of the answer, and `text` the input as text: words, token ids, or the values of a row.
    `png` is the input as a picture in base64, at most 64 × 64 pixels. What does not apply is empty or None.
    """

    name: str
    label: str = ""
    prediction: str = ""
    confidence: float | None = None
    loss: float | None = None
    text: str = ""
    png: str = ""


class Plot(Struct, frozen=True, omit_defaults=True):
    """A figure: `lines` and `bars` have series, `matrix` has rows and names, `images` have pictures, `texts` have lines.

    `histograms` have series: each `axis` is a panel, and `y` is the share of the values in the bin around each `x`.

    `samples` has samples with their labels and answers, which are shown by pair of label and answer. `alternative` says in a
    sentence what the figure shows, for those who cannot see it. `private`: it shows the data itself. Figures of images, texts and
    samples always do. Figures with the same `beside`, one after the other, stand next to each other where there is room.
    """

    title: str
    kind: Literal["lines", "bars", "matrix", "images", "texts", "samples", "histograms"]
    alternative: str
    x_label: str = ""
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False
    series: list[Series] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    private: bool = False
    beside: str = ""


class Rung(Struct, frozen=True, omit_defaults=False):
    """What one rung found out.

    `reason` says in a sentence why it passed, failed or was skipped. `next` says what to look at where it failed. `findings`
    are those of the scan that explain a failure. `code` is text to copy, such as the assertions of the batch contract.
    `seconds` is the time that the rung took. `about` are the kinds of failures that it shows, by which causes are decided.
    """

    name: str
    status: Status
    reason: str
    evidence: list[Fact] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    next: str = ""
    code: str = ""
    seconds: float = 0.0
    about: list[str] = field(default_factory=list)


class Checkup(Struct, frozen=True):
    """A whole checkup: of which script, with which arguments, on which device, and what each rung found out.

    `findings` are all findings of the scan with their verdicts, `remarks` what there is to say beside the rungs, such as
    stand-ins for data that is not at hand. `seconds` is the time that all of it took. `error` is the error that ended the
    script before its first optimizer step, `own` whether it would without the checkup, too, and `cause` explains it; they are
    empty where there is none or its cause is not known. `advice` are facts about a script that may well be right.
    """

    script: str
    arguments: list[str]
    device: str
    rungs: list[Rung]
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""
    own: bool = False
    cause: str = ""
    advice: list[str] = field(default_factory=list)
