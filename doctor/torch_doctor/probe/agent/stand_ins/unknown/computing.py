"""Functions and layers of modules that are not there: a rehearsal finds out what the script wants them to return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rehearsal import rehearsals
from ..batches.finding import BatchFinder
from ..batches.rehearsing import RehearsedPass
from ..batches.wanted import Wanted
from .results import ResultMaker, tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = 8
SCALAR = {"form": "tensor"}


class Computing:
    """What is known of what the stand-ins of one run return, by their keys."""

    def __init__(self, torch: Any, sources: Any) -> None:
        self._torch = torch
        self._sources = sources
        self._known: dict[str, ResultMaker] = {}
        RehearsedPass.heard.append(self.learn)

    def value(self, key: str, given: Any, weight: Any, parts: Sequence[Any], fail: Callable[[], Exception]) -> Any:
        """What the stand-in of this key returns for what it is given.

        Raises:
            Exception: what `fail` makes, where no rehearsal finds out what it is to return.
        """
        inputs = [each for each in tensors_in(given, self._torch) if type(each) is not Wanted]
        passing = RehearsedPass.current
        if passing is not None:
            return self._wanted(passing, key, given, trained=weight is not None)
        if key not in self._known:
            answer = self._rehearsed()
            if answer is rehearsals:
                return self._wanted(RehearsedPass.current, key, given, trained=weight is not None)
            if key not in self._known:
                alike = next((self._known[each] for each in self._known if _name(each) == _name(key)), None)
                if alike is None and any(each.requires_grad for each in inputs):
                    raise fail()
                self._known[key] = alike or ResultMaker(self._torch, SCALAR, ())
        return self._known[key].of(inputs, weight, parts)

    def learn(self, answer: Any) -> None:
        """Keeps what a rehearsal has found out."""
        for key, learnt, shapes in (answer or {}).get("results", ()):
            self._known[key] = ResultMaker(self._torch, learnt, shapes)

    def _rehearsed(self) -> Any:
        return RehearsedPass.rehearse(RehearsedPass(self._torch, None, None))

    def _wanted(self, passing: Any, key: str, given: Any, *, trained: bool) -> Any:
        """In a rehearsal: something of which the use tells what it has to be; inside of a trial, what went in."""
        there = [each for each in tensors_in(given, self._torch) if type(each) is not Wanted]
        rows = next((each.shape[0] for each in there if each.dim()), ROWS)
        finder = passing.found_by(BatchFinder(self._torch, self._sources, rows))
        taken = given if finder.is_trying else finder.given(given)
        inputs = [each for each in tensors_in(taken, self._torch) if type(each) is not Wanted]
        known = self._known.get(key)
        if known is not None:
            return known.of(inputs, self._torch.ones((), requires_grad=True), ())
        if finder.is_trying:
            return inputs[0] if inputs else None
        return Wanted(finder.result(key, inputs, trained=trained))


def _name(key: str) -> str:
    """The name of what stands in, without its number."""
    return key.rpartition(" ")[0]
