"""All fixtures under all transformations: `python -m tests.metamorphic`.

Prints a table of rules by transformations, and what is not as `known_breaks.txt` says.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from tests.marks import fixtures, name_of
from tests.metamorphic.checking import check
from tests.metamorphic.known import lines_of, read_known, sample, write_known
from tests.metamorphic.table import table
from tests.metamorphic.transformation import Kind, transformations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metamorphic.checking import Outcome
    from tests.metamorphic.known import Pair


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.metamorphic", description=__doc__)
    parser.add_argument("fixtures", nargs="*", help="part of the names of fixtures, such as TDR101; all without it")
    parser.add_argument("-t", "--transformation", action="append", help="the name of one; all without it")
    parser.add_argument("-k", "--kind", choices=[kind.name.lower() for kind in Kind], help="all of one kind")
    parser.add_argument("-n", "--processes", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="only every Nth pair, always the same ones")
    parser.add_argument("--probe", action="store_true", help="run the scripts, and compare the verdicts")
    parser.add_argument("--details", action="store_true", help="print what differs, and the rewritten source")
    parser.add_argument("--differences", action="store_true", help="print what differs")
    parser.add_argument("--all-breaks", action="store_true", help="print every break as a line of known_breaks.txt")
    parser.add_argument("--update", action="store_true", help="remove from known_breaks.txt what holds now")
    options = parser.parse_args(arguments)
    chosen = [
        transformation
        for transformation in transformations()
        if transformation.name in (options.transformation or [transformation.name])
        and transformation.kind.name.lower() in (options.kind or transformation.kind.name.lower())
    ]
    names = [name_of(fixture) for fixture in fixtures()]
    names = [name for name in names if any(part in name for part in options.fixtures or [""])]
    results = run(list(sample(names, chosen, options.one_in)), options.processes, probe=options.probe)
    if options.details or options.differences:
        print_details(results, source=options.details)
    print("\n".join(table(results, chosen)))
    if options.all_breaks:
        print("\n".join(lines_of(pair for pair, outcome in results.items() if not outcome.holds)))
    return compare_with_known(results, update=options.update)


def run(wanted: Sequence[tuple[str, list[str]]], processes: int, *, probe: bool = False) -> dict[Pair, Outcome]:
    """Check fixtures under transformations, several fixtures at once."""
    if processes == 1:
        return dict(chain.from_iterable(checked(*each, probe=probe) for each in wanted))
    with ProcessPoolExecutor(processes) as pool:
        return dict(
            chain.from_iterable(pool.map(partial(checked, probe=probe), *zip(*wanted, strict=True), chunksize=4))
        )


def checked(name: str, wanted: Sequence[str], *, probe: bool = False) -> list[tuple[Pair, Outcome]]:
    """One fixture under the transformations of these names."""
    chosen = [transformation for transformation in transformations() if transformation.name in wanted]
    return [((name, transformation.name), check(name, transformation, probe=probe)) for transformation in chosen]


def print_details(results: dict[Pair, Outcome], *, source: bool) -> None:
    for (fixture, name), outcome in results.items():
        for broken in outcome.breaks:
            print(f"=== {fixture} {name}", broken, sep="\n")
            for path in broken.rewritten.modules if source else ():
                print(f"--- {path}", broken.rewritten.code(path), sep="\n")


def compare_with_known(results: dict[Pair, Outcome], *, update: bool) -> int:
    """Print what is not as the list says; 1 if there is anything."""
    known = read_known()
    broken = {pair for pair, outcome in results.items() if not outcome.holds}
    hold = {pair for pair, outcome in results.items() if outcome.holds} & known
    every = {(name_of(fixture), one.name) for fixture in fixtures() for one in transformations()}
    gone = known - every
    if update:
        write_known(known - hold - gone)
        hold = gone = set()
    said = defaultdict(list)
    for pairs, words in (
        (broken - known, "breaks"),
        (hold, "holds now, remove it"),
        (gone, "does not exist, remove it"),
    ):
        for pair in sorted(pairs):
            said[words].append(" ".join(pair))
    for words, lines in said.items():
        print("", *(f"{line}: {words}" for line in lines), f"{len(lines)} {words}", sep="\n")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
