"""Whether the receipt says what a second run needs, and what a checkpoint gives back."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values
from tests.checkup.rungs.test_repeatability import net

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Climb
    from tests.conftest import Outcome

LOGGING = """        optimizer.step()
        print("loss", loss.item())
        logging.warning("step")"""
SAVE = "torch.save(model.state_dict(), 'model.pt')\n"


def test_a_run_that_could_be_made_again(climb: Climb, folder: Path, write: Callable[..., Path]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    write("train.py", "")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    rung = climb(TRAINING + SAVE, "receipt", verdicts=True)
    assert rung.status == "passed", rung.reason
    assert values(rung, "seeds") == ["0"]
    assert values(rung, "uncommitted files") == [1]
    assert values(rung, "differs") == ["train.py"]
    assert values(rung, "saved") == ["model.state_dict()"]
    assert values(rung, "contains the state of the optimizer") == [False]
    assert values(rung, "optimizer") == ["Adam(lr=0.01, weight_decay=0, betas=(0.9, 0.999), eps=1e-08, amsgrad=False)"]
    assert all(value == 0 for value in values(rung, "weights not restored after the checkup"))


def test_no_seed_and_nothing_saved_are_open_points(climb: Climb) -> None:
    rung = climb(broken("torch.manual_seed(0)\n", ""), "receipt", verdicts=True)
    assert rung.status == "shown"
    assert "no seed is set" in rung.reason
    assert "no call of `torch.save` was reached" in rung.reason


def test_a_checkpoint_that_does_not_give_the_model_back_fails(climb: Climb) -> None:
    learned = "self.scale = x.detach().mean() if self.training else self.scale"
    script = net(f"{learned}\n        x = x * self.scale", "self.scale = torch.ones(1)")
    rung = climb(script + SAVE, "receipt", verdicts=True)
    assert rung.status == "failed", rung.reason
    assert "does not restore `model`" in rung.reason


HASH = "hash of its first 8 samples, in stored order"


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
    assert values(rung, "no hash: the first samples differ each time they are read") == [None]
    assert len(values(rung, HASH)) == 1
    assert values(rung, "random state not restored after the checkup") == [0]


def test_the_hash_of_made_up_data_is_none(climb: Climb) -> None:
    rung = climb(
        broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')").replace("x[", "x[:256, :10]["), "receipt"
    )
    assert set(values(rung, "no hash: the samples are synthetic, as the data was not found")) == {None}
    assert not [fact for fact in rung.evidence if fact.label == HASH]


@pytest.mark.parametrize("seed", ["0", None])
def test_the_seed_of_hashes_is_told(climb: Climb, monkeypatch: pytest.MonkeyPatch, seed: str | None) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if seed is not None:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    assert values(climb(TRAINING, "receipt"), "PYTHONHASHSEED") == [seed]


def test_what_the_script_says_while_it_trains_is_told(climb: Climb) -> None:
    said = "    print('another epoch')\n    for images, labels in train_loader:"
    script = "import logging" + broken(
        "    for images, labels in train_loader:", said, "        optimizer.step()", LOGGING
    )
    rung = climb(script, "receipt")
    told = {fact.label: fact.value for fact in rung.evidence if fact.group == "metrics logged during training"}
    assert [label.partition(" at ")[0] for label in told] == ["print", "logging", "print"]
    assert str(next(iter(told.values()))).startswith("loss ")


def test_nothing_that_is_said_is_an_open_point(climb: Climb) -> None:
    assert values(climb(TRAINING, "receipt"), "anything") == [None]


EPOCH = "    model.eval()\n    torch.save({'epoch': epoch, 'model': model.state_dict()}, 'last.pt')"
WHOLE = EPOCH.replace("}, 'last", ", 'optimizer': optimizer.state_dict()}, 'last")


@pytest.mark.parametrize(("saved", "status"), [(EPOCH, 1), (WHOLE, 0)], ids=["without the optimizer", "with it"])
def test_a_checkpoint_to_go_on_from_has_to_hold_the_optimizer(
    write: Callable[..., Path], run: Callable[..., Outcome], saved: str, status: int
) -> None:
    write("train.py", broken("    model.eval()", saved))
    done = run("checkup", "train.py", "--isolated", "--json", "-", "--time", "60", "--python", sys.executable)
    receipt = done.json["rungs"][-1]
    assert receipt["status"] == ("failed" if status else "passed"), receipt["reason"]
    assert [finding["code"] for finding in receipt["findings"]] == ["TDR605"] * status


def test_weights_alone_are_no_checkpoint_to_go_on_from(climb: Climb) -> None:
    rung = climb(TRAINING + SAVE, "receipt", verdicts=True)
    assert "no checkpoint contains the optimizer" in rung.reason


COUNTED = "torch.save({'model': model.state_dict(), 'epoch': epoch}, 'last.pt')\n"
WHOLE = "torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch}, 'last.pt')\n"


@pytest.mark.parametrize(("save", "status"), [(COUNTED, "shown"), (WHOLE, "passed")], ids=["counts", "whole"])
def test_a_checkpoint_that_counts_epochs_is_no_good_without_the_optimizer(climb: Climb, save: str, status: str) -> None:
    rung = climb(TRAINING + save, "receipt", verdicts=True)
    assert rung.status == status, rung.reason
    assert ("training cannot be resumed from what train.py:" in rung.reason) == (save is COUNTED)
    assert values(rung, "a key for the label mapping") == [False]


DRAWN = ["x = torch.randn(256, 10)", "x = torch.from_numpy(numpy.random.randn(256, 10).astype('float32'))"]


@pytest.mark.parametrize(
    ("seed", "seeded"),
    [("", False), ("numpy.random.seed(1)\n", True), ("from numpy.random import seed\nseed(1)\n", True)],
    ids=["no seed", "seed", "imported by name"],
)
def test_numbers_of_numpy_want_a_seed(climb: Climb, seed: str, *, seeded: bool) -> None:
    script = broken(*DRAWN, "torch.manual_seed(0)\n", f"torch.manual_seed(0)\nimport numpy\n{seed}")
    rung = climb(script, "receipt")
    assert rung.status == ("passed" if seeded else "shown"), rung.reason
    assert ("NumPy draws random numbers without a seed" in rung.reason) != seeded
    assert values(rung, "NumPy seeded") == [seeded]


def test_a_generator_of_its_own_needs_no_global_seed(climb: Climb) -> None:
    own = "numpy.random.default_rng(1).normal(size=(256, 10))"
    script = broken(*DRAWN, "torch.manual_seed(0)\n", "torch.manual_seed(0)\nimport numpy\n")
    rung = climb(script.replace("numpy.random.randn(256, 10)", own), "receipt")
    assert rung.status == "passed", rung.reason
