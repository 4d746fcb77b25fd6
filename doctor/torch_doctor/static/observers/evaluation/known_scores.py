"""What is known to come of forwards: their results, whether each row's is right, and scores of single batches."""

from __future__ import annotations

from collections.abc import Hashable  # noqa: TC003 - msgspec reads the annotation
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.measuring import measured
from torch_doctor.static.observers.evaluation.batch_scores import named_call
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.merits import adds_up
from torch_doctor.static.values import Const, Making, Method, Plain, Tensor, Tool, Unknown
from torch_doctor.trace import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Call, Symbol, Value

_DATA, _HITS, _SCORE = 0, 1, 2
"""What is known to come of forwards: their results, whether each row's is right, and a figure for the batch."""
_METRICS: Final = ("sklearn.metrics.", "torchmetrics.functional.")
FOLLOWED: Final = ("torch.", "numpy.", "builtins.", "math.", *_METRICS)
_SUMMARIES: Final = frozenset(words("sum mean count_nonzero average"))
_SAME: Final = frozenset(
    words("item float int round cpu detach numpy tolist clone sqrt exp mean sum double half str abs")
)
"""Functions that leave a score what it is, or say it in another unit."""
_BOUNDS: Final = frozenset(words("max min maximum minimum clamp clip"))
"""Functions that keep a score within constant bounds."""
_FORWARD: Final = frozenset(words("__call__ forward"))
_SCALED: Final = frozenset(words("* / mul div"))
_ADDED: Final = frozenset(words("+ - add sub"))


class ScoreOrigin(Struct, frozen=True):
    """What a value comes from: `roots` are the values that became scores first, `alive` keeps the value's id its own."""

    level: int
    forwards: frozenset[int]
    roots: frozenset[Hashable] = frozenset()
    alive: object = None


class KnownScores(Knowledge):
    """What values of this run come from.

    The object of a metric that is called adds the batch to all others, and returns the score of this one.
    """

    tallies: dict[Hashable, int] = per_run(dict)
    """The objects of metrics that returned roots."""
    _known: dict[Hashable, ScoreOrigin] = per_run(dict)  # by the symbol of a number, or the id of a tensor

    def score(self, value: Value) -> ScoreOrigin | None:
        """What a score comes from; None for anything else."""
        found = self._of(value) if isinstance(value, (Tensor, Plain, Unknown)) else None
        return found if found is not None and found.level == _SCORE else None

    def follow(self, func: Value, call: Call, result: Value) -> None:
        """Follow results of forwards through a function that is known."""
        if not isinstance(result, (Plain, Tensor, Unknown)) or self.score(result) is not None:
            return
        name, given = named_call(func, call)
        known = [found for value in given if (found := self._of(value)) is not None]
        if not known:
            return
        tally = _tally(func, call)
        level = _SCORE if tally else self._level(name, known, result, given) if name else None
        if level is None or (level < _SCORE and not (isinstance(result, Plain) or result.flow.forwards)):
            return
        key = id(result) if isinstance(result, Tensor) else result.symbol
        roots = frozenset[object]().union(*(each.roots for each in known)) or frozenset((key,))
        if tally:
            self.tallies[key] = tally
        forwards = frozenset[int]().union(*(each.forwards for each in known))
        self._known.setdefault(key, ScoreOrigin(level, forwards, roots if level == _SCORE else frozenset(), result))

    def _level(self, name: str, known: list[ScoreOrigin], result: Value, given: tuple[Value, ...]) -> int | None:
        level, short = max(each.level for each in known), name.rpartition(".")[2]
        if level == _SCORE:
            bounded = short in _BOUNDS and sum(isinstance(each, Const) for each in given) == len(given) - 1
            return _SCORE if (short in _SAME or bounded) and len(known) == 1 else None
        if isinstance(result, Unknown):
            return None
        if name.startswith(_METRICS):
            return _SCORE
        if short == "eq":
            return _HITS
        if level == _HITS and short in _SUMMARIES:
            whole = (
                len(given) == 1 if isinstance(result, Plain) else isinstance(result, Tensor) and result.scalar is True
            )
            return _SCORE if whole else None
        return level

    def _of(self, value: Value) -> ScoreOrigin | None:
        """What a value is known to come from."""
        if isinstance(value, Tensor):
            found = self._known.get(id(value))
            if found is not None or not value.flow.forwards or value.flow.sums:
                return found
            if value.scalar is True and (value.flow.means or value.kind is Kind.LOSS):
                terms = None if value.flow.means else self._calculated(value)
                roots = value.flow.means or (frozenset((id(value),)) if terms is None else terms.roots)
                found = self._known[id(value)] = ScoreOrigin(_SCORE, value.flow.forwards, roots, value)
                return found
            return self._calculated(value) or ScoreOrigin(
                _HITS if measured(value).dtype == "bool" else _DATA, value.flow.forwards
            )
        if isinstance(value, (Plain, Unknown)) and self._known and not value.flow.sums:
            return self._in(value.symbol)
        return None

    def _calculated(self, value: Tensor) -> ScoreOrigin | None:
        """The same of a tensor that is a hit where another one is, or a score by, or beside, something of the same batch."""
        made = value.meta
        if not isinstance(made, Making) or made.name not in _SCALED | _ADDED:
            return None
        known = [found for each in made.args if isinstance(each, Tensor) and (found := self._of(each)) is not None]
        if not known or max(each.level for each in known) == _DATA or far(known):
            return None
        others = [each for each in made.args if not isinstance(each, Const) and self._of(each) is None]
        if made.name in _ADDED and not all(_of_the_batch(each) for each in others):
            return None
        roots = frozenset[object]().union(*(each.roots for each in known))
        level = max(each.level for each in known)
        found = self._known[id(value)] = ScoreOrigin(level, value.flow.forwards, roots, value)
        return found

    def _in(self, symbol: Symbol) -> ScoreOrigin | None:
        """The same of a number or array that was computed of others."""
        found = self._known.get(symbol)
        if found is not None:
            return found
        op, *parts = symbol
        if op not in ("+", "-", "*", "/", "==") or not all(isinstance(part, tuple) for part in parts):
            return None
        known = [each for part in parts if (each := self._in(part)) is not None]
        if not known:
            return None
        forwards = frozenset[int]().union(*(each.forwards for each in known))
        if op == "==":
            return ScoreOrigin(_HITS, forwards)
        others = [part for part in parts if self._in(part) is None]
        if op in "+-" and any(part[0] != "const" for part in others):
            return None
        level = min(each.level for each in known)
        return ScoreOrigin(level, forwards, frozenset[object]().union(*(each.roots for each in known)))


def _tally(func: Value, call: Call) -> int:
    """The object of a metric that this calls; 0 for anything else."""
    of = func.of if isinstance(func, Method) and func.name in _FORWARD else func
    return of.id if call.args and isinstance(of, Tool) and adds_up(canonical(of.name)) else 0


def _of_the_batch(value: Value) -> bool:
    """Whether a value was computed of the loader's batch, and of nothing that lasts longer."""
    return isinstance(value, Tensor) and value.flow.source is Source.LOADER and not value.flow.sums


def far(scores: Iterable[ScoreOrigin | None]) -> bool:
    """Whether two scores are of different batches."""
    return len({score.forwards for score in scores if score is not None}) > 1
