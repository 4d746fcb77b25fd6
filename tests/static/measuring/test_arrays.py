"""Dtypes and shapes of NumPy's arrays and of tensors made of them: whatever the dtype, what is said is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from tests.static.measuring.test_measuring import HEAD, Listener, fits
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.trace import LossCalled

NAMES = [
    *("np.float16", "np.float32", "np.float64", "np.longdouble", "np.single", "np.double", "float", "np.half"),
    *(
        "np.int8",
        "np.int16",
        "np.int32",
        "np.int64",
        "np.intp",
        "int",
        "np.uint8",
        "np.uint16",
        "np.uint32",
        "np.uint64",
    ),
    *("np.bool_", "bool", "np.complex64", "np.complex128", "complex", "object", "str", "bytes", "np.datetime64"),
    *('"f4"', '">f4"', '"<i2"', '"u1"', '"float32"', '"uint8"', '"?"', '"S3"', '"datetime64[D]"', "np.dtype('u1')"),
    *('[("a", "f4"), ("b", "i8")]', "np.dtype([('a', 'f4')])", "np.zeros(2, dtype=np.uint16).dtype", "None"),
]
"""What may be written as a dtype."""
MADE = [
    *(
        "np.zeros(3, dtype={0})",
        "np.zeros(3, {0})",
        "np.zeros((2, 3), {0})",
        "np.ones(3, dtype={0})",
        "np.empty((3,), {0})",
    ),
    *(
        "np.full((2,), 1, dtype={0})",
        "np.full((2,), 1.5, {0})",
        "np.array([1, 0], dtype={0})",
        "np.array([1.5, 2], {0})",
    ),
    *("np.array([np.zeros(3, dtype={0})])", "np.array([np.zeros(3, dtype={0}), np.ones(3)])", "np.asarray([[1]], {0})"),
    *("np.array([np.zeros(3, {0}), np.zeros(3, 'uint8')])", "np.stack([np.zeros(3, {0}), np.ones(3, np.int8)])"),
    *("np.arange(3, dtype={0})", "np.arange(0, 3, 1, {0})", "np.eye(2, dtype={0})", "np.linspace(0, 1, 4, dtype={0})"),
    *("np.zeros_like(np.ones(2, dtype={0}))", "np.ones_like(np.ones(2), {0})", "np.full_like(np.ones(2), 1, {0})"),
    *("np.ones((2, 2)).astype({0})", "np.ones(2, dtype={0}).astype('float32')", "np.ones(2, {0}).reshape(1, 2)"),
    *(
        "np.concatenate([np.ones(2, dtype={0}), np.ones(2, dtype={0})])",
        "np.ones(2, {0})[None]",
        "np.ones((2, 2), {0}).T",
    ),
    *("np.ones((2, 2), {0}).sum(0)", "np.ones(2, {0}).mean()", "np.ones(2, {0}) + 1", "np.ones(2, {0}) * 0.5"),
    *("np.ones(2, {0}) + np.ones(2, np.int8)", "np.array([1, 2], {0}, ndmin=2)", "np.array(3, {0})"),
    *("np.ones((2, 3), {0}).sum(axis=1, keepdims=True)", "np.mean(np.ones((2, 3), {0}), axis=0, keepdims=True)"),
    *("np.random.rand(2, 3).astype({0})", "np.random.normal(0, 1, (2, 3)).astype({0})", "np.pi * np.ones(2, {0})"),
    *("np.random.randn(4)[:, None].astype({0})", "np.random.randint(0, 5, (2, 3)).astype({0})"),
    *("np.sqrt(np.ones(2, {0}))", "np.abs(np.ones(2, {0}))", "np.mean(np.ones(2, {0}))", "np.ones(2, {0}) / 2"),
    *("np.clip(np.ones(2, {0}), 0, 1)", "np.where(np.ones(2) > 0, np.ones(2, {0}), 0)", "np.float32(np.ones(2, {0}))"),
]
"""Where it may be written."""
OF_IT = ["torch.as_tensor({0})", "torch.from_numpy({0})", "torch.tensor({0})", "torch.tensor([{0}, {0}])"]
PYTHON = ["np.array([1.5, 2.5])", "np.array([1, 2])", "np.array([True])", "np.array([[1.5], [2]])", "np.array([])"]
"""Without a dtype."""


@pytest.fixture
def heard(write: Callable[..., Path]) -> Callable[[list[str]], list[LossCalled]]:
    """What losses of these expressions got."""

    def losses(expressions: list[str]) -> list[LossCalled]:
        listener = Listener()
        lines = (f"F.mse_loss({each}, x)" for each in expressions)
        text = "\n".join((HEAD, "import numpy as np", *lines))
        report = scan(Options(paths=(write("train.py", text),), rules=(listener,)))
        assert report.errors == []
        assert len(listener.heard) == len(expressions)
        return listener.heard

    return losses


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_of_an_array_is_what_numpy_makes_of_it(
    name: str, heard: Callable[[list[str]], list[LossCalled]]
) -> None:
    arrays = PYTHON if name == "None" else [made.format(name) for made in MADE]
    expressions = [of.format(array) for array in arrays for of in OF_IT]
    names = {"torch": torch, "np": np}
    losses = heard(expressions)
    wrong = []
    for expression, loss in zip(expressions, losses, strict=True):
        try:
            tensor = eval(expression, names)  # noqa: S307 - the lines above
        except (TypeError, ValueError, RuntimeError, AttributeError):
            continue  # torch has no such dtype, or NumPy makes no such array
        fractions = loss.input.dtype == "floating" and tensor.is_complex()  # nothing computes a loss of these
        if not fits(loss.input, tensor) and not fractions:
            wrong.append((expression, loss.input.dtype, loss.input.shape, tensor.dtype, tuple(tensor.shape)))
    assert not wrong


def test_most_of_the_usual_dtypes_are_known(heard: Callable[[list[str]], list[LossCalled]]) -> None:
    expressions = [f"torch.as_tensor({made.format(name)})" for made in MADE for name in ("np.float32", "np.int64")]
    losses = heard(expressions)
    vague = [each for each, loss in zip(expressions, losses, strict=True) if not loss.input.dtype]
    assert len(vague) < len(expressions) / 6, vague
