"""Whether labels that cannot be right are told from rows that are merely hard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Examine
    from torch_doctor.checkup.outcome import Rung


def errors(examine: Examine, script: str) -> Rung:
    return examine(script, "small-subset", "errors").checkup.rungs[1]


EASY = ["x = torch.randn(256, 10)", "x = torch.randn(256, 10)\nx[:, :2] *= 5", "lr=0.01", "lr=0.03"]
"""Classes that are learned in a few steps."""


def test_the_hardest_rows_are_shown(examine: Examine) -> None:
    rung = errors(examine, broken(*EASY))
    assert rung.status == "shown", rung.reason
    assert rung.plots[0].title == "Hardest samples"
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
    told = next(plot for plot in rung.plots if plot.title == "Wrong and confident")
    assert len(told.texts) == 1
    assert told.texts[0].startswith("val_loader.dataset[8], label")


def test_where_all_labels_are_right_none_is_wrong_and_certain(examine: Examine) -> None:
    rung = errors(examine, broken(*FAR))
    assert values(rung, CERTAIN) == [0]
    assert "Wrong and confident" not in [plot.title for plot in rung.plots]


def test_a_row_is_named_by_its_index_in_the_data_set_and_its_picture_is_shown(examine: Examine) -> None:
    pictures = [
        *("x = torch.randn(256, 10)", "x = torch.randn(256, 1, 8, 8)\nx[200] *= 40"),
        *("x[:, 0] > 0", "x[:, 0, 0, 0] > 0", "x[:, 1] > 0", "x[:, 0, 0, 1] > 0"),
        *("nn.Sequential(", "nn.Sequential(nn.Flatten(), ", "nn.Linear(10, 32)", "nn.Linear(64, 32)"),
    ]
    rung = errors(examine, broken(*pictures, "train_loader = ", "y[200] = (y[200] + 1) % 3\ntrain_loader = "))
    hardest = max(fact.value for fact in rung.evidence if fact.group == "loss of the hardest samples")  # type: ignore[type-var]
    assert "val_loader.dataset[8]" in [fact.label for fact in rung.evidence if fact.value == hardest]
    shown = next(plot for plot in rung.plots if plot.title == "Hardest samples: Images in batch[0]")
    assert len(shown.images) == len(rung.plots[0].texts)
    assert shown.images[0].caption.startswith("val_loader.dataset[8]")


def test_rows_whose_index_nobody_knows_are_named_by_their_place(examine: Examine) -> None:
    collated = "collate_fn=lambda rows: [torch.stack(part[:8]) for part in zip(*rows)], shuffle=True"
    rung = errors(examine, broken(*EASY, "shuffle=True", collated))
    labels = [fact.label for fact in rung.evidence if fact.group == "loss of the hardest samples"]
    assert labels
    assert not [label for label in labels if label.startswith("train_loader.dataset[")]


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


def test_values_of_a_loss_over_steps_are_no_rows_of_the_data_set(examine: Examine) -> None:
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
    assert "of 1,280 values" in rung.reason
    assert not [fact.label for fact in rung.evidence if ".dataset[" in fact.label]
