"""All pairs of bugs in all scripts: `python -m tests.pairs`.

Prints every pair of which one bug hides the other, or which is told something else beside, and what is not as
`known_breaks.txt` says.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tests.pairs.checking import checked, pairs
from tests.pairs.editing import scripts
from tests.pairs.known import read_known, write_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.pairs.checking import Outcome
    from tests.pairs.known import Case


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pairs", description=__doc__)
    parser.add_argument("words", nargs="*", help="only pairs with one of these codes, or scripts of these names")
    parser.add_argument("-n", "--processes", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--update", action="store_true", help="remove from known_breaks.txt what holds now")
    options = parser.parse_args(arguments)
    every = [(name, *pair) for name in scripts() for pair in pairs()]
    chosen = [case for case in every if _is_chosen(case, options.words)]
    outcomes = run(chosen, options.processes)
    broken = {case: outcome for case, outcome in outcomes.items() if not outcome.holds}
    for case, outcome in broken.items():
        print(*case, outcome)
    print(f"{len(chosen) - len(broken):,} of {len(chosen):,} hold")
    known = read_known()
    hold = {case for case in known if case not in every or (case in outcomes and case not in broken)}
    if options.update:
        write_known(known - hold)
        hold = set()
    for cases, words in ((broken.keys() - known, "breaks"), (hold, "holds now, or is none: remove it")):
        for case in sorted(cases):
            print(*case, words)
    return int(bool(hold or broken.keys() - known))


def run(cases: Sequence[Case], processes: int) -> dict[Case, Outcome]:
    """Check these, several at once."""
    if processes == 1:
        return {case: checked(*case) for case in cases}
    with ProcessPoolExecutor(processes) as pool:
        return dict(zip(cases, pool.map(checked, *zip(*cases, strict=True), chunksize=16), strict=True))


def _is_chosen(case: Case, words: Sequence[str]) -> bool:
    codes = {word for word in words if word.startswith("TDR")}
    names = set(words) - codes
    return (not names or case[0] in names) and (not codes or not codes.isdisjoint(case[1:]))


if __name__ == "__main__":
    sys.exit(main())
