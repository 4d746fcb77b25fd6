"""What the rungs work with: the step that was caught, its batch, the loaders, and the state to which all returns."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from ..watching.update.optimizers import parameters_of
from .batches import carries, copied_batch, is_made_of, leaves
from .caught import frames_of
from .keeping import Chance, Keeping, put_back
from .owners import LoopOwner
from .plays import Play, Seen

if TYPE_CHECKING:
    from .caught import Caught

Playing = "Generator[Play, Seen, Seen]"


class Skip(Exception):  # noqa: N818 - it is no error
    """A rung does not say anything; the text says why."""


class Short(Skip):
    """A rung has too little time to say anything; the text says how far it came."""


class Stage:
    """Everything that a rung may use.

    `natural` is set where counters and lists are to go on from step to step, as they do in the script.
    `advanced` are the schedulers that the last step moved on, and by how many steps.
    `first` is what was seen of the first update as the script made it itself. `batch` is what its loader gave for it, None
    where there is no loader. `examples` are the samples of it that the rung overfit-one-batch trains on; 0: all. `passes` are
    those of one update, `items` what the loop gave in them. `owner` is what owns the loop, if a trainer does.
    """

    def __init__(self, catcher: Caught, first: Seen) -> None:
        self.catcher = catcher
        self.watch = catcher.watch
        self.torch = catcher.torch
        self.recorder = catcher.recorder
        self.observer = catcher.observer
        self.first = first
        self.loaders = list(catcher.loaders)
        self.loader = catcher.of.get(catcher.feeder) if catcher.feeder is not None else None
        self.machinery = list(catcher.machinery)
        self.deadline = monotonic()
        self.notes: dict[str, Any] = {}
        self.examples = int(catcher.plan.get("examples") or 0)
        self.natural = False
        self.advanced: dict[Any, int] = {}
        self._find_items()
        self.frames = frames_of(self.recorder)
        self.owner = LoopOwner(self.watch, self.frames)
        if self.owner.evaluated is not None:
            self.loaders.append(self.owner.evaluated)
        self.start = Keeping(self.watch, self.machinery, self.frames)
        self.observer.rates = self._rates()

    # --- what was caught ---

    def _find_items(self) -> None:
        catcher, loop = self.catcher, self.catcher.loop
        recent = catcher.last.get(catcher.feeder) if catcher.feeder is not None else None
        self.batch = recent[-1] if recent else None
        self.passes = max(1, catcher.counts.get(catcher.feeder, 1)) if loop is None else 1
        self.items: list[Any] = []
        self.held: list[Any] = []
        self.through, self.offset, self.ahead = False, 0, 0
        self.chance, self.trainer = None, None
        self.pending: Any = None
        known = catcher.passes.get(loop.node.key) if loop is not None else None
        if known is not None and loop is not None:
            self.passes = max(1, min(loop.number - loop.trained_since, len(known.items)))
            self.items = known.items[-self.passes :]
            self.chance, self.trainer = known.chance, known.trainer
        if self.batch is None:
            return
        if known is not None and known.items and any(carries(self.items[-1], each) for each in recent or ()):
            held = next(each for each in reversed(recent or ()) if carries(self.items[-1], each))
            self.items, self.held, self.offset = [self.items[-1]], [held], loop.number if loop is not None else 0
            self.batch = held
        elif known is not None and loop is not None and known.items and loop.batches:
            self.through = True
        elif self.items:
            self.held = [None] * len(self.items)
        apart = self.through or loop is None or self.held[-1:] == [None]
        if recent is not None and len(recent) > 1 and apart and self._trains_on(recent[0]):
            self.pending, self.batch, self.ahead = recent[-1], recent[0], 1
            self.passes = max(1, self.passes - (loop is None))

    def _trains_on(self, batch: Any) -> bool:
        """Whether the model was called with a batch that is not the last one."""
        given = [each for call in self.first.models for each in tensors((call.given, call.keywords))]
        places = {each.data_ptr() for each in given}
        last, other = [part for _, part in leaves(self.batch)], [part for _, part in leaves(batch)]
        if any(part.data_ptr() in places for part in (*last, *other)):
            return not any(part.data_ptr() in places for part in last)
        return _among(given, other) > _among(given, last)  # they were moved to another device

    # --- models and rates ---

    @property
    def optimizers(self) -> list[Any]:
        """Those of the first update; one that is built anew for the same parameters is the same."""
        found: dict[Any, Any] = {}
        for each in self.first.optimizers:
            found[type(each), frozenset(id(one) for one in parameters_of(each))] = each
        return list(found.values())

    def _rates(self) -> dict[Any, float]:
        """The learning rates with which steps are repeated: the highest that is known of each group.

        Schedules may start at nothing.
        """
        found: dict[Any, float] = {}
        for optimizer in self.machinery:
            if not isinstance(optimizer, self.torch.optim.Optimizer):
                continue
            for number, group in enumerate(optimizer.param_groups):
                rates = [float(group[name]) for name in ("lr", "initial_lr", "max_lr") if name in group]
                if rates:
                    usual = float(optimizer.defaults.get("lr") or 0.0)
                    found[id(optimizer), number] = max(rates) if max(rates) > usual / 1000 else usual
        return found

    @property
    def rate(self) -> float:
        """The highest learning rate of the optimizers that stepped."""
        own = {id(each) for each in self.optimizers}
        return max((rate for (optimizer, _), rate in self.observer.rates.items() if optimizer in own), default=0.0)

    @property
    def model(self) -> Any:
        """The model that was called last of those that were updated; of all, where none was."""
        own = {id(each) for optimizer in self.optimizers for each in parameters_of(optimizer)}
        found = [call for call in self.first.models if any(id(each) in own for each in call.called.parameters())]
        found = found or self.first.models
        return found[-1].called if found else None

    @property
    def voided(self) -> set[str]:
        """The facts that stand-ins make meaningless."""
        return self.catcher.voided

    # --- steps ---

    def play(self, batch: Any = None, **how: Any) -> Any:
        """Has the script repeat its step, on a batch of a loader or on the one that was caught."""
        seen: Seen = yield Play(batch, **how)
        return seen

    def prepare(self, number: int) -> None:
        """A pass is about to begin; a trainer makes its first update again, as its later ones may be the last that it wants."""
        if self.trainer is not None and number == 0:
            self.trainer.restore()
        if self.batch is None and self.chance is not None and number == 0:
            self.chance.restore()

    def settle(self) -> None:
        """A step was repeated: counters and schedules are as they were, so that the next is like it."""
        if not self.natural:
            self.start.plain.restore()
        self.advanced = self.start.state.advanced()
        self.start.state.restore_schedules()

    def schedulers(self) -> list[Any]:
        """The script's schedulers of learning rates, but for those that wait for a metric."""
        return self.start.state.schedulers()

    def restore(self) -> None:
        """Everything is as it was when the step was caught."""
        self.start.restore()

    def kept(self) -> Keeping:
        """Everything as it is now."""
        return Keeping(self.watch, self.machinery, self.frames)

    def begin_anew(self) -> None:
        """Parameters and optimizers are as they were before the first update."""
        with self.torch.no_grad():
            for each, values in self.catcher.initial.values():
                each.copy_(values)
        for optimizer in self.optimizers:
            kept = self.catcher.fresh.get(optimizer)
            if kept is None:
                optimizer.state.clear()
            else:
                put_back(optimizer, kept)

    def fresh(self, batch: Any) -> Any:
        """A copy of a batch: the script may change what it is given."""
        return copied_batch(batch)

    def chance_now(self) -> Chance:
        """The state of random numbers as it is now."""
        return Chance(self.torch)

    # --- time ---

    @property
    def left(self) -> float:
        """The seconds that the rung under way may still take."""
        return self.deadline - monotonic()


def _among(given: list[Any], parts: list[Any]) -> int:
    """How many tensors of a batch have the numbers of one that a model was given."""
    return sum(any(is_made_of(each, part) for each in given) for part in parts)
