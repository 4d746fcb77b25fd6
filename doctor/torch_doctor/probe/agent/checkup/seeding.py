"""Which generators of random numbers the script seeds, and whether it draws from NumPy's without a seed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .telling import fact

SEEDED = 0x80000000
"""The first word of NumPy's generator where the system seeded it: an integer seed is its own first word (`mt19937.c`)."""
FRESH = (623, 624)
"""Where it stands in its 624 words until somebody draws from it: as releases 2 and 1 of NumPy count."""


class Seeding:
    """`torch` are the seeds of PyTorch, `numpy` tells whether NumPy's global generator is seeded; None where nobody can tell."""

    def __init__(self, catcher: Any) -> None:
        self._catcher = catcher
        self.torch: list[int] = []
        self.numpy: bool | None = None
        self._first = ""

    def install(self) -> None:
        """Wraps what seeds; torch and NumPy are loaded by then."""
        patches = self._catcher.watch.patches
        patches.replace(self._catcher.torch, "manual_seed", self._seeding)
        if "numpy" not in sys.modules:
            return
        random: Any = importlib.import_module("numpy.random")
        _, words, place, gauss, _ = random.get_state()
        untouched = place in FRESH and not gauss and int(words[0]) == SEEDED
        self._first = _state(random)
        self.numpy = False if untouched else None  # who seeds before torch is loaded is not heard
        for name in ("seed", "set_state"):
            patches.replace(random, name, self._seeding_numpy)

    def _seeding(self, original: Any) -> Any:
        def manual_seed(seed: Any) -> Any:
            if not self._catcher.recorder.quiet and not self._catcher.over:
                self.torch.append(int(seed))
            return original(seed)

        return manual_seed

    def _seeding_numpy(self, original: Any) -> Any:
        def seed(*arguments: Any, **keywords: Any) -> Any:
            given = next(iter(arguments), next(iter(keywords.values()), None))
            if not self._catcher.recorder.quiet and not self._catcher.over and given is not None:
                self.numpy = True
            return original(*arguments, **keywords)

        return seed

    def unseeded(self) -> bool:
        """Whether NumPy's global generator gave numbers up to the first update, and nobody had seeded it."""
        if self.numpy is not False or self._catcher.voided & {"values", "shapes"}:
            return False
        return _state(sys.modules["numpy.random"]) != self._first

    def facts(self) -> list[dict[str, Any]]:
        """The seeds."""
        seeds = ", ".join(map(str, dict.fromkeys(self.torch)))
        drawn = self.unseeded()
        return [
            fact("seeds", seeds or None, expected="one, set before any random number is drawn"),
            fact(
                "NumPy seeded",
                self.numpy,
                expected="yes: numbers are drawn from it" if drawn else "",
                group="generators",
            ),
            fact("numbers drawn from NumPy without a seed", drawn, group="generators"),
        ]

    def missing(self) -> list[str]:
        """What is to be seeded, in words."""
        found = [] if self.torch else ["no seed is set with `torch.manual_seed`, so a second run will differ"]
        if self.unseeded():
            found.append("NumPy draws random numbers without a seed (`numpy.random.seed`), so a second run will differ")
        return found


def _state(random: Any) -> str:
    """The state of NumPy's global generator, as something to compare."""
    name, words, *rest = random.get_state()
    return repr((name, words.tobytes(), rest))
