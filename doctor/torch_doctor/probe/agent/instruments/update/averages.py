"""Averages of a model's earlier weights that it is evaluated with, and whether training goes on from them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

TENSORS, NUMBERS = 16, 512  # parameters of an optimizer that are compared, and numbers of each
VERSIONS = 64  # of the weights that are kept
CALLS = 64  # between two steps that are looked at
CLOSE = 1e-2  # how far an average may be off, relative to its distance from the weights after the last step
SHARE = 1e-3  # the least that a version counts in an average


class Evaluated:
    """A call with an average: where it was, its event, and of how many versions."""

    __slots__ = ("distance", "event", "here", "numbers", "versions")

    def __init__(self, here: Here, numbers: Any, versions: int, distance: float) -> None:
        self.here = here
        self.numbers = numbers
        self.versions = versions
        self.distance = distance
        self.event = -1


class Trained:
    """Parameters of an optimizer, and what some of their numbers were before its first step and after each."""

    __slots__ = ("calls", "evaluated", "parameters", "versions")

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = [weakref.ref(each) for each in parameters]
        self.versions: list[Any] = []
        self.evaluated: Evaluated | None = None
        self.calls = 0


class Instrument(Base):
    """Compares the weights of evaluations with those after the steps before, and with those that the next step starts from."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._trained: IdentityMap[Trained] = IdentityMap()
        self._asked: list[Evaluated] = []  # by the call that is under way

    def before_step(self, optimizer: Any, here: Here) -> None:
        """What training goes on from is known."""
        known = self._trained.get(optimizer)
        if known is None:
            given = [each for group in optimizer.param_groups for each in group["params"] if each.is_floating_point()]
            given = sorted((each for each in given if each.requires_grad), key=lambda each: -each.numel())
            known = self._trained[optimizer] = Trained(given[:TENSORS])
        numbers = self._numbers(known)
        if numbers is None or len(known.versions) >= VERSIONS:
            return
        if not known.versions or not self.watch.torch.equal(numbers, known.versions[-1]):
            known.versions.append(numbers)
        seen, known.evaluated = known.evaluated, None
        if seen is not None and seen.event >= 0:
            kept = self.watch.torch.equal(numbers, seen.numbers)
            fields = {"forward": seen.event, "kept": kept, "tensors": seen.versions, "distance": seen.distance}
            self.watch.recorder.event("AverageKept", seen.here, **fields)

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """There is another version of the weights."""
        known = self._trained.get(optimizer) if optimizer is not None else None
        numbers = self._numbers(known) if known is not None and len(known.versions) < VERSIONS else None
        if known is not None and numbers is not None:
            known.versions.append(numbers)
            known.calls = 0

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A call with autograd off may evaluate something else than what the last step left."""
        self._asked.clear()
        if self.watch.torch.is_grad_enabled():
            return
        own = {id(each) for each in module.parameters()}
        for known in self._trained.values():
            if known.evaluated is None and 1 < len(known.versions) < VERSIONS and known.calls < CALLS:
                first = known.parameters[0]() if known.parameters else None
                if first is not None and id(first) in own:
                    known.calls += 1
                    self._compare(known, here)

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """The call was written."""
        for each in self._asked:
            each.event = event
        self._asked.clear()

    def _numbers(self, known: Trained) -> Any:
        """Some of the numbers that the parameters have now; None where one of them is gone."""
        parameters: list[Any] = [each() for each in known.parameters]
        if not parameters or any(each is None for each in parameters):
            return None
        with self.watch.unwatched():
            parts = [each.detach().flatten()[:NUMBERS].to("cpu", self.watch.torch.float64) for each in parameters]
            return self.watch.torch.cat(parts)

    def _compare(self, known: Trained, here: Here) -> None:
        numbers = self._numbers(known)
        if numbers is None or self.watch.torch.equal(numbers, known.versions[-1]):
            return
        with self.watch.unwatched():
            count = versions(self.watch.torch, numbers, known.versions)
            if count > 1:
                last = known.versions[-1]
                distance = float((numbers - last).norm()) / (float(last.norm()) or 1.0)
                known.evaluated = Evaluated(here, numbers, count, distance)
                self._asked.append(known.evaluated)


def versions(torch: Any, numbers: Any, earlier: list[Any]) -> int:
    """Of how many earlier versions some numbers are a mean with positive weights; 0 where they are none, or too few to tell."""
    last = earlier[-1]
    ways = [each - last for each in earlier[:-1] if not torch.equal(each, last)]
    moved = numbers - last
    if not ways or numbers.numel() < 2 * len(ways):
        return 0
    slack = CLOSE * float(moved.norm()) + 1e-7 * float(last.norm())
    while ways:
        matrix = torch.stack(ways, dim=1)
        shares = torch.linalg.lstsq(matrix, moved.unsqueeze(1), driver="gelsd").solution.flatten()
        if bool((shares >= 0).all()):
            rest = 1 - float(shares.sum())
            close = float((matrix @ shares - moved).norm()) <= slack and rest >= -CLOSE
            return int((shares > SHARE).sum()) + (rest > SHARE) if close else 0
        ways = [way for way, share in zip(ways, shares.tolist(), strict=True) if share > 0]
    return 0
