"""Whether a look at the data says what is wrong with it, and nothing of what is right."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Climb


def test_good_data_passes(climb: Climb) -> None:
    rung = climb(TRAINING, "inspect")
    assert rung.status == "passed"
    assert rung.reason.startswith("192 samples of train_loader, 64 samples of val_loader")
    assert values(rung, "inputs that also occur in val_loader") == [0]
    assert [plot.kind for plot in rung.plots] == ["texts", "histograms", "bars"]
    assert rung.plots[0].title == "Rows of batch[0]"
    assert len(rung.plots[0].texts) == 13
    assert len({series.axis for series in rung.plots[1].series}) == 10
    assert {series.label for series in rung.plots[1].series} == {"train_loader", "val_loader"}
    assert all(abs(sum(each or 0 for each in series.y) - 1) < 1e-4 for series in rung.plots[1].series)
    assert values(rung, "device") == ["cpu"] * 4
    assert values(rung, "requires_grad") == [False] * 4


def test_labels_of_both_sets_are_counted(climb: Climb) -> None:
    rung = climb(TRAINING, "inspect")
    training, validation = rung.plots[-1].series
    assert (training.label, sum(each or 0 for each in training.y)) == ("train_loader", 192)
    assert (validation.label, sum(each or 0 for each in validation.y)) == ("val_loader", 64)
    assert values(rung, "samples with label 1") == [training.y[1], validation.y[1]]
    assert "/".join(f"{each or 0:g}" for each in validation.y) + " in val_loader" in rung.reason
    assert "no large shift of the inputs (10 columns compared)" in rung.reason
    (chance,) = values(rung, "corrected p-value of that difference")
    assert isinstance(chance, float)
    assert chance > 0.01


def test_the_contract_holds_for_a_batch(climb: Climb) -> None:
    rung = climb(TRAINING, "inspect")
    after = TRAINING + "\nfor batch in train_loader:\n    " + rung.code.replace("\n", "\n    ")
    assert "assert 0 <= batch[1].min() and batch[1].max() < 3" in rung.code
    exec(compile(after, "train.py", "exec"), {})  # noqa: S102 - the lines are to be run


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            ["y = (x", "x[3, 3] = float('nan')\ny = (x"],
            "1 value of batch[0] in train_loader is NaN (1 of 192 samples, column 3)",
        ),
        (["y[:192])", "y[:192].sort().values)", "shuffle=True", "shuffle=False"], "are sorted by label"),
        (["x[192:], y[192:]", "x[:64], y[:64]"], "64 of 64 samples of val_loader are also in train_loader"),
        (["+ (x[:, 1] > 0).long()", "* 0"], "all 192 checked samples of train_loader have the label 0"),
    ],
    ids=["NaN", "sorted", "leaked", "one class"],
)
def test_bad_data_fails(climb: Climb, changes: list[str], reason: str) -> None:
    rung = climb(broken(*changes), "inspect")
    assert rung.status == "failed"
    assert reason in rung.reason
    assert rung.next


def test_pictures_are_shown(climb: Climb) -> None:
    script = broken(
        "torch.randn(256, 10)", "torch.rand(256, 3, 8, 8)", "x[:, 0]", "x[:, 0, 0, 0]", "x[:, 1]", "x[:, 1, 0, 0]",
        "nn.Linear(10, 32)", "nn.Flatten(), nn.Linear(192, 32)",
    )  # fmt: skip
    rung = climb(script, "inspect")
    training, validation = (plot for plot in rung.plots if plot.kind == "images")
    assert training.title == "Images in batch[0] of train_loader"
    assert validation.title == "Images in batch[0] of val_loader"
    assert training.beside == validation.beside
    for pictures in (training, validation):
        assert len(pictures.images) == 16
        assert pictures.images[0].png.startswith("iVBORw0KGgo")
        assert {each.caption for each in pictures.images} <= {"0", "1", "2"}
        assert "each is scaled from its least to its largest value" in pictures.alternative
    assert len(values(rung, "mean of channel 2")) == 2


def test_masks_are_shown_behind_their_images(climb: Climb) -> None:
    script = broken(
        "torch.randn(256, 10)", "torch.rand(256, 3, 16, 12)", "y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()",
        "y = (x[:, 0] > 0.5).long()", "nn.Linear(10, 32)", "nn.Conv2d(3, 8, 3, padding=1)", "nn.Linear(32, 3)",
        "nn.Conv2d(8, 2, 1)",
    )  # fmt: skip
    shown = [plot.title for plot in climb(script, "inspect").plots if plot.kind == "images"]
    assert shown == [f"Images in batch[{part}] of {name}" for part in (0, 1) for name in ("train_loader", "val_loader")]


def test_batches_that_the_script_leaves_out_do_no_harm(climb: Climb) -> None:
    left_out = "loss = criterion(model(images), labels)\n        if not loss.isfinite():\n            continue"
    script = broken("y = (x", "x[3, 3] = float('nan')\ny = (x", "loss = criterion(model(images), labels)", left_out)
    rung = climb(script, "inspect")
    assert rung.status == "shown", rung.reason
    assert rung.reason.endswith("which the script skips")


def test_what_strikes_and_may_be_right_is_said(climb: Climb) -> None:
    rung = climb(broken("y = (x", "x[:, 4] = 49.5\nx[250] = x[3]\nx[7] = x[8]\ny = (x"), "inspect")
    assert "column 4 of batch[0] is constant (49.5)" in rung.reason
    assert "1 of 192 samples of train_loader repeats another one" in rung.reason
    assert "1 of 64 samples of val_loader is also in train_loader" in rung.reason
    assert "no duplicates" not in rung.reason


def test_rare_flags_are_not_called_constant(climb: Climb) -> None:
    rung = climb(
        broken("y = (x", "x[:, 4] = 0\nx[200, 4] = 1\ny = (x", "x[:192]", "x[:256]", "y[:192]", "y[:256]"), "inspect"
    )
    assert "constant" not in rung.reason


WORDS = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
vocabulary = ["<pad>", *"river stone bridge mill boat heron reed ferry".split()]
texts = [torch.randint(1, 9, (length,)) for length in torch.randint(3, 20, (96,)).tolist()]
rows = [(each, int(each[0] > 4)) for each in texts]


def collate(batch):
    return pad_sequence([each for each, _ in batch], batch_first=True), torch.tensor([label for _, label in batch])


train_loader = DataLoader(rows[:64], batch_size=16, shuffle=True, collate_fn=collate)
val_loader = DataLoader(rows[64:], batch_size=16, collate_fn=collate)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(len(vocabulary), 8), nn.Linear(8, 2)

    def forward(self, ids):
        mask = (ids > 0).unsqueeze(-1)
        return self.head((self.embedding(ids) * mask).sum(1) / mask.sum(1))


model = Words()
optimizer = torch.optim.Adam(model.parameters())
for ids, labels in train_loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(ids), labels).backward()
    optimizer.step()
"""


def test_tokens_are_shown_as_words_with_their_lengths_and_padding(climb: Climb) -> None:
    rung = climb(WORDS, "inspect")
    training, validation, lengths = rung.plots[:3]
    assert [each.beside for each in (training, validation)] == ["batch[0]"] * 2
    assert any("heron" in text for text in training.texts)
    assert any("padding 0" in text for text in training.texts)
    assert not any("<pad>" in text for text in training.texts)
    assert lengths.kind == "histograms"
    assert lengths.alternative.startswith("padding with 0 fills ")
    assert [series.label for series in lengths.series] == ["train_loader", "val_loader"]


@pytest.mark.parametrize(
    ("shape", "title", "kind"),
    [
        ("20, 30", "Matrices in batch[0] of train_loader", "images"),
        ("40, 3", "Series in batch[0]", "lines"),
        ("1, 500", "Waveforms in batch[0]", "lines"),
    ],
)
def test_spectrograms_series_and_waves_are_drawn(climb: Climb, shape: str, title: str, kind: str) -> None:
    script = broken("torch.randn(256, 10)", f"torch.randn(256, {shape})", "x[:, 0]", "x[:, 0, 0]", "x[:, 1]", "x[:, 0, 1]",
                    "nn.Linear(10, 32)", "nn.Flatten(), nn.LazyLinear(32)")  # fmt: skip
    first = climb(script, "inspect").plots[0]
    assert (first.title, first.kind) == (title, kind)
    assert first.private or kind == "images"


SPECTRA = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels = torch.arange(64) % 2
times = torch.arange(4000) / 8000
waves = torch.sin(6.2832 * (500 + 1500 * labels[:, None]) * times)
train_loader = DataLoader(TensorDataset(waves, labels), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
model(torch.zeros(1, 1, 65, 63))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for wave, label in train_loader:
    spectrum = torch.stft(wave, 128, 64, window=torch.hann_window(128), return_complex=True).abs().unsqueeze(1)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(spectrum), label).backward()
    optimizer.step()
"""


def test_the_input_of_a_model_is_drawn_with_the_labels_of_its_own_batch(climb: Climb) -> None:
    plots = climb(SPECTRA, "inspect").plots
    given = next(each for each in plots if each.title.startswith("Images in the model's input"))
    pictures: dict[str, set[str]] = {"0": set(), "1": set()}
    for each in given.images:
        pictures[each.caption].add(each.png)
    assert not pictures["0"] & pictures["1"]
    assert len(pictures["0"] | pictures["1"]) == 2


def test_a_long_wave_keeps_its_loudest_points(climb: Climb) -> None:
    waves = next(each for each in climb(SPECTRA, "inspect").plots if each.title == "Waveforms in batch[0]")
    for each in waves.series:
        assert len(each.x) == len(each.y) <= 300
        assert each.x == sorted(each.x)
        assert sum(abs(value or 0.0) > 0.9 for value in each.y) > 0.9 * len(each.y)


FILES = """
import pathlib
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Stored(Dataset):
    def __init__(self, folder):
        self.files = sorted(pathlib.Path(__file__).with_name(folder).iterdir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with open(self.files[index], "rb") as file:
            values = torch.tensor(list(file.read())) / 128 - 1
        return values + 0.1 * torch.randn(512), int(values[0] > 0)


train_loader = DataLoader(Stored("train"), batch_size=8, shuffle=True)
val_loader = DataLoader(Stored("val"), batch_size=8)
model = nn.Linear(512, 2)
optimizer = torch.optim.Adam(model.parameters())
for inputs, labels in train_loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
"""


def test_copies_of_files_are_found_behind_augmentation(climb: Climb, write: Callable[..., Path]) -> None:
    folder = write("readme.txt", "Recordings.").parent
    for name, seeds in (("train", range(40)), ("val", range(39, 59))):
        (folder / name).mkdir()
        for number, seed in enumerate(seeds):
            (folder / name / f"{number}.raw").write_bytes(random.Random(seed).randbytes(512))  # noqa: S311 - no secret
    rung = climb(FILES, "inspect")
    assert (
        "1 file of val_loader is a copy of files of train_loader, such as `val/0.raw` of `train/39.raw`" in rung.reason
    )
    assert "no duplicates" not in rung.reason


STATES = """
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(12, 5, 4)
y = x[:, :, :1]
model, head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
for step in range(4):
    states = torch.zeros(1, 12, 8), torch.zeros(1, 12, 8)
    loss = nn.functional.mse_loss(head(model(x, states)[0]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_states_beside_the_input_are_not_counted_as_rows(climb: Climb) -> None:
    rung = climb(STATES, "inspect")
    assert rung.status == "passed", rung.reason
    assert rung.reason == "a first batch of 12 × 5 × 4: finite"


def test_only_what_was_looked_at_is_claimed(climb: Climb) -> None:
    assert ": finite, not sorted and no duplicates; labels" in climb(TRAINING, "inspect").reason


SAME = "val_loader = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=16)"


@pytest.mark.parametrize(("name", "status"), [("train_eval_loader", "passed"), ("val_loader", "failed")])
def test_rows_that_are_trained_on_may_be_scored_where_nobody_calls_them_held_out(
    climb: Climb, name: str, status: str
) -> None:
    same = f"{name} = DataLoader(train_loader.dataset, batch_size=16)"
    rung = climb(broken(SAME, same, "in val_loader", f"in {name}"), "inspect")
    assert rung.status == status, rung.reason


FIVE = [
    "y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()",
    "y = torch.arange(256) % 5",
    "nn.Linear(32, 3)",
    "nn.Linear(32, 5)",
]
HELD_BACK = ["x[:192], y[:192]", "x[y < 3], y[y < 3]"]
MANY = [
    "torch.randn(256, 10)",
    "torch.randn(4096, 10)",
    "arange(256)",
    "arange(4096)",
    "x[192:]",
    "x[-256:]",
    "y[192:]",
    "y[-256:]",
]


@pytest.mark.parametrize("more", [[], MANY], ids=["all rows", "a part of the rows"])
def test_labels_that_training_lacks_are_named(climb: Climb, more: list[str]) -> None:
    rung = climb(broken(*FIVE, *HELD_BACK, *more), "inspect")
    assert rung.status == "failed", rung.reason
    assert "checked samples of train_loader has the labels 3 and 4 of val_loader" in rung.reason


FIRST = ["x[:192], y[:192]", "x[:-256], y.sort().values[:-256]", "shuffle=True", "shuffle=False"]


def test_labels_that_may_come_later_are_not_said_to_lack(climb: Climb) -> None:
    said = climb(broken(*FIVE, *MANY, *FIRST), "inspect").reason
    assert "checked samples of train_loader have the label 0" in said
    assert "none of the" not in said
    assert "none of the" not in climb(broken(*FIVE, "shuffle=True", "shuffle=True, drop_last=True"), "inspect").reason


def shifted(validation: str, *changes: str) -> str:
    """The script with other rows in its validation set."""
    kept = f"rows = torch.arange(192, 256)[{validation}]\nval_loader = DataLoader(TensorDataset(x[rows], y[rows]), batch_size=16)"
    return broken(SAME, kept, *changes)


ONE_LABEL = "y[192:] == 2"
MOSTLY_ONE = "(y[192:] == 2) | (torch.arange(64) % 8 == 0)"


@pytest.mark.parametrize(
    ("validation", "reason"),
    [
        (ONE_LABEL, "of val_loader have the label 2, train_loader has 3 labels"),
        (MOSTLY_ONE, "of val_loader (p "),
    ],
    ids=["one label", "other shares"],
)
def test_a_validation_set_with_other_labels_fails(climb: Climb, validation: str, reason: str) -> None:
    rung = climb(shifted(validation), "inspect")
    assert rung.status == "failed", rung.reason
    assert reason in rung.reason


SAMPLER = "shuffle=True", "sampler=torch.utils.data.WeightedRandomSampler([1.0] * 192, 192)"
OWN = [
    "val_loader = DataLoader(",
    "class Own(torch.utils.data.SequentialSampler): pass\nval_loader = DataLoader(sampler=Own(y), dataset=",
]
RARE = "y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = (x[:, 0] > 1).long()"
LONG = [
    *("torch.randn(256, 10)", "torch.randn(4096, 10)"),
    *("x[192:], y[192:]", "x[192:][y[192:].argsort()], y[192:].sort().values"),
]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (shifted(MOSTLY_ONE, *SAMPLER), "as the sampler of train_loader chooses"),
        (shifted(f"({MOSTLY_ONE}) & (torch.arange(64) < 12)"), "labels 0/1/2: "),
        (broken(*LONG), "no large shift of the inputs"),
        (broken(*LONG, *OWN), "only the first batches were checked, in the order of the loader"),
        (
            shifted("torch.cat([(y[192:] == each).nonzero()[:10, 0] for each in range(2)])", *RARE),
            "val_loader is balanced",
        ),
    ],
    ids=["a sampler", "few samples", "a sorted set", "a part of a sorted set", "balanced"],
)
def test_other_shares_that_may_be_meant_do_not_fail(climb: Climb, script: str, said: str) -> None:
    rung = climb(script, "inspect")
    assert rung.status in {"passed", "shown"}, rung.reason
    assert said in rung.reason


def test_inputs_that_differ_are_shown_with_their_distance(climb: Climb) -> None:
    rung = climb(broken("TensorDataset(x[192:]", "TensorDataset(x[192:] + 2 * torch.eye(10)[4]"), "inspect")
    assert rung.status == "shown", rung.reason
    assert "column 4 of batch[0] differs between train_loader and val_loader: Kolmogorov-Smirnov" in rung.reason
    (distance,), (chance,) = (
        values(rung, f"{what} of column 4") for what in ("Kolmogorov-Smirnov distance", "corrected p-value")
    )
    assert isinstance(distance, float)
    assert isinstance(chance, float)
    assert (distance > 0.5, chance < 0.01) == (True, True)


def test_the_scale_of_inputs_and_targets_is_named(climb: Climb) -> None:
    script = broken(
        *("torch.randn(256, 10)", "torch.randn(256, 10) * torch.logspace(0, 3, 10)"),
        *("nn.CrossEntropyLoss()", "nn.MSELoss()"),
        *("model(images), labels", "model(images)[:, 0], 1000 + 90 * labels.float()"),
    )
    rung = climb(script, "inspect")
    assert rung.status == "passed", rung.reason
    assert "values of the model's input go from -" in rung.reason
    assert "deviations of its columns from " in rung.reason
    assert "values of the targets go from 1000 to 1180" in rung.reason
    assert "values of" not in climb(TRAINING, "inspect").reason


REGRESSION = broken(
    *("y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = 4_000 + 900 * x[:, :1]"),
    *("nn.Linear(32, 3)", "nn.Linear(32, 1)", "nn.CrossEntropyLoss()", "nn.MSELoss()"),
    *("lr=0.01", "lr=0.001"),
)


def test_the_losses_on_data_as_they_are_and_on_standardized_data_are_drawn(climb: Climb) -> None:
    rung = climb(REGRESSION, "inspect", verdicts=True, codes=("TDR715",))
    assert rung.reason.endswith("; with the targets standardized, a copy learns many times faster")
    assert rung.plots[-1].title == "Scale of the data"
    assert [series.label for series in rung.plots[-1].series] == ["data as they are", "the targets standardized"]
    assert [series.x[-1] for series in rung.plots[-1].series] == [199, 100]
    (raw,) = values(rung, "after 800 steps on data as they are")
    (standardized,) = values(rung, "after 100 steps with the targets standardized")
    assert isinstance(raw, float)
    assert isinstance(standardized, float)
    assert raw > 1 > standardized


def test_substitutes_are_not_shown(climb: Climb) -> None:
    rung = climb(
        broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')").replace("x[", "x[:256, :10]["), "inspect"
    )
    assert "the data is synthetic, as the script's own data was not found, so no samples are shown" in rung.reason
    assert rung.plots == []
