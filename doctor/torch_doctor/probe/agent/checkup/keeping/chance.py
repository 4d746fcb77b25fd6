"""The state of random numbers: Python's, NumPy's and torch's."""

from __future__ import annotations

import random
import sys
from typing import Any


class Chance:
    """The state of all global generators as it is now, and of some others."""

    def __init__(self, torch: Any, generators: tuple[Any, ...] = ()) -> None:
        self._torch = torch
        self._python = random.getstate()
        self._own = [(each, each.get_state()) for each in generators if isinstance(each, torch.Generator)]
        self._cpu = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if _has_cuda(torch) else []
        numpy = sys.modules.get("numpy.random")
        self._numpy = None if numpy is None else numpy.get_state()

    def restore(self) -> None:
        """The next random numbers are those that would have been drawn."""
        torch = self._torch
        random.setstate(self._python)
        torch.set_rng_state(self._cpu)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        if self._numpy is not None:
            sys.modules["numpy.random"].set_state(self._numpy)
        for generator, state in self._own:
            generator.set_state(state)

    def differences(self) -> int:
        """How many generators are in another state."""
        torch = self._torch
        now = Chance(torch, tuple(each for each, _ in self._own))
        found = [
            self._python != now._python,
            not torch.equal(self._cpu, now._cpu),
            self._numpy is not None and repr(self._numpy) != repr(now._numpy),
        ]
        found += [not torch.equal(*pair) for pair in zip(self._cuda, now._cuda)]
        found += [not torch.equal(one[1], other[1]) for one, other in zip(self._own, now._own)]
        return sum(found)


def _has_cuda(torch: Any) -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())
