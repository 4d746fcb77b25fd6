"""Random numbers that are the same in each run of a copy, and afterwards those that the script would have drawn."""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def undisturbed(torch: Any) -> Iterator[None]:
    """Whatever is drawn within, torch's, Python's and NumPy's next random numbers are what they would have been."""
    numpy = sys.modules.get("numpy.random")
    python, arrays = random.getstate(), None if numpy is None else numpy.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.set_state(arrays)


def seed(torch: Any, number: int) -> None:
    """Seed torch, Python and NumPy: a model may draw from any of them, as teacher forcing by `random.random()` does."""
    torch.manual_seed(number)
    random.seed(number)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(number)
