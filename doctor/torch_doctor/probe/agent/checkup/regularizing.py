"""What a script has against overfitting, as far as it can be seen in a run, and what to try in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from .advice import ADVICE
from .batches import leaves
from .keeping import Chance
from .telling import count, fact, listed

if TYPE_CHECKING:
    from collections.abc import Generator

    from .curves import Curves
    from .plays import Play, Seen
    from .stage import Stage

GROUP = "regularization"
READ_AGAIN = 4  # samples that are read twice
MOST = 3  # layers that are named


class Regularization:
    """What was seen: each is None where nobody knows, and empty where there is none.

    `decay` are the weight decays of the groups, `dropout` the layers with a probability above 0, `augmented` whether samples
    or what the model is given of them change from one time to the next. `random`: the loss of the same batch does.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        groups = [group for each in stage.optimizers for group in each.param_groups]
        known = bool(groups) and all("weight_decay" in each for each in groups)
        self.decay = sorted({float(each["weight_decay"]) for each in groups}) if known else None
        self.dropout = _dropout(stage)
        self.random: bool | None = None
        self.augmented: bool | None = None
        self.parameters = sum(each.numel() for each in stage.model.parameters()) if stage.model is not None else None
        self.samples = _length(stage)

    def look(self) -> Generator[Play, Seen, None]:
        """Repeat the step twice without an effect, and read some samples twice."""
        stage = self._stage
        one = yield from stage.play(frozen=True, keep=True)
        other = yield from stage.play(frozen=True, keep=True)
        if one.loss is not None and other.loss is not None:
            self.random = one.loss != other.loss
        changes = _differ([_given(seen) for seen in (one, other)])
        again = _reads_differ(stage)
        self.augmented = True if changes or again else again
        stage.restore()

    # --- in words ---

    def seen(self) -> list[tuple[str, str]]:
        """What the script has and lacks, by what it is called."""
        found = []
        if self.samples is not None:
            found.append(("training samples", f"{self.samples:,}"))
        if self.augmented is not None:
            said = (
                "samples differ each time they are read" if self.augmented else "none: samples are the same each time"
            )
            found.append(("augmentation", said))
        if self.decay is not None:
            found.append(("weight decay", listed([f"{each:g}" for each in self.decay if each]) or "none"))
        if self.dropout:
            more = [f"{len(self.dropout) - MOST} more"] if len(self.dropout) > MOST else []
            found.append(("dropout", listed([*self.dropout[:MOST], *more])))
        elif self.random is False:
            found.append(("dropout", "none: the training loss of a batch is the same each time"))
        if self.parameters is not None:
            found.append(("parameters of the model", f"{self.parameters:,}"))
        return found

    def advice(self, curves: Curves) -> list[str]:
        """What to try, in this order: it comes from A. Karpathy, "A Recipe for Training Neural Networks", part 5."""
        lowest = curves.lowest
        found = ["train on more data"]
        if self.augmented is not True:
            found.append("augment the training data")
        if self.decay is not None and not any(self.decay):
            found.append("set weight_decay in the optimizer")
        if not self.dropout and self.random is False:
            found.append("add dropout")
        if self.decay and any(self.decay):
            found.append("increase weight decay")
        if self.dropout:
            found.append("increase dropout")
        if lowest is not None and lowest.steps:
            found.append(f"stop early (here after {count(lowest.steps, 'step')})")
        return [*found, "use a smaller model"]


def facts(found: Regularization, tried: list[str]) -> list[dict[str, Any]]:
    """All of that as evidence."""
    seen = found.seen()
    own = [fact(label, said, group=GROUP) for label, said in seen]
    text = f"{'; '.join(f'{label} {said}' for label, said in seen)}. To try, in this order: {'; '.join(tried)}"
    return [*own, fact("to try, in this order", "; ".join(tried), group=GROUP), fact(GROUP, text, group=ADVICE)]


def _dropout(stage: Stage) -> list[str]:
    """The dropout layers, and the layers with a dropout of their own, with a probability above 0."""
    found = []
    for name, each in stage.model.named_modules() if stage.model is not None else ():
        kind = isinstance(each, stage.torch.nn.modules.dropout._DropoutNd)
        rate = getattr(each, "p", 0) if kind else getattr(each, "dropout", 0)
        if isinstance(rate, (int, float)) and rate > 0:
            found.append(f"`{name}` ({rate:g})")
    return found


def _length(stage: Stage) -> int | None:
    dataset = getattr(stage.loader, "dataset", None)
    try:
        return None if dataset is None else len(dataset)
    except Exception:  # noqa: BLE001 - the script's own
        return None


def _given(seen: Seen) -> list[Any]:
    return [each for call in seen.models for each in tensors((call.given, call.keywords))]


def _differ(pair: list[list[Any]]) -> bool:
    """Whether two lists of tensors have other values in them."""
    one, other = pair
    if len(one) != len(other):
        return True
    return any(
        a.shape != b.shape or not bool((a.detach() == b.detach().to(a.device)).all()) for a, b in zip(one, other)
    )


def _reads_differ(stage: Stage) -> bool | None:
    """Whether the data set and what puts batches together give other tensors for the same samples; None: nobody knows."""
    loader, length = stage.loader, _length(stage)
    dataset: Any = getattr(loader, "dataset", None)
    if (
        loader is None
        or not length
        or not hasattr(dataset, "__getitem__")
        or getattr(loader, "collate_fn", None) is None
    ):
        return None
    if isinstance(dataset, stage.torch.utils.data.IterableDataset) or not _by_number(loader):
        return None
    chance = Chance(stage.torch)
    try:
        read = []
        for _ in range(2):
            rows = [dataset[place] for place in range(min(READ_AGAIN, length))]
            read.append([each for _, each in leaves(loader.collate_fn(rows))])
    except Exception:  # noqa: BLE001 - the script's own: the data set may want other keys
        return None
    finally:
        chance.restore()
    return _differ(read) if read[0] else None


def _by_number(loader: Any) -> bool:
    """Whether the loader asks the data set for whole numbers."""
    return type(getattr(loader, "sampler", None)).__name__ in {
        "RandomSampler",
        "SequentialSampler",
        "WeightedRandomSampler",
        "DistributedSampler",
    }
