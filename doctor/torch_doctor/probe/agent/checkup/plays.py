"""How the script's step is to be repeated, and what is seen of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .peaks import Peaks

MOST = 16  # calls that are kept
PARTS = ("forward", "loss", "backward", "optimizer")
"""What of a step is timed by itself."""


SENTINEL = "torch-doctor checkup"


class Sentinel:
    """Lives as long as the graph that it is put into."""


class Play:
    """How a step is to be repeated: on which batch, and what of it is looked at.

    `evaluate` runs the model in evaluation mode, `frozen` has updates change nothing, `rate` is what learning rates are
    multiplied with, `details` has every layer looked at, and `keep` the calls of models and losses remembered. `peaks` marks the
    parts for who measures their memory.
    """

    def __init__(
        self,
        batch: Any = None,
        *,
        evaluate: bool = False,
        frozen: bool = False,
        rate: float = 1.0,
        details: bool = False,
        keep: bool = False,
        peaks: Peaks | None = None,
    ) -> None:
        self.batch = batch
        self.evaluate = evaluate
        self.frozen = frozen or evaluate
        self.rate = rate
        self.details = details
        self.keep = keep
        self.peaks = peaks


class Call:
    """A call of a model or of a loss: what was called, with what, and what came of it."""

    __slots__ = ("called", "given", "keywords", "result")

    def __init__(self, called: Any, given: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        self.called = called
        self.given = given
        self.keywords = keywords
        self.result = result


class Seen:
    """What was seen of the passes up to an update.

    `losses` are those that went backward, `steps` the updates, `spent` the seconds of each part without the others in it,
    `seconds` those of all, and `worked` the seconds for which this process had a processor.
    `models` and `scores` are the calls of models and of losses, of the last pass. `layers` are, by the name of a parameter:
    the norms of its gradient (None: it has none), of its update and of itself. `optimizers` are those that stepped, and
    `autocast` is the dtype of the autocast in which a model was called, None where there was none.
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.passes = 0
        self.steps = 0
        self.seconds = self.worked = 0.0
        self.spent: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.models: list[Call] = []
        self.scores: list[Call] = []
        self.layers: dict[str, tuple[float | None, float, float]] = {}
        self.optimizers: list[Any] = []
        self.autocast: Any = None
        self.optimized: set[int] = set()

    @property
    def loss(self) -> float | None:
        """The mean of the losses that went backward; None where none did."""
        return sum(self.losses) / len(self.losses) if self.losses else None
