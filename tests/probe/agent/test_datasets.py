"""What is watched of datasets leaves the libraries as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm")


def test_a_class_that_draws_stays_a_class(run: Any, write: Callable[..., Any]) -> None:
    script = """
import pickle
import torch
import numpy as np
either = np.random.Generator | np.random.RandomState
state = np.random.RandomState(3)
assert isinstance(state, np.random.RandomState) and isinstance(state, either)
assert isinstance(np.random.mtrand._rand, np.random.RandomState)
assert not isinstance(3, np.random.RandomState)
assert pickle.loads(pickle.dumps(state)).randint(9) == state.randint(9)

class Own(np.random.RandomState):
    pass

assert isinstance(Own(3), Own) and not isinstance(state, Own)
"""
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "fails" not in outcome.err, outcome.err
