"""Folders of pictures that are not there, and pools that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

MASKS = """
from functools import partial
from multiprocessing import Pool
from os import listdir, path
from pathlib import Path

import numpy as np
import torch
from PIL import Image

names = [path.splitext(name)[0] for name in listdir("data/pictures")]


def values_of(name, folder, suffix):
    return np.unique(np.asarray(Image.open(list(folder.glob(name + suffix + ".*"))[0])))


with Pool() as pool:
    found = list(pool.imap(partial(values_of, folder=Path("data/masks"), suffix="_mask"), names))
assert len(found) == len(names) > 0
assert np.unique(np.concatenate(found)).tolist() == [0, 1]
print("read", torch.zeros(1))
"""


POOL = """
from multiprocessing import Pool

import torch


def doubled(number):
    return 2 * number


with Pool(2) as pool:
    assert pool.map(doubled, [1, 2, 3]) == [2, 4, 6]
print(torch.zeros(1))
"""


def test_a_pool_is_one_thread_where_torch_was_imported_before_it(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", POOL)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "refused" not in err
    assert "one thread instead of `multiprocessing.Pool` (2 processes)" in err


def test_masks_have_the_names_that_a_pool_asks_for(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("PIL")
    write("train.py", MASKS)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "under the requested names instead of `data/masks` (data not found)" in err
    assert "one thread instead of `multiprocessing.Pool`" in err
