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


HASH = "hash of its first 8 rows, in its own order"


def test_the_hash_of_the_data_does_not_depend_on_the_order_of_a_pass(climb: Climb) -> None:
    shuffled = broken("model = ", "torch.manual_seed(7)\nmodel = ")
    other = broken("train_loader = ", "x[3] += 1\ntrain_loader = ")
    first, again, changed = (values(climb(script, "receipt"), HASH) for script in (TRAINING, shuffled, other))
    assert len(first) == 2
    assert first == again
    assert first[0] != changed[0]
    assert first[1] == changed[1]


def test_rows_that_change_at_random_have_no_hash(climb: Climb) -> None:
    noisy = """
class Noisy(TensorDataset):
    def __getitem__(self, row):
        image, label = super().__getitem__(row)
        return image + torch.randn_like(image), label

x = torch"""
    rung = climb(broken("x = torch", noisy, "DataLoader(TensorDataset(x[:192]", "DataLoader(Noisy(x[:192]"), "receipt")
    assert values(rung, "hash of its first rows, which are other ones each time they are read") == [None]
    assert len(values(rung, HASH)) == 1
    assert values(rung, "random numbers that differ after the checkup") in ([], [0])
