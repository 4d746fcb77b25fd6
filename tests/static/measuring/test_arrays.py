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
OTHERS = [
    *("a", "a[:, 2]", "a[:, [0, 2]]", "a[np.arange(5)]", "a[rows[:4]]", "a[a[:, 0] > 0]", "a[rows, 0]"),
    *("np.random.normal(size=5)", "np.random.normal(0, 1, (5, 1))", "np.random.normal(a[:, 0], 0.1)", "rows"),
    *("np.random.uniform(-1, 1, 5)", "np.random.uniform(a, a + 1)", "np.random.random((5, 2))", "np.random.rand(3, 2)"),
    *("np.random.randint(0, 5, 7)", "np.random.randint(5, size=(2, 2))", "np.random.poisson(3, size=7)"),
    *("np.random.binomial(1, np.ones(4) / 2, size=None)", "np.random.triangular(0, 1, 2, 5)"),
    *("np.random.choice(5, 7)", "np.random.choice([1.5, 2], size=(3, 1))", "np.random.permutation(a)"),
    *(
        "rng.normal(size=(6, 2)).astype(np.float32)",
        "rng.standard_normal(5)",
        "rng.random((5, 2))",
        "rng.permutation(7)",
    ),
    *("rng.integers(0, 3, size=7)", "rng.integers(3, size=(2, 1))", "rng.uniform(-1, 1, (5, 2))", "rng.choice(a, 4)"),
    *("rng.choice(a, size=(4, 2))", "rng.exponential(1.5, 6)", "rng.normal(a, 0.1)", "rng.choice(6, 3, replace=False)"),
    *("old.randn(5, 2)", "old.rand(5)", "old.randint(0, 4, 7)", "old.normal(0, 1, (5, 2))", "old.permutation(5)"),
    *("np.linspace(0, 1, 7)", "np.linspace(0, 1, num=7)", "np.linspace(a[0], 1, 5)", "np.sin(np.linspace(-1, 1, 9))"),
    *("np.arange(7)", "np.arange(0, 7, 2)", "np.arange(0, 1, 0.1)", "np.sin(np.arange(7) / 12)", "np.arange(7)[:3]"),
    *("np.arange(6).reshape(-1, 2)", "np.arange(7) * 2", "np.repeat(np.arange(3), 4)", "np.unique(np.arange(7) % 3)"),
    *(
        "(a[:, 0] > 0).astype(np.int64)",
        "((a[:, 0] > 0) & (a[:, 1] != 0)).astype('float32')",
        "~(a > 0)",
        "a[:, 0] == 0",
    ),
    *("(a[:, 0] - 1.5 * a[:, 1] + 0.1 * rng.normal(size=9) > 0.4).astype(int)", "np.where(a > 0, 1, 0)"),
    *(
        "np.where(a[:, 0] > 0)[0]",
        "np.logical_and(a > 0, a < 1).astype(float)",
        "np.digitize(a[:, 0], np.array([0.0]))",
    ),
    *("np.stack([a[:, 0], a[:, 1]], axis=1)", "np.column_stack([a[:, 0], a[:, 1]])", "np.vstack([a[:, 0], a[:, 1]]).T"),
    *("np.vstack([a, a])", "np.hstack([a, a])", "np.hstack([a[:, 0], a[:, 1]])", "np.concatenate([a, a], axis=1)"),
    *(
        "a @ np.ones(3)",
        "a.dot(np.ones((3, 1)))",
        "np.matmul(a, np.ones(3))",
        "np.outer(a[:, 0], a[:, 1])",
        "np.dot(a, 2)",
    ),
    *("a.max(axis=1)", "a.std(0)", "(a - a.mean(axis=0)) / a.std(axis=0)", "np.mean(a, 1, keepdims=True)", "a.min()"),
    *(
        "np.ones((4, 5, 6)).transpose(2, 0, 1)",
        "np.transpose(np.ones((4, 5, 6)), (2, 0, 1))",
        "a.transpose()",
        "a.ravel()",
    ),
    *("np.cumsum(a)", "np.cumsum(a, axis=0)", "a.argsort()", "np.argsort(a[:, 0])", "a[:, 0].argsort()", "a.repeat(2)"),
    *("np.power(a, 2)", "np.maximum(a, 0)", "np.sign(a)", "np.square(a)", "np.sum(a, 1)", "np.all(a > 0, axis=1)"),
    *("np.diff(a) * np.ones(2)", "np.atleast_2d(a[:, 0]) * a[:, 0]", "a[:, 0] - np.expand_dims(a[:, 0], 1)"),
    *("np.arange(4) + a[:4, :1]", "np.linspace(0, 1)", "np.eye(3)[np.arange(7) % 3]", "np.median(np.arange(7))"),
]
"""Of what is drawn, counted and compared."""
GIVEN = """
np.random.seed(0)
a = np.random.randn(9, 3)
rng, old = np.random.default_rng(0), np.random.RandomState(0)
rows = np.random.permutation(9)
"""
OF_IT = ["torch.as_tensor({0})", "torch.from_numpy({0})", "torch.tensor({0})", "torch.tensor([{0}, {0}])"]
PYTHON = ["np.array([1.5, 2.5])", "np.array([1, 2])", "np.array([True])", "np.array([[1.5], [2]])", "np.array([])"]
"""Without a dtype."""


@pytest.fixture
def heard(write: Callable[..., Path]) -> Callable[[list[str]], list[LossCalled]]:
    """What losses of these expressions got."""

    def losses(expressions: list[str]) -> list[LossCalled]:
        listener = Listener()
        lines = (f"F.mse_loss({each}, x)" for each in expressions)
        text = "\n".join((HEAD, "import numpy as np", GIVEN, *lines))
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


def test_what_is_known_of_what_numpy_draws_or_counts_is_what_it_gives(
    heard: Callable[[list[str]], list[LossCalled]],
) -> None:
    names = {"torch": torch, "np": np}
    exec(GIVEN, names)  # noqa: S102 - the lines above
    losses = heard([f"torch.as_tensor({each})" for each in OTHERS])
    found = [(each, loss.input, eval(loss.input.name, names)) for each, loss in zip(OTHERS, losses, strict=True)]  # noqa: S307 - as above
    wrong = [
        (each, fact.dtype, fact.shape, real.dtype, real.shape) for each, fact, real in found if not fits(fact, real)
    ]
    assert not wrong
    vague = [each for each, fact, _ in found if fact.shape is None or not fact.dtype]
    assert len(vague) < len(OTHERS) / 8, vague


def test_most_of_the_usual_dtypes_are_known(heard: Callable[[list[str]], list[LossCalled]]) -> None:
    expressions = [f"torch.as_tensor({made.format(name)})" for made in MADE for name in ("np.float32", "np.int64")]
    losses = heard(expressions)
    vague = [each for each, loss in zip(expressions, losses, strict=True) if not loss.input.dtype]
    assert len(vague) < len(expressions) / 6, vague
