"""Runs the scripts before and after their fixes, with the same weights, and finds the fix that changes more than it may."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.edits import Figure
from torch_doctor.fixes import rewrite
from torch_doctor.mending.figures import Difference, broken, differences, incomparable
from torch_doctor.probing import Figuring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from torch_doctor.mending.rounds import Key, Mended
    from torch_doctor.scan import Options
    from torch_doctor.trace import Run

    Without: TypeAlias = Callable[[Mapping[Key, str]], Mended]

REPLAYED = {Figure.LOSS: "loss", Figure.OUTPUTS: "outputs", Figure.GRADIENTS: "gradients"}
"""What a fix may change and the second run puts back as it was, so that all that is computed from it is unchanged."""


ANYTHING = {Figure.BATCHES, Figure.RANDOM}
"""Of these all figures may depend."""
MOST_TRIES = 12
"""Fixes that are left out one after the other to find the one that changes more than it may."""


@contextlib.contextmanager
def _holding(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """The files hold these contents for a while, and then what they held before."""
    before = {path: path.read_bytes() for path in contents}
    try:
        for path, content in contents.items():
            rewrite(path, content)
        yield
    finally:
        for path, content in before.items():
            if path.read_bytes() != content:
                rewrite(path, content)


class Compared(Struct):
    """What came of comparing: a line for each change that nobody announced, or why nothing could be compared."""

    changed: list[str] = field(default_factory=list)
    reason: str = ""


class Comparison:
    """The runs of the original scripts, with which those of fixed ones are compared."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._before: dict[frozenset[str], Mapping[str, Run]] = {}

    def of(self, mended: Mended, without: Without) -> Compared:
        """Run the scripts with the fixes and return what changed.

        Fixes that change the batches or the random numbers may change all figures: the others are compared `without` them.
        """
        if self._options.probe is None or self._options.probe.processes > 1:
            return Compared(reason="the script ran in several processes")
        anything = {
            origin: ""
            for finding, origin in zip(mended.findings, mended.origins, strict=True)
            if not may_change(self._options, finding.code).isdisjoint(ANYTHING)
        }
        if not anything:
            return self._of(mended, mended.before)
        with _holding(mended.before):
            rest = without(anything)
        if rest.after:
            return self._of(rest, mended.before)
        return Compared(
            reason="" if len(anything) == len(set(mended.origins)) else "they depend on a fix that changes all values"
        )

    def _of(self, mended: Mended, original: Mapping[Path, bytes]) -> Compared:
        changes = frozenset().union(*(may_change(self._options, finding.code) for finding in mended.findings))
        keeps = frozenset(REPLAYED[each] for each in changes if each in REPLAYED)
        if keeps not in self._before:
            with _holding(original):
                self._before[keeps] = self._runs(Figuring(keeps=keeps))
        before = self._before[keeps]
        with _holding({**original, **mended.after}):
            runs = self._runs(Figuring(keeps=keeps, before=before))
        texts = {
            mended.shown[path]: (mended.before[path].decode("utf-8", "replace"), after.decode("utf-8", "replace"))
            for path, after in mended.after.items()
        }
        found = Compared(reason="" if before else "the scripts could not be run")
        for name, first in before.items():
            second = runs.get(name)
            if second is None or first.doubt or second.doubt:
                found.reason = (
                    found.reason or (first.doubt if second is None else second.doubt) or "the script did not run again"
                )
            elif exception := broken(first, second):
                found.changed.append(f"the script fails with the fix: {exception}")
            elif different := differences(first, second, texts, changes):
                if reason := incomparable(first, second):
                    found.reason = found.reason or reason
                    continue
                with _holding(original):
                    again = self._runs(Figuring()).get(name)
                found.changed += map(str, _stable(different, first, again))
        return found

    def _runs(self, figuring: Figuring) -> Mapping[str, Run]:
        assert self._options.probe is not None  # noqa: S101 - asked before
        probe = replace(self._options.probe, figuring=figuring, required=False)
        scanning.scan(replace(self._options, probe=probe, cache=None))
        return figuring.runs

    def guilty(self, mended: Mended, compared: Compared, without: Without) -> dict[Key, str]:
        """Return the fixes that change what nobody announced, each with a line on it: the one without which nothing does.

        Where no single fix is to blame, all of them are.
        """
        origins = list(dict.fromkeys(mended.origins))
        for each in origins[:MOST_TRIES] if len(origins) > 1 else ():
            rest = without({each: ""})
            if rest.after and not self.of(rest, _also(without, each)).changed:
                return {each: _line(each, compared)}
        return {each: _line(each, compared) for each in origins}


def _also(without: Without, one: Key) -> Without:
    """Return a way of leaving out fixes that leaves out one more."""
    return lambda more: without({one: "", **more})


def may_change(options: Options, code: str) -> frozenset[Figure]:
    """Return what the fixes of a rule may change."""
    return frozenset().union(*(rule.fix_changes for rule in options.rules if rule.code == code))


def _stable(found: list[Difference], first: Run, again: Run | None) -> list[Difference]:
    """Return the differences that are none between two runs of the original, which tell what changes by itself."""
    noise = {
        (each.how, each.text) for each in (differences(first, again, {}, frozenset()) if again is not None else ())
    }
    return [each for each in found if (each.how, each.text) not in noise]


def _line(origin: Key, compared: Compared) -> str:
    code, site = origin
    more = f" (and {len(compared.changed) - 1} more)" if len(compared.changed) > 1 else ""
    return f"{site}: fix for {code} reverted: {compared.changed[0]}{more}"
