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

    __slots__ = ("calls", "evaluated", "model", "names", "parameters", "statistics", "versions")

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = [weakref.ref(each) for each in parameters]
        self.versions: list[Any] = []
        self.statistics: list[Any] = []  # the running means of the first batch norm, with each version
        self.model: Any = None  # the module that was called to train them
        self.names: list[str] = []  # those of the parameters in it
        self.evaluated: Evaluated | None = None
        self.calls = 0


class Instrument(Base):
    """Compares the weights of evaluations with those after the steps before, and with those that the next step starts from."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._trained: IdentityMap[Trained] = IdentityMap()
        self._asked: list[Evaluated] = []  # by the call that is under way
        self._norms_ran: dict[str, Any] | None = None  # what to write of that call
        self._told: set[tuple[int, int]] = set()

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
            known.statistics += [each.running_mean.detach().clone() for each in self._norms(known.model)[:1]]

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A call with autograd off may evaluate something else than what the last step left."""
        self._asked.clear()
        self._norms_ran = None
        own = {id(each): name for name, each in module.named_parameters()}
        for known in self._trained.values():
            if self.watch.torch.is_grad_enabled():
                self._trains(known, module, own)
            elif 1 < len(known.versions) < VERSIONS and known.calls < CALLS:
                first = known.parameters[0]() if known.parameters else None
                known.calls += 1
                if known.evaluated is None and first is not None and id(first) in own:
                    self._compare(known, here)
                self._look_at_norms(known, module)

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """The call was written."""
        for each in self._asked:
            each.event = event
        self._asked.clear()
        if self._norms_ran is not None:
            self.watch.recorder.event("AveragedNormsRan", here, forward=event, **self._norms_ran)
            self._norms_ran = None

    # --- batch norm ---

    def _trains(self, known: Trained, module: Any, own: dict[int, str]) -> None:
        """The parameters are trained in this module, by which their names are known."""
        parameters = [each() for each in known.parameters]
        if known.model is None and all(id(each) in own for each in parameters):
            known.model, known.names = module, [own[id(each)] for each in parameters]

    def _norms(self, module: Any) -> list[Any]:
        """The batch norm layers of a module that have statistics."""
        kind = self.watch.torch.nn.modules.batchnorm._BatchNorm
        parts = [] if module is None else module.modules()
        return [each for each in parts if isinstance(each, kind) and each.running_mean is not None]

    def _look_at_norms(self, known: Trained, module: Any) -> None:
        """Whether averaged weights are evaluated with the statistics of others."""
        norms, key = self._norms(module), (id(module), len(known.versions))
        if known.model is None or not norms or key in self._told or any(each.training for each in norms):
            return
        of = dict(module.named_parameters())
        parts = [of.get(name, of.get(f"module.{name}", of.get(name.removeprefix("module.")))) for name in known.names]
        old = [each() for each in known.parameters]
        if any(a is None or b is None or a.shape != b.shape for a, b in zip(parts, old, strict=True)):
            return
        self._told.add(key)
        with self.watch.unwatched():
            count = versions(self.watch.torch, self._of(parts), known.versions)
            if count > 1:
                mean, spread = norms[0].running_mean.detach(), norms[0].running_var
                initial = not bool(mean.any()) and (spread is None or bool((spread == 1).all()))
                same = any(self.watch.torch.equal(mean, each.to(mean.device)) for each in known.statistics)
                number = self.watch.recorder.references.number(module)
                fields = {"module": number, "norms": len(norms), "versions": count, "initial": initial}
                self._norms_ran = {**fields, "renewed": not (initial or same)}

    def _numbers(self, known: Trained) -> Any:
        """Some of the numbers that the parameters have now; None where one of them is gone."""
        parameters: list[Any] = [each() for each in known.parameters]
        if not parameters or any(each is None for each in parameters):
            return None
        return self._of(parameters)

    def _of(self, parameters: list[Any]) -> Any:
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
    finite = bool(torch.isfinite(torch.stack([numbers, *earlier])).all())
    if not ways or not finite or numbers.numel() < 2 * len(ways):
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
