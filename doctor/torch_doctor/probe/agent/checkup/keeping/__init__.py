"""Keeps all that a step of the script may change, and puts it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .chance import Chance
from .plain import Plain
from .state import State, put_back, state_of

if TYPE_CHECKING:
    from ...watching.watch import Watch

__all__ = ["Chance", "Keeping", "Plain", "State", "put_back", "state_of"]


class Keeping:
    """The state of models, optimizers, schedulers and scalers, of random numbers, and of plain values, as they are now.

    `plain` are the values of the script, `trainer` those of a library that owns its loop.
    """

    def __init__(self, watch: Watch, machinery: list[Any], frames: list[Any]) -> None:
        self.state = State(watch, machinery)
        trainers = watch.recorder.index.trainers
        own = [each for each in frames if each.f_code.co_filename not in trainers]
        self.plain = Plain(watch, own)
        self.trainer = self.of_trainer(watch, frames)
        self.chance = Chance(watch.torch)

    @staticmethod
    def of_trainer(watch: Watch, frames: list[Any]) -> Plain:
        """What a trainer holds that owns some of the frames."""
        trainers = watch.recorder.index.trainers
        return Plain(watch, [each for each in frames if each.f_code.co_filename in trainers], own=False)

    def restore(self) -> None:
        """Everything is as it was."""
        self.state.restore()
        self.plain.restore()
        self.trainer.restore()
        self.chance.restore()

    def differences(self) -> dict[str, int]:
        """How much of each kind is not as it was: of weights, of optimizers and their like, of random numbers."""
        return {**self.state.differences(), "random state": self.chance.differences()}
