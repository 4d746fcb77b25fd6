from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import (
    Broadcast,
    Compared,
    Kind,
    LossCalled,
    Normalised,
    Ranked,
    Run,
    Source,
    StandIn,
    TensorFact,
)
from torch_doctor_rules.loss.loss_arguments_swapped import LossArgumentsSwapped
from torch_doctor_rules.loss.mse_on_class_labels import MseOnClassLabels
from torch_doctor_rules.loss.reduction_over_batch import ReductionOverBatch
from torch_doctor_rules.loss.silent_broadcast import SilentBroadcast
from torch_doctor_rules.loss.softmax_before_cross_entropy import SoftmaxBeforeCrossEntropy
from torch_doctor_rules.loss.softmax_over_one_output import SoftmaxOverOneOutput
from torch_doctor_rules.loss.target_dtype import TargetDtype

if TYPE_CHECKING:
    from .conftest import Script

CALL = "criterion(out, y)"
DATA = {"graph": False, "source": Source.LOADER}


def loss(script: Script, name: str, given: TensorFact, target: TensorFact, **fields: Any) -> None:
    output = TensorFact(kind=Kind.LOSS, scalar=fields.pop("scalar", True))
    script.add(
        LossCalled,
        CALL,
        loss=name,
        name="criterion",
        expects=Kind.LOGITS,
        input=given,
        target=target,
        output=output,
        **fields,
    )


def scores(script: Script, *shape: Any, **fields: Any) -> TensorFact:
    """What came out of a model."""
    index = frozenset((script.forward(script.model()).index,))
    fields = {"graph": True, "dtype": "float32", **fields}
    return TensorFact(forwards=index, graph_forwards=index, shape=shape or None, **fields)


def data(*shape: Any, **fields: Any) -> TensorFact:
    """What a loader gave."""
    return TensorFact(shape=shape or None, **{**DATA, **fields})


@pytest.mark.parametrize("shape", [("batch", 1), (None, 1, 8, 8), ("...", 1), (16, 1)])
def test_cross_entropy_over_one_class_is_constant(script: Script, shape: tuple[Any, ...]) -> None:
    loss(script, "torch.nn.CrossEntropyLoss", scores(script, *shape), data("batch", dtype="int64"))
    assert script.found(SoftmaxOverOneOutput) == [CALL]


@pytest.mark.parametrize("shape", [("batch", 2), (None, None), (), ("batch", 3, 1), ("...", None)])
def test_cross_entropy_over_more_classes_or_unknown_ones_is_right(script: Script, shape: tuple[Any, ...]) -> None:
    loss(script, "torch.nn.CrossEntropyLoss", scores(script, *shape), data("batch", dtype="int64"))
    assert script.found(SoftmaxOverOneOutput) == []


def test_a_softmax_over_one_number_is_reported_at_its_loss_or_where_it_is(script: Script) -> None:
    for text in ("F.softmax(a)", "F.softmax(b)"):
        script.add(Normalised, text, function="torch.nn.functional.softmax", input=scores(script, "batch", 1), size=1)
    given = scores(script, "batch", 1, kind=Kind.PROBABILITIES, operation_at=script.at("F.softmax(a)"))
    loss(script, "torch.nn.BCELoss", given, data("batch", 1))
    assert script.found(SoftmaxOverOneOutput) == [CALL, "F.softmax(b)"]


def test_a_softmax_over_one_number_within_a_model_may_be_a_matter_of_size(script: Script) -> None:
    script.add(Normalised, "F.softmax(gate)", function="torch.nn.functional.softmax", input=data("batch", 1), size=1)
    assert script.found(SoftmaxOverOneOutput) == []


def test_one_class_says_more_than_probabilities(script: Script) -> None:
    given = scores(script, "batch", 1, kind=Kind.PROBABILITIES, operation_at=script.at("F.softmax(a)"))
    loss(script, "torch.nn.CrossEntropyLoss", given, data("batch", dtype="int64"))
    assert script.found(SoftmaxOverOneOutput) == [CALL]
    assert script.found(SoftmaxBeforeCrossEntropy) == []


@pytest.mark.parametrize(
    ("shape", "dim", "loss_shape", "wrong"),
    [
        (("batch", 3), 0, ("batch", 3), True),
        (("batch", 3), -2, ("batch", 3), True),
        (("...", 3), 0, ("...", 3), True),
        (("batch", 3, 8, 8), 0, ("batch", 3, 8, 8), True),
        ((20, "batch", 50), 0, (None, 50), True),
        (("batch", 3), 1, ("batch", 3), False),
        (("batch", 3), -1, ("batch", 3), False),
        (("...", 3), -2, ("...", 3), False),
        ((3, "batch"), 0, ("batch", 3), False),
        ((3, 8, 8), 0, (1, 3, 8, 8), False),
        ((1, 3), 0, (1, 3), False),
        (("batch", 1), 0, ("batch", 1), False),
        ((3,), 0, (3,), False),
    ],
)
def test_a_softmax_over_samples_that_a_loss_takes_one_by_one_mixes_them(
    script: Script, shape: Any, dim: int, loss_shape: Any, wrong: bool
) -> None:
    function = "torch.log_softmax"
    given = scores(script, *shape, kind=Kind.LOGITS)
    script.add(Normalised, "log_softmax(a)", function=function, input=given, size=0, dim=dim, dim_given=True)
    made = scores(script, *loss_shape, kind=Kind.LOG_PROBABILITIES, operation_at=script.at("log_softmax(a)"))
    loss(script, "torch.nn.NLLLoss", made, data("batch", dtype="int64"))
    assert script.found(ReductionOverBatch) == ["log_softmax(a)"] * wrong


def test_probabilities_in_a_likelihood_say_more_than_their_dimension(script: Script) -> None:
    given = scores(script, "batch", 3)
    script.add(Normalised, "softmax(a)", function="torch.softmax", input=given, size=0, dim=0, dim_given=True)
    made = scores(script, "batch", 3, kind=Kind.PROBABILITIES, operation_at=script.at("softmax(a)"))
    loss(script, "torch.nn.NLLLoss", made, data("batch", dtype="int64"))
    assert script.found(ReductionOverBatch) == []


@pytest.mark.parametrize(
    ("shape", "labels", "wrong"),
    [
        (("batch", 3), ("batch",), True),
        ((None, 3), ("batch",), True),
        ((8, 8), (1, 8), True),
        ((3, "batch"), ("batch",), False),
        ((5, 8, 8), (8, 8), False),
        ((None, None), ("batch",), False),
        (("...", 3), ("batch",), False),
    ],
)
def test_a_choice_over_the_samples_is_wrong_where_it_is_compared_with_their_labels(
    script: Script, shape: Any, labels: Any, wrong: bool
) -> None:
    given = scores(script, *shape, kind=Kind.LOGITS)
    chosen = script.add(Ranked, "a.argmax(0)", function="torch.argmax", input=given, dim=0).index
    assert script.found(ReductionOverBatch) == []
    script.add(Compared, "pred == y", chosen=chosen, target=data(*labels, kind=Kind.LABELS))
    assert script.found(ReductionOverBatch) == ["a.argmax(0)"] * wrong


PAIRS = pytest.mark.parametrize(
    ("left", "right", "wrong"),
    [
        (("batch", 1), ("batch",), True),
        (("batch",), ("batch", 1), True),
        ((None, 1), (32,), True),
        (("...", 1), ("batch",), True),
        (("batch", 1), ("batch", 1), False),
        (("batch",), ("batch",), False),
        (("batch", 3), ("batch",), False),
        ((1, 1), (1,), False),
        ((16, 1), (8,), False),
        (("batch", 1), (None,), False),
        (("batch", 1), (1,), False),
        ((), ("batch",), False),
    ],
)


@PAIRS
def test_a_column_and_a_row_make_all_pairs(script: Script, left: Any, right: Any, wrong: bool) -> None:
    loss(script, "torch.nn.MSELoss", scores(script, *left), data(*right))
    assert script.found(SilentBroadcast) == [CALL] * wrong


@PAIRS
def test_so_does_a_difference_that_is_written_by_hand(script: Script, left: Any, right: Any, wrong: bool) -> None:
    script.add(Broadcast, "out - y", name="out - y", left=scores(script, *left), right=data(*right))
    assert script.found(SilentBroadcast) == ["out - y"] * wrong


def test_pairs_that_nobody_sums_up_and_pairs_of_two_models_are_right(script: Script) -> None:
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 1), data("batch"), scalar=None)
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 1), scores(script, "batch"))
    loss(script, "torch.nn.MSELoss", data("batch", 1), data("batch"))
    assert script.found(SilentBroadcast) == []


@pytest.mark.parametrize(
    ("name", "shape", "target", "dtype", "wrong"),
    [
        ("CrossEntropyLoss", ("batch", 3), ("batch",), "float32", True),
        ("CrossEntropyLoss", ("batch", 3), ("batch", 1), "int64", True),
        ("CrossEntropyLoss", ("batch", 3), ("batch", 3), "int64", True),
        ("CrossEntropyLoss", ("batch", 3), ("batch",), "int32", True),
        ("CrossEntropyLoss", ("batch", 3, 8, 8), ("batch", 8, 8), "int32", True),
        ("CrossEntropyLoss", ("batch", 3, 8, 8), ("batch", 8, 8), "float32", True),
        ("NLLLoss", ("...", 3), ("batch",), "float64", True),
        ("NLLLoss", ("batch", 3), ("batch", 3), "float32", True),
        ("KLDivLoss", ("batch", 3), ("batch", 3), "int64", True),
        ("BCELoss", ("batch", 1), ("batch", 1), "int64", True),
        ("BCEWithLogitsLoss", ("batch", 4), ("batch", 4), "bool", True),
        ("CrossEntropyLoss", ("batch", 3), ("batch",), "int64", False),
        ("CrossEntropyLoss", ("batch", 3), ("batch", 3), "float32", False),
        ("CrossEntropyLoss", ("batch", 3), (), "float32", False),
        ("CrossEntropyLoss", ("batch", 3, 7), ("batch", 7), "int64", False),
        ("CrossEntropyLoss", ("batch", 3, 1), ("batch", 1), "int64", False),
        ("CrossEntropyLoss", ("batch", 3), ("batch",), "uint8", False),
        ("CrossEntropyLoss", ("batch", 3, 8, 8), ("batch", 3, 8, 8), "float32", False),
        ("MultiLabelSoftMarginLoss", ("batch", 4), ("batch", 4), "int64", False),
        ("CrossEntropyLoss", (3,), (3,), "float32", False),
        ("BCELoss", ("batch", 1), ("batch", 1), "float32", False),
        ("BCELoss", ("batch", 1), ("batch", 1), "", False),
        ("MSELoss", ("batch", 1), ("batch", 1), "int64", False),
    ],
)
def test_losses_take_targets_of_their_own_forms(
    script: Script, name: str, shape: Any, target: Any, dtype: str, wrong: bool
) -> None:
    loss(script, f"torch.nn.{name}", scores(script, *shape), data(*target, dtype=dtype))
    assert script.found(TargetDtype) == [CALL] * wrong


def test_data_first_and_a_prediction_second_is_swapped(script: Script) -> None:
    loss(script, "torch.nn.BCELoss", data("batch", dtype="float32"), scores(script, "batch"))
    assert script.found(LossArgumentsSwapped) == [CALL]


@pytest.mark.parametrize("fields", [{"graph": None}, {"source": Source.UNKNOWN}, {"source": Source.NOISE}])
def test_it_must_be_known_that_the_first_is_data(script: Script, fields: dict[str, Any]) -> None:
    loss(script, "torch.nn.BCELoss", data(**fields), scores(script))
    assert script.found(LossArgumentsSwapped) == []


def test_distances_have_no_order_and_two_models_none_that_is_known(script: Script) -> None:
    loss(script, "torch.nn.MSELoss", data(), scores(script))
    loss(script, "torch.nn.BCELoss", scores(script), scores(script))
    assert script.found(LossArgumentsSwapped) == []


@pytest.mark.parametrize("shape", [("batch",), ("batch", 1)])
def test_scores_of_classes_are_no_distance_from_a_label(script: Script, shape: Any) -> None:
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 10), data(*shape, kind=Kind.LABELS))
    assert script.found(MseOnClassLabels) == [CALL]


def test_one_output_one_hot_rows_and_quantities_are(script: Script) -> None:
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 1), data("batch", 1, kind=Kind.LABELS))
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 10), data("batch", 10))
    loss(script, "torch.nn.MSELoss", scores(script, "batch", 10), data("batch", 1, dtype="int64"))
    assert script.found(MseOnClassLabels) == []


@pytest.mark.parametrize("voids", [frozenset(), frozenset({"values"})])
def test_labels_that_were_made_up_for_a_run_prove_nothing(script: Script, voids: frozenset[str]) -> None:
    script.trace.run = Run(stand_ins=[StandIn(what="labels.csv", why="it is not there", how="numbers", voids=voids)])
    target = data("batch", dtype="int64")
    raised = "IndexError: Target 7 is out of bounds."
    loss(script, "torch.nn.CrossEntropyLoss", scores(script, "batch", 5), target, raised=raised)
    assert script.found(TargetDtype) == ([] if voids else [CALL])
