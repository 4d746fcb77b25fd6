"""The trainers of `transformers` and of what builds on it end as the script's own loops do: they are not its code."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after

if TYPE_CHECKING:
    from types import ModuleType

    from ..told import Teller

STEPS, EPOCHS = 3, 2
"""Batches of an epoch and epochs, as `caps` has them for loops."""


def prepare(teller: Teller) -> None:
    """Patches the trainer when it is imported."""
    after("transformers.trainer", functools.partial(_patch, teller))


def _patch(teller: Teller, module: ModuleType) -> None:
    library: Any = module
    build = library.Trainer.__init__

    class Ending(library.TrainerCallback):  # type: ignore[misc]
        """Ends epochs, and training, early."""

        def __init__(self) -> None:
            self._steps = self._epochs = 0

        def on_epoch_begin(self, *_: Any, **__: Any) -> None:
            """Another epoch."""
            self._steps = 0
            self._epochs += 1

        def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
            """Another update."""
            self._steps += 1
            if self._steps >= STEPS:
                teller.note(
                    f"the training of transformers' Trainer ends after {STEPS} updates an epoch and {EPOCHS} epochs"
                )
                control.should_epoch_stop = True
                control.should_training_stop = self._epochs >= EPOCHS

    @functools.wraps(build)
    def built(self: Any, *arguments: Any, **keywords: Any) -> None:
        build(self, *arguments, **keywords)
        self.add_callback(Ending())

    library.Trainer.__init__ = built
