"""The loops of Lightning's trainer: they end as the script's own loops do, with the evaluation that belongs to them."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ..imports import after
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

BATCHES, EPOCHS = 3, 2
"""Batches of an epoch and epochs, as `caps` has them for loops."""
WINDOWS = 2
"""Windows that a module keeps by itself, of as many batches as the source shows."""
MOST = 64
"""Batches of an epoch that evaluates, or steps, so seldom."""
EVALUATED = 16
"""Batches of an evaluation."""
TRAINERS = ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer")


class LightningLoops(StandIn):
    """Ends the training and the evaluations of a `Trainer` early, by the limits that it has for that."""

    replaces = "training shortened"

    def prepare(self) -> None:
        """Patches the trainer when it is imported; a checkup repeats its steps by itself."""
        for name in TRAINERS if not self.plan.get("checkup") else ():
            after(name, functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    trainer: Any = module.Trainer
    for name in ("fit", "validate", "test", "predict"):
        setattr(trainer, name, _limited(stand_in, getattr(trainer, name)))


def _limited(stand_in: StandIn, original: Any) -> Any:
    @functools.wraps(original)
    def limited(self: Any, *arguments: Any, **keywords: Any) -> Any:
        stand_in.teller.note(_limit(self, stand_in.plan.get("loops") or {}))
        return original(self, *arguments, **keywords)

    return limited


def _window(trainer: Any) -> int:
    """The most batches that a trainer takes for an update."""
    told = [getattr(trainer, "accumulate_grad_batches", 1)]
    for each in getattr(trainer, "callbacks", ()):
        by_epoch = getattr(each, "scheduling", None)
        told += by_epoch.values() if isinstance(by_epoch, dict) else ()
    return max((each for each in told if isinstance(each, int)), default=1)


def _limit(trainer: Any, loops: Mapping[str, Any]) -> str:
    """Sets the limits of a trainer, none above its own, and says which; `loops` is what the static witness knows of loops."""
    windows = WINDOWS * max((each.get("period", 0) for each in loops.values()), default=0)
    batches = max(windows, BATCHES * _window(trainer))
    interval = getattr(trainer, "val_check_interval", None)
    if isinstance(interval, float):
        batches = max(batches, math.ceil(1 / interval) if interval else 0)
    batches = min(batches, MOST)
    if isinstance(interval, int) and interval > batches:
        batches = min(interval, MOST)
        trainer.val_check_interval = batches
    for name in ("limit_train_batches", "limit_val_batches", "limit_test_batches", "limit_predict_batches"):
        most, now = batches if "train" in name else EVALUATED, getattr(trainer, name, None)
        if now and (isinstance(now, float) or now > most):
            setattr(trainer, name, most)
    if getattr(trainer, "num_sanity_val_steps", 0):
        trainer.num_sanity_val_steps = 0  # it evaluates what nothing has been trained of
    if getattr(trainer, "log_every_n_steps", 0) > batches:
        trainer.log_every_n_steps = batches  # the trainer warns of epochs that are shorter
    loop = trainer.fit_loop
    last = getattr(trainer, "current_epoch", 0) + EPOCHS
    if loop.max_epochs is None or not 0 <= loop.max_epochs <= last:
        loop.max_epochs = last
    if loop.min_epochs is not None:
        loop.min_epochs = min(loop.min_epochs, loop.max_epochs)
    return f"Lightning's Trainer stops after {batches} batches per epoch and {EPOCHS} epochs"
