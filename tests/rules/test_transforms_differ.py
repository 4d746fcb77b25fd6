from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import (
    CHANNELS,
    TOKENS,
    TRANSFORMS,
    BatchReworked,
    BatchTaken,
    DatasetBuilt,
    Forward,
    InputPrepared,
    LoaderBuilt,
    Source,
    TensorFact,
)
from torch_doctor_rules.data.transforms_differ import TransformsDiffer

if TYPE_CHECKING:
    from .conftest import Script

TEST_SET = "test_set = MNIST(train=False)"
TRAINING, TEST = 11, 12


def data(script: Script, loader: int, text: str) -> None:
    """A dataset of pictures and its loader."""
    script.add(DatasetBuilt, text, dataset=loader + 10, class_name="MNIST")
    script.add(LoaderBuilt, f"DataLoader({text})", loader=loader, dataset=loader + 10)


def given(script: Script, forward: Forward, how: str | tuple[float, ...] | None, sort: str) -> Forward:
    """What a forward gets was prepared in such a way of this sort, or by this mean; None: that is not known."""
    if how is not None:
        at = script.at(f"read {how}")
        fields = {"forward": forward.index, "loader": forward.inputs.loader, "prepared_at": at, "sort": sort}
        if isinstance(how, tuple):
            fields |= {"mean": how, "std": tuple(0.3 for _ in how), "scaled_at": at if how else None}
        script.add(InputPrepared, "model(x)", how=str(how), name=sort, **fields)
    return forward


def train_and_test(
    script: Script,
    *,
    other: bool = False,
    orders: tuple[tuple[Any, Any], Any] = ((None, None), None),
    sort: str = CHANNELS,
    tested_sort: str = "",
) -> None:
    """One model is trained on a loader, and it, or another one, is evaluated on the other."""
    model = script.model()
    optimizer = script.optimizer(model)
    ours, theirs = orders
    for number in script.loop("for x, y in train_loader"):
        script.add(BatchTaken, "for x, y in train_loader", loader=1, name="train_loader")
        batch = TensorFact(name="x", source=Source.LOADER, loader=1)
        forward = given(script, script.forward(model, inputs=batch), ours[number - 1], sort)
        script.backward(model, of=[forward])
        script.step(optimizer)
    tested = script.model("wrapper") if other else model
    if other:
        script.backward(tested, of=[script.forward(tested, "wrapper(x)")])
    for _ in script.loop("for x, y in test_loader"):
        script.add(BatchTaken, "for x, y in test_loader", loader=2, name="test_loader")
        batch = TensorFact(name="x", source=Source.LOADER, loader=2)
        forward = script.forward(tested, "model(x) in the test", inputs=batch, grad=False, training=False)
        script.loss(given(script, forward, theirs, tested_sort or sort))


def scaled(
    script: Script, ours: tuple[float, ...], theirs: tuple[float, ...], source: str = "MNIST", *, other: bool = False
) -> None:
    """The transforms of both datasets are known."""
    data(script, 1, "train_set = MNIST()")
    data(script, 2, TEST_SET)
    sorts = {"sort": f"{TRANSFORMS} MNIST", "tested_sort": f"{TRANSFORMS} {source}"}
    train_and_test(script, orders=((ours, ours), theirs), other=other, **sorts)


@pytest.mark.parametrize(("ours", "theirs"), [((0.1,), ()), ((), (0.1,)), ((0.1,), (0.5,))])
def test_pictures_are_scaled_alike_for_training_and_test(
    script: Script, ours: tuple[float, ...], theirs: tuple[float, ...]
) -> None:
    scaled(script, ours, theirs)
    assert script.found(TransformsDiffer) == [TEST_SET]


@pytest.mark.parametrize(
    ("theirs", "source"), [((0.1,), "MNIST"), ((0.12,), "MNIST"), ((), "Other"), ((), "MNIST ToImage")]
)
def test_the_same_numbers_other_data_and_other_conversions_are_fine(
    script: Script, theirs: tuple[float, ...], source: str
) -> None:
    scaled(script, (0.1,), theirs, source)
    assert script.found(TransformsDiffer) == []


def test_what_a_loop_computes_of_a_batch_may_be_the_same_scaling(script: Script) -> None:
    script.add(BatchReworked, "x = (x - 0.1) / 0.3", loader=2)
    scaled(script, (0.1,), ())
    assert script.found(TransformsDiffer) == []


def test_another_model_may_want_other_pictures(script: Script) -> None:
    scaled(script, (0.1,), (), other=True)
    assert script.found(TransformsDiffer) == []


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        (("RGB", "RGB"), "BGR", True),
        (("BGR", "BGR"), "RGB", True),
        (("RGB", "RGB"), "RGB", False),
        (("RGB", "BGR"), "BGR", False),
        (("RGB", None), "BGR", False),
        (("RGB", "RGB"), None, False),
    ],
)
def test_the_channels_come_in_one_order_in_all_of_training_and_in_the_test(
    script: Script, ours: tuple[str | None, str | None], theirs: str | None, *, found: bool, other: bool
) -> None:
    data(script, 1, "train_set = MNIST()")
    data(script, 2, TEST_SET)
    train_and_test(script, other=other, orders=(ours, theirs))
    assert script.found(TransformsDiffer) == [TEST_SET] * (found and not other)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        (("a", "a"), "b", True),
        (("a", "c"), "b", True),
        (("a", "b"), "b", False),
        (("a; c", "a; c"), "b; d", True),
        (("a; c", "a; c"), "a; d", False),
        (("a", None), "b", False),
        (("a", "a"), None, False),
    ],
)
def test_what_is_fitted_on_rows_is_that_of_the_training(
    script: Script, ours: tuple[str | None, str | None], theirs: str | None, *, found: bool
) -> None:
    data(script, 1, "train_set = MNIST()")
    data(script, 2, TEST_SET)
    train_and_test(script, orders=(ours, theirs), sort="fitted Scaler")
    assert script.found(TransformsDiffer) == [TEST_SET] * found


def test_texts_are_made_into_tokens_in_one_way(script: Script) -> None:
    data(script, 1, "train_set = MNIST()")
    data(script, 2, TEST_SET)
    train_and_test(script, orders=(("BERT", "BERT"), "RoBERTa"), sort=TOKENS)
    assert script.found(TransformsDiffer) == [TEST_SET]
