"""Tries tensors where values are wanted: first without numbers, under fake tensors, and with numbers where they count."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import warnings
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

from .parts import Part, Spec
from .wanted import Applied, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TRIES, SECONDS = 2_000, 6.0  # for one call, of what is computed
TOGETHER = 60  # candidates of each of several parts
FEW = 2  # whole numbers below it are indices of whatever they may be used for


class NotFoundError(Exception):
    """Nothing that was tried fits."""


class Trials:
    """What is known of a batch, and tried of what is not; `found` are the tensors that were found, in this order.

    `spent` are the seconds that it took.
    """

    def __init__(self, torch: Any) -> None:
        self.found: list[Spec] = []
        self.spent = 0.0
        self._torch = torch
        self._trial: Any = None

    def fit(
        self, several: Sequence[Sequence[Spec]], missing: list[Part], call: Callable[[Any], Any], whole: Any
    ) -> bool:
        """Whether a choice of candidates was found with which the call goes through; the parts are known then."""
        began = monotonic()
        try:
            return self._fit(several, missing, call, whole)
        finally:
            self.spent += monotonic() - began

    def _fit(
        self, several: Sequence[Sequence[Spec]], missing: list[Part], call: Callable[[Any], Any], whole: Any
    ) -> bool:
        until = thread_time() + SECONDS
        state = self._torch.random.get_rng_state()
        for choice in itertools.islice(_choices(several), TRIES):
            if thread_time() > until:
                break
            goes = self._goes(missing, choice, call, whole)
            self._torch.random.set_rng_state(state)
            if goes:
                self._settle(missing, self._in_range(missing, choice, call, whole))
                return True
        return False

    @property
    def under_way(self) -> bool:
        """Whether something is being tried."""
        return self._trial is not None

    def settle(self, part: Part, spec: Spec) -> None:
        """Has a part be a tensor of this kind, without a trial."""
        part.know(spec, spec.made(self._torch))
        self.found.append(spec)

    def _goes(self, missing: list[Part], choice: Sequence[Spec], call: Callable[[Any], Any], whole: Any) -> bool:
        """Whether the call goes through with a choice, computed without numbers where it does not depend on them."""
        fake = importlib.import_module("torch._subclasses.fake_tensor")
        self._trial = object()
        try:
            with _in_silence(fake.__name__), fake.FakeTensorMode(allow_non_fake_inputs=True):
                self._put(missing, choice)
                call(self.evaluated(whole))
        except (fake.DataDependentOutputException, fake.DynamicOutputShapeException):
            return self._works(missing, choice, call, whole)
        except Exception:  # noqa: BLE001 - whatever a model raises that does not get what it wants
            return False
        finally:
            self._trial = None
        return True

    def _works(self, missing: list[Part], choice: Sequence[Spec], call: Callable[[Any], Any], whole: Any) -> bool:
        """The same with numbers."""
        self._trial = object()
        try:
            with _in_silence(""), self._torch.no_grad():
                self._put(missing, choice)
                call(self.evaluated(whole))
        except Exception:  # noqa: BLE001 - as above
            return False
        finally:
            self._trial = None
        return True

    def _put(self, missing: list[Part], choice: Sequence[Spec]) -> None:
        for part, spec in zip(missing, choice):  # noqa: B905 - Python 3.9 has no `strict`
            part.trial = (self._trial, spec.made(self._torch))

    def _in_range(
        self, missing: list[Part], choice: Sequence[Spec], call: Callable[[Any], Any], whole: Any
    ) -> Sequence[Spec]:
        """The choice with whole numbers so small that they are indices of whatever they are used for."""
        large = [place for place, spec in enumerate(choice) if spec.high > FEW]
        smaller = [[place] for place in reversed(large)] + [large]
        for places in [[], *smaller] if large else ():
            lowered = [each._replace(high=FEW) if place in places else each for place, each in enumerate(choice)]
            if self._works(missing, lowered, call, whole):
                return lowered
        return choice

    def _settle(self, missing: list[Part], choice: Sequence[Spec]) -> None:
        for part, spec in zip(missing, choice):  # noqa: B905 - Python 3.9 has no `strict`
            self.settle(part, spec)

    def evaluated(self, thing: Any) -> Any:
        """The same with tensors where wanted values are."""
        if type(thing) is Wanted:
            return self._of(thing._node)
        if type(thing) in (tuple, list):
            return type(thing)(self.evaluated(each) for each in thing)
        if type(thing) is dict:
            return {key: self.evaluated(each) for key, each in thing.items()}
        return thing

    def _of(self, node: Any) -> Any:
        if node.value is not None:
            return node.value
        if self._trial is not None and node.trial is not None and node.trial[0] is self._trial:
            return node.trial[1]
        if isinstance(node, Part):
            return Wanted(node) if self._trial is None else _raise()
        made = node.function(*self.evaluated(node.arguments), **self.evaluated(node.keywords))
        if self._trial is None:
            node.value = made
        else:
            node.trial = (self._trial, made)
        return made


def _raise() -> Any:
    raise NotFoundError


@contextlib.contextmanager
def _in_silence(name: str) -> Iterator[None]:
    """Nobody hears what torch says of tensors that do not fit, in warnings or to the logger of a module."""
    logger = logging.getLogger(name or __name__)
    logger.disabled, before = True, logger.disabled
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = before


def unknown(thing: Any) -> Iterator[Part]:
    """The parts that are not known, of all in a value."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        each = waiting.pop(0)
        if type(each) is Wanted:
            waiting.append(each._node)
        elif isinstance(each, Applied):
            if each.value is None:
                waiting += [each.arguments, each.keywords]
        elif isinstance(each, Part):
            if each.value is None and id(each) not in seen:
                seen.add(id(each))
                if each.parts:
                    waiting += each.parts.values()
                else:
                    yield each
        elif type(each) in (tuple, list):
            waiting += each
        elif type(each) is dict:
            waiting += each.values()


def leaves(thing: Any) -> Iterator[Any]:
    """All in a value that is no container of Python's."""
    if type(thing) in (tuple, list):
        for each in thing:
            yield from leaves(each)
    elif type(thing) is dict:
        for each in thing.values():
            yield from leaves(each)
    else:
        yield thing


def _choices(several: Sequence[Sequence[Spec]]) -> Iterator[tuple[Spec, ...]]:
    """One candidate for each part: the same for all first, then those that come first in their lists."""
    if len(several) == 1:
        yield from ((each,) for each in several[0])
        return
    first = [list(each)[:TOGETHER] for each in several]
    yield from zip(*first)  # noqa: B905 - all are as long
    places = itertools.product(*(range(len(each)) for each in first))
    ordered = sorted(itertools.islice(places, TOGETHER**2), key=sum)
    yield from (tuple(each[place] for each, place in zip(first, chosen)) for chosen in ordered)  # noqa: B905 - as above
