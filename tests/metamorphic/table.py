"""The table of rules by transformations."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.metamorphic.transformation import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.metamorphic.checking import Outcome
    from tests.metamorphic.known import Pair
    from tests.metamorphic.transformation import Transformation


def table(results: Mapping[Pair, Outcome], chosen: Sequence[Transformation]) -> Iterator[str]:
    """How many hold: by transformation, by rule and transformation, and by kind.

    A rule is that of the fixture, and the codes after a transformation are those of the findings that differ.
    """
    count = _Count(results)
    rules = sorted({rule for rule, _ in count.applied})
    width = max(len(one.name) for one in chosen)
    for number, one in enumerate(chosen, start=1):
        codes = ", ".join(f"{code} {times}" for code, times in count.codes[one.name].most_common())
        yield f"{number:3} {one.name:{width}} {count.share((rule, one.name) for rule in rules)}  {codes}".rstrip()
    yield from ("", "Breaks by rule and transformation (. all hold, blank: does not apply)", "")
    yield "       " + "".join(f"{number:4}" for number in range(1, len(chosen) + 1))
    for rule in rules:
        yield f"{rule:7}" + "".join(f"{count.cell(rule, one.name):>4}" for one in chosen).rstrip()
    yield ""
    for kind in Kind:
        yield f"{kind.value:16} {count.share((rule, one.name) for rule in rules for one in chosen if one.kind is kind)}"


class _Count:
    """How many fixtures of each rule a transformation applies to, how many break it, and by which findings."""

    def __init__(self, results: Mapping[Pair, Outcome]) -> None:
        self.applied: Counter[Pair] = Counter()
        self.broken: Counter[Pair] = Counter()
        self.codes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (fixture, name), outcome in results.items():
            rule = fixture.partition("/")[0]
            self.applied[rule, name] += outcome.applies
            self.broken[rule, name] += not outcome.holds
            self.codes[name].update({code for broken in outcome.breaks for code in broken.codes})

    def cell(self, rule: str, name: str) -> str:
        if not self.applied[rule, name]:
            return ""
        return str(self.broken[rule, name] or ".")

    def share(self, pairs: Iterable[Pair]) -> str:
        pairs = list(pairs)
        broken, of = sum(self.broken[pair] for pair in pairs), sum(self.applied[pair] for pair in pairs)
        return f"{of - broken:5} of {of:5} hold" + (f" ({100 * (of - broken) / of:5.1f} %)" if of else " " * 10)
