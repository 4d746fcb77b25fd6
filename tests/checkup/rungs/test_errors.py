"""Whether labels that cannot be right are told from rows that are merely hard."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Examine
    from torch_doctor.checkup.outcome import Rung


def errors(examine: Examine, script: str) -> Rung:
    return examine(script, "small-subset", "errors").checkup.rungs[1]


EASY = ["x = torch.randn(256, 10)", "x = torch.randn(256, 10)\nx[:, :2] *= 5", "lr=0.01", "lr=0.03"]
"""Classes that are learned in a few steps."""


def test_the_worst_mistakes_of_validation_are_shown_with_their_classes_and_confidence(examine: Examine) -> None:
    rung = errors(examine, broken(*EASY))
    assert rung.status == "shown", rung.reason
    sheet = rung.plots[0]
    assert (sheet.title, sheet.kind) == ("Worst wrong predictions", "samples")
    [wrong] = values(rung, "wrong predictions")
    assert rung.reason.startswith(
        f"after training on the small subset, {wrong} of 64 samples of val_loader are wrong, most often "
    )
    assert len(sheet.samples) == wrong
    assert all(each.name.startswith("val_loader.dataset[") and each.label != each.prediction for each in sheet.samples)
    assert [each.loss for each in sheet.samples] == sorted((each.loss or 0 for each in sheet.samples), reverse=True)
    assert all(
        each.text.count(",") == 9 and not each.png and 1 / 3 < (each.confidence or 0) <= 1 for each in sheet.samples
    )
    pairs = [fact for fact in rung.evidence if fact.group.endswith("label → prediction")]
    assert sum(int(fact.value or 0) for fact in pairs) == wrong
    bins = [
        str(fact.value).split(" of ") for fact in rung.evidence if fact.group.endswith("by confidence, wrong of all")
    ]
    assert [sum(map(int, each)) for each in zip(*bins, strict=True)] == [wrong, 64]
    matrices = [plot for plot in rung.plots if plot.kind == "matrix"]
    assert [len(plot.rows) for plot in matrices] == [3, 3]
    assert len(values(rung, "accuracy after the small subset")) == 2


def test_swapped_labels_of_the_validation_fail(examine: Examine) -> None:
    swapped = ["train_loader = ", "y[192:] = torch.tensor([1, 0, 2])[y[192:]]\ntrain_loader = "]
    rung = errors(examine, broken(*EASY, *swapped))
    assert rung.status == "failed", rung.reason
    assert "the labels 0 and 1 of val_loader look swapped" in rung.reason


def test_rows_with_two_labels_fail(examine: Examine) -> None:
    twice = ["train_loader = ", "x[:50], y[:50] = x[50:100], (y[50:100] + 1) % 3\ntrain_loader = "]
    rung = errors(examine, broken(*EASY, *twice))
    assert rung.status == "failed", rung.reason
    assert "50 inputs of train_loader occur several times with different labels" in rung.reason


def test_without_a_subset_there_are_no_errors(examine: Examine) -> None:
    rung = examine(TRAINING, "errors").checkup.rungs[0]
    assert (rung.status, rung.reason) == ("skipped", "small-subset did not run")


def test_inputs_of_few_values_may_come_several_times(examine: Examine) -> None:
    changes = ["x = torch.randn(256, 10)", "x = (torch.randn(256, 10) > 1).float()"]
    rung = errors(examine, broken(*changes, "train_loader = ", "y = torch.randint(0, 3, (256,))\ntrain_loader = "))
    assert rung.status == "shown", rung.reason


CERTAIN = "wrong predictions with 90% confidence or more"
FAR = ["x = torch.randn(256, 10)", "x = torch.randn(256, 10)\nx[:, :2] = x[:, :2].sign() * 20", "lr=0.01", "lr=0.05"]


def test_a_label_that_training_contradicts_is_wrong_and_certain(examine: Examine) -> None:
    one = ["train_loader = ", "y[200] = (y[200] + 1) % 3\ntrain_loader = "]
    rung = errors(examine, broken(*FAR, *one))
    assert values(rung, CERTAIN) == [1]
    certain = [each for each in rung.plots[0].samples if (each.confidence or 0) >= 0.9]
    assert [each.name for each in certain] == ["val_loader.dataset[8]"]


def test_where_all_labels_are_right_none_is_wrong_and_certain(examine: Examine) -> None:
    rung = errors(examine, broken(*FAR))
    assert values(rung, CERTAIN) == [0]


def test_a_row_is_named_by_its_index_in_the_data_set_and_its_picture_is_shown(examine: Examine) -> None:
    pictures = [
        *("x = torch.randn(256, 10)", "x = torch.randn(256, 1, 8, 8)\nx[200] *= 40"),
        *("x[:, 0] > 0", "x[:, 0, 0, 0] > 0", "x[:, 1] > 0", "x[:, 0, 0, 1] > 0"),
        *("nn.Sequential(", "nn.Sequential(nn.Flatten(), ", "nn.Linear(10, 32)", "nn.Linear(64, 32)"),
    ]
    rung = errors(examine, broken(*pictures, "train_loader = ", "y[200] = (y[200] + 1) % 3\ntrain_loader = "))
    hardest = max(fact.value for fact in rung.evidence if fact.group == "loss of the hardest samples")  # type: ignore[type-var]
    assert "val_loader.dataset[8]" in [fact.label for fact in rung.evidence if fact.value == hardest]
    worst = rung.plots[0].samples
    assert worst[0].name == "val_loader.dataset[8]"
    assert all(base64.b64decode(each.png).startswith(b"\x89PNG") and not each.text for each in worst)


def test_rows_whose_index_nobody_knows_are_named_by_their_place(examine: Examine) -> None:
    collated = "collate_fn=lambda rows: [torch.stack(part[:8]) for part in zip(*rows)]"
    held_out = "val_loader = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=16"
    rung = errors(examine, broken("shuffle=True", f"{collated}, shuffle=True", held_out, f"{held_out}, {collated}"))
    names = [each.name for each in rung.plots[0].samples]
    assert names
    assert not [name for name in names if ".dataset[" in name]


def test_of_made_up_data_nothing_is_wrong_and_certain(examine: Examine) -> None:
    rung = errors(
        examine, broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')").replace("x[", "x[:256, :10][")
    )
    assert rung.status in {"shown", "skipped"}
    assert values(rung, CERTAIN) == []


def test_the_loss_of_a_row_is_summed_where_the_script_sums(examine: Examine) -> None:
    many = ["nn.CrossEntropyLoss()", "nn.MSELoss(reduction={!r})", "lr=0.01", "lr=1e-9"]
    rows = ["(x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "torch.randn(256, 3)"]
    highest = []
    for reduction in ("mean", "sum"):
        changes = [each.format(reduction) for each in many]
        rung = errors(examine, broken(*changes, *rows))
        highest.append(
            max(float(fact.value or 0) for fact in rung.evidence if fact.group == "loss of the hardest samples")
        )
    assert highest[1] > 1.5 * highest[0]


def test_a_loss_over_steps_is_that_of_samples_only_where_their_order_is_known(examine: Examine) -> None:
    steps = [
        *("x = torch.randn(256, 10)", "x = torch.randn(256, 5, 10)"),
        *("(x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "(x[:, :, 0] > 0).long()"),
        *("loss = criterion(model(images), labels)", "loss = criterion(model(images).flatten(0, 1), labels.flatten())"),
        *(
            "            criterion(model(images), labels)",
            "            criterion(model(images).flatten(0, 1), labels.flatten())",
        ),
    ]
    rung = errors(examine, broken(*steps))
    assert rung.status == "shown", rung.reason
    assert "the worst of 64 samples of val_loader has a loss of" in rung.reason
    assert all(each.prediction.endswith(" of 5 positions wrong") for each in rung.plots[0].samples)
    mixed = [
        each.replace("flatten(0, 1)", "transpose(0, 1).flatten(0, 1)").replace("s.flatten()", "s.T.flatten()")
        for each in steps
    ]
    rung = errors(examine, broken(*mixed))
    assert "of 320 values of val_loader" in rung.reason
    assert not [fact.label for fact in rung.evidence if ".dataset[" in fact.label]


TWO = [
    *("y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = (x[:, 0] + x[:, 1] > 1).long()"),
    *("nn.Linear(32, 3)", "nn.Linear(32, 1)", "nn.CrossEntropyLoss()", "nn.BCEWithLogitsLoss()"),
    *(
        "criterion(model(images), labels)\n        loss.b",
        "criterion(model(images).squeeze(1), labels.float())\n        loss.b",
    ),
    *("val_loader = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=16)\n", ""),
    *("    model.eval()\n    with torch.no_grad():\n        for images, labels in val_loader:\n", ""),
    *("            criterion(model(images), labels)\n", ""),
]


def test_two_classes_get_a_curve_over_thresholds_and_training_is_named_where_nothing_is_held_out(
    examine: Examine,
) -> None:
    rung = errors(examine, broken(*TWO))
    assert "of 192 samples of train_loader (training data, as no validation loader was found)" in rung.reason
    [curve] = [plot for plot in rung.plots if plot.title == "Threshold for class 1 of train_loader"]
    assert [series.label for series in curve.series] == ["precision", "recall", "F1"]
    assert curve.series[1].y[0] == 1.0
    assert all(one >= later for one, later in zip(curve.series[1].y, curve.series[1].y[1:], strict=False))  # type: ignore[operator]
    [best], [half] = values(rung, "F1 at the threshold with the highest F1"), values(rung, "F1 at 0.5")
    assert best == max(each or 0 for each in curve.series[2].y) >= half  # type: ignore[operator]
    [threshold] = values(rung, "threshold with the highest F1")
    assert curve.marks[0].x == threshold


LANGUAGE = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
letters = list("abcdefghij ")
lookup = {letter: place for place, letter in enumerate(letters)}
text = torch.tensor([lookup[each] for each in "a bad cab did a fig jig " * 60])
rows = text[: 16 * 85].reshape(85, 16)
train_loader = DataLoader(TensorDataset(rows[:64]), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(rows[64:]), batch_size=8)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(letters), 16)
        self.head = nn.Linear(16, len(letters))

    def forward(self, ids):
        return self.head(self.embed(ids))

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for (ids,) in train_loader:
        optimizer.zero_grad()
        answer = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(answer.reshape(-1, len(letters)), ids[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for (ids,) in val_loader:
            model(ids[:, :-1])
"""


def test_token_ids_are_shown_as_text_where_the_script_has_a_vocabulary(examine: Examine) -> None:
    rung = errors(examine, LANGUAGE)
    assert "the worst of 21 samples of val_loader has a loss of" in rung.reason
    assert rung.reason.endswith(" of 15 positions wrong")
    worst = rung.plots[0].samples
    assert all(each.text in "a bad cab did a fig jig " * 60 and len(each.text) == 16 for each in worst)
    assert all(each.name.startswith("val_loader.dataset[") for each in worst)
    assert all(each.prediction.endswith(" of 15 positions wrong") for each in worst)


def test_numbers_are_ranked_by_how_far_they_are_off(examine: Examine) -> None:
    numbers = [
        *("y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = x[:, :1] * 2\ny[200] = 50.0"),
        *("nn.Linear(32, 3)", "nn.Linear(32, 1)", "nn.CrossEntropyLoss()", "nn.MSELoss()"),
    ]
    rung = errors(examine, broken(*numbers))
    first = rung.plots[0].samples[0]
    assert (first.name, first.label) == ("val_loader.dataset[8]", "50")
    assert abs(float(first.prediction)) < 20
    assert "the worst of 64 samples of val_loader has a loss of" in rung.reason
    assert "label 50, predicted" in rung.reason
    [off] = values(rung, "largest absolute error")
    assert abs(50 - float(first.prediction) - float(off or 0)) < 0.01  # type: ignore[arg-type]


def test_what_a_loss_compares_with_itself_is_neither_right_nor_wrong(examine: Examine) -> None:
    pairs = [
        *(
            "loss = criterion(model(images), labels)",
            "loss = criterion(model(images) @ model(images * 1.1).T, torch.arange(len(images)))",
        ),
        *("            criterion(model(images), labels)", "            model(images)"),
    ]
    rung = errors(examine, broken(*pairs))
    assert rung.status == "shown"
    assert "wrong" not in rung.reason
    assert not [each for each in rung.plots if each.kind == "matrix"]
    assert not [each for each in rung.plots[0].samples if each.label or each.prediction]
