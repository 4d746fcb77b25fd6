"""What transformers' Trainer knows that owns the loop: what it evaluates on, and how many steps it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .keeping import Chance, Keeping

if TYPE_CHECKING:
    from ..watching.watch import Watch

LOADER, DATA = "get_eval_dataloader", "eval_dataset"
"""The method that builds the loader, and the attribute that has its data: one set, or several by name."""
INNER = "base_dataloader"
"""The attribute of a loader of accelerate that has torch's."""


class LoopOwner:
    """The trainer that owns some of the frames under way.

    `evaluated` is the loader that it would evaluate with, which it builds no earlier than that, None where there is none.
    `steps` are the optimizer steps of its run, 0 where they are not known.
    """

    def __init__(self, watch: Watch, frames: list[Any]) -> None:
        trainers = watch.recorder.index.trainers
        owners = [each.f_locals.get("self") for each in frames if each.f_code.co_filename in trainers]
        owner = next((each for each in owners if callable(getattr(each, LOADER, None))), None)
        steps = getattr(getattr(owner, "state", None), "max_steps", 0)
        self.steps = steps if isinstance(steps, int) else 0
        self.evaluated = None
        if getattr(owner, DATA, None) is None:
            return
        before, chance = Keeping.of_trainer(watch, frames), Chance(watch.torch)
        try:
            self.evaluated = _loader(watch.torch, owner)
        except Exception:  # noqa: BLE001 - the script may have replaced it
            return
        finally:
            before.restore()
            chance.restore()


def _loader(torch: Any, owner: Any) -> Any:
    data = getattr(owner, DATA)
    loader = getattr(owner, LOADER)(*(list(data)[:1] if isinstance(data, dict) else ()))
    loader = vars(loader).get(INNER, loader)
    return loader if isinstance(loader, torch.utils.data.DataLoader) else None
