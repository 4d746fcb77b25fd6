"""The trainers of `transformers` and of what builds on it: they end as the script's own loops do, and compute on the CPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..cuda.devices import needed
from ..stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType

PRECISIONS = ("fp16", "bf16", "tf32", "fp16_full_eval", "bf16_full_eval")
STEPS, EPOCHS = 3, 2
"""Batches of an epoch and epochs, as `caps` has them for loops."""


class Trainers(StandIn):
    """Ends the training of a `Trainer` early."""

    replaces = "training shortened"

    def prepare(self) -> None:
        """Patches the trainer when it is imported."""
        after("transformers.trainer", functools.partial(_patch, self))


class TrainerPrecisions(StandIn):
    """Has a `Trainer` compute in float32 on the CPU, which has none of a GPU's precisions."""

    replaces = "a GPU's precision"
    voids = (told.PRECISION,)

    def needed(self, torch: Any) -> bool:
        """Whether the CPU stands in for the GPU."""
        return needed(torch, self.plan)

    def with_torch(self, torch: Any) -> None:  # noqa: ARG002 - it depends on the machine alone
        """Patches the arguments of trainers when they are imported."""
        after("transformers.training_args", functools.partial(_patch_arguments, self))


def _patch_arguments(stand_in: StandIn, module: ModuleType) -> None:
    arguments: Any = module.TrainingArguments
    finish = arguments.__post_init__

    @functools.wraps(finish)
    def finished(self: Any) -> None:
        for name in PRECISIONS:
            if getattr(self, name, False):
                setattr(self, name, False)
                stand_in.tell(name, "float32")
        finish(self)

    arguments.__post_init__ = finished


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    library: Any = module
    build = library.Trainer.__init__

    class EndingCallback(library.TrainerCallback):  # type: ignore[misc]
        """Ends epochs, and training, early."""

        def __init__(self) -> None:
            self._begun = self._epochs = 0

        def on_epoch_begin(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
            """Another epoch."""
            self._begun = state.global_step
            self._epochs += 1

        def on_step_end(self, _: Any, state: Any, control: Any, **__: Any) -> None:
            """Another update; the trainer's own count is as it was when a step was repeated."""
            if state.global_step - self._begun >= STEPS:
                stand_in.teller.note(
                    f"the training of transformers' Trainer stops after {STEPS} optimizer steps per epoch and {EPOCHS} epochs"
                )
                control.should_epoch_stop = True
                control.should_training_stop = self._epochs >= EPOCHS

    @functools.wraps(build)
    def built(self: Any, *arguments: Any, **keywords: Any) -> None:
        build(self, *arguments, **keywords)
        self.add_callback(EndingCallback())

    library.Trainer.__init__ = built
