"""Scores torch-doctor on bugs that people reported and fixed in public repositories.

    python -m tests.reported score FOLDER [--record] [-v]
    python -m tests.reported score FOLDER --sealed

FOLDER has clones (bare ones will do) named owner+name. `queries.tsv` has the queries, written down before they were asked,
`hits.tsv` everything that they found, in order, with the reason for taking or leaving it. A hit is taken if its fix changes
how a model trains, is evaluated, is saved or gets its data, or removes a failure that concerns tensors. It is left if it
fixes plain Python, names of files, settings, texts or tests. The hash of a hit puts it into one half: bugs of `read.tsv`
may be read by everybody who works on torch-doctor, those of `sealed.tsv` only judge, so `--sealed` prints totals.

A bug is named by a finding with one of its codes within three lines, in a scan of its file with the default selection.
`--record` writes into the table what the scan says. The status is 2 if a bug could not be scanned, else 0.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ecosystem.repositories import UnscannedError
from tests.reported.ledger import READ, SEALED, Bug, read, write
from tests.reported.scoring import Score, figures, misses, scored

if TYPE_CHECKING:
    from collections.abc import Sequence

WORK = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-doctor" / "reported"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    table = given.table or (SEALED if given.sealed else READ)
    bugs = read(Bug, table)
    with ThreadPoolExecutor(max(given.processes, 1)) as pool:
        results = list(pool.map(lambda bug: _scored(bug, given.folder.resolve(), given.work.resolve()), bugs))
    scores = [result for result in results if isinstance(result, Score)]
    print(*figures("sealed half" if given.sealed else "read half", scores), sep="\n")
    if not given.sealed:
        print("missed", *misses(scores), sep="\n")
        if given.verbose:
            print(*(_line(score) for score in scores), sep="\n")
        if given.record:
            said = {score.bug: score.said for score in scores}
            write((replace(bug, static=said.get(bug, bug.static)) for bug in bugs), Bug, table)
    errors = [result for result in results if isinstance(result, UnscannedError)]
    print(*(f"not scanned: {error}" for error in errors), sep="\n", end="\n" if errors else "", file=sys.stderr)
    return 2 if errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reported", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sealed", action="store_true", help="the sealed half: totals by family only")
    parser.add_argument("--record", action="store_true", help="write into the table what the scan says")
    parser.add_argument("-v", "--verbose", action="store_true", help="also list the bugs of the read half")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="scans at once (1)")
    parser.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help="for checkouts")
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    return parser


def _scored(bug: Bug, clones: Path, checkouts: Path) -> Score | UnscannedError:
    try:
        return scored(bug, clones, checkouts)
    except UnscannedError as error:
        return error


def _line(score: Score) -> str:
    bug = score.bug
    return f"{score.said:17}{bug.codes:16}{bug.repository} {bug.path}:{bug.line}  {bug.cause}"


if __name__ == "__main__":
    sys.exit(main())
