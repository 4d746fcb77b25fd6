"""Whether the receipt says what a second run needs, and what a checkpoint gives back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.checkup.conftest import TRAINING, broken, values
from tests.checkup.rungs.test_repeatability import net

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Climb

SAVE = "torch.save(model.state_dict(), 'model.pt')\n"


def test_a_run_that_could_be_made_again(climb: Climb, folder: Path, write: Callable[..., Path]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    write("train.py", "")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    rung = climb(TRAINING + SAVE, "receipt", verdicts=True)
    assert rung.status == "passed", rung.reason
    assert values(rung, "seeds") == ["0"]
    assert values(rung, "files that differ from it") == [1]
    assert values(rung, "differs") == ["train.py"]
    assert values(rung, "saved") == ["model.state_dict()"]
    assert values(rung, "state of the optimizer in it") == [False]
    assert values(rung, "optimizer") == ["Adam(lr=0.01, weight_decay=0, betas=(0.9, 0.999), eps=1e-08, amsgrad=False)"]
    assert all(value == 0 for value in values(rung, "weights that differ after the checkup"))


def test_no_seed_and_nothing_saved_are_open_points(climb: Climb) -> None:
    rung = climb(broken("torch.manual_seed(0)\n", ""), "receipt", verdicts=True)
    assert rung.status == "shown"
    assert "no seed is set" in rung.reason
    assert "nothing was saved" in rung.reason


def test_a_checkpoint_that_does_not_give_the_model_back_fails(climb: Climb) -> None:
    learned = "self.scale = x.detach().mean() if self.training else self.scale"
    script = net(f"{learned}\n        x = x * self.scale", "self.scale = torch.ones(1)")
    rung = climb(script + SAVE, "receipt", verdicts=True)
    assert rung.status == "failed", rung.reason
    assert "does not give `model` back" in rung.reason
