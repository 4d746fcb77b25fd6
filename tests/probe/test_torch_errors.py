"""Errors of torch are explained where their cause lies."""

from __future__ import annotations

from typing import Any

import pytest

from torch_doctor.probe.torch_errors import DTYPES, INPUT, LENGTHS

Run = Any
Write = Any

SCRIPT = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return {item}, torch.tensor(index % 2)

def main():
    loader = DataLoader(
        Rows(), batch_size=8)
    model = nn.Linear(4, 2)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model({given}), y)
        loss.backward()

main()
"""
BY_HAND = """
import torch
weight = torch.ones(3, requires_grad=True)
(weight * 2).sum().backward()
weight -= 0.1 * weight.grad
"""
CASES = {
    "data of NumPy": (
        SCRIPT.format(item="np.zeros(4)", given="x"),
        (
            "cause: the batches of `loader` are float64, the default of NumPy, and the weights of the model float32: "
            "convert the data with `.float()` where the dataset is created (train.py:16:9)"
        ),
    ),
    "samples of several lengths": (
        SCRIPT.format(item="torch.zeros(2 + index % 3)", given="x"),
        (
            "cause: the samples differ in length ([2] and [3]): give the loader at train.py:15:14 a `collate_fn` that pads them, "
            "for example with `torch.nn.utils.rnn.pad_sequence`"
        ),
    ),
    "an update in place": (
        BY_HAND,
        (
            "cause: the statement at train.py:5:1 changes a tensor that requires gradients in place: "
            "update parameters inside `with torch.no_grad():`, or let an optimizer do it"
        ),
    ),
}


@pytest.mark.parametrize(("script", "cause"), CASES.values(), ids=CASES)
def test_the_cause_of_an_error_is_named(script: str, cause: str, run: Run, write: Write) -> None:
    write("train.py", script)
    assert f"    {cause}\n" in run("scan", "train.py", "--probe", "--isolated").err


def test_a_dtype_that_the_data_do_not_have_is_not_blamed_on_them(run: Run, write: Write) -> None:
    write("train.py", SCRIPT.format(item="torch.zeros(4)", given="x.double()"))
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "must have the same dtype" in err
    assert "cause:" not in err


@pytest.mark.parametrize(
    ("words", "dtype"),
    [
        ("mat1 and mat2 must have the same dtype, but got Double and Float", "float64"),
        ("mat1 and mat2 must have the same dtype, but got Long and Float", "int64"),
        ("Input type (unsigned char) and bias type (float) should be the same", "uint8"),
        ("RNN input dtype (torch.float64) does not match weight dtype (torch.float32). Convert input", "float64"),
    ],
)
def test_what_layers_say_of_a_dtype_is_understood(words: str, dtype: str) -> None:
    found = INPUT.search(words)
    assert found
    said = next(filter(None, found.groups())).lower()
    assert DTYPES.get(said, said) == dtype


def test_lists_of_several_lengths_are_understood() -> None:
    assert LENGTHS.search("RuntimeError: each element in list of batch should be of equal size")
