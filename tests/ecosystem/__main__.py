"""Scans public repositories, and compares what is found with what was judged before.

    python -m tests.ecosystem FOLDER [--half mend|judge|both] [--only OWNER/NAME ...] [--processes N] [--record]
    python -m tests.ecosystem FOLDER --unjudged [ROWS]
    python -m tests.ecosystem --take FILE

FOLDER has clones (bare ones will do) named owner+name. Results are kept until the source of torch-doctor changes, so that
a run that was stopped goes on where it was. `--record` writes the findings into the ledger, `--unjudged` shows those that
nobody judged beside their source, and `--take` enters judgements from a file with lines like

    3f2a9c81d0e4-1 false the model is put back into training mode by the caller

The status is 0 where nothing is new, gone or unjudged, 1 where something is, and 2 where something could not be scanned.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ecosystem.ledger import LEDGER, JudgementError, Ledger
from tests.ecosystem.report import changes, compared, figures, shown
from tests.ecosystem.repositories import HALVES, LIST, Repository, listed
from tests.ecosystem.scanning import Result, Workshop

if TYPE_CHECKING:
    from collections.abc import Sequence

WORK = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-doctor" / "ecosystem"
ROWS = 12  # of source before and after a finding


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    ledger = Ledger.read(given.ledger.read_text(encoding="utf-8"))
    if given.take is not None:
        return _take(given.take, ledger, given.ledger)
    if given.folder is None or not given.folder.is_dir():
        print(f"{given.folder or 'no folder given'}: clones are wanted, named owner+name", file=sys.stderr)
        return 2
    chosen = [
        repository
        for repository in listed(given.list.read_text(encoding="utf-8"))
        if given.half in {repository.half, "both"} and (not given.only or repository.name in given.only)
    ]
    if unknown := set(given.only) - {repository.name for repository in chosen}:
        print(f"{', '.join(sorted(unknown))}: not in this half of the list", file=sys.stderr)
        return 2
    workshop = Workshop(given.folder.resolve(), given.work.resolve())
    results = _results(workshop, chosen, given.processes)
    status = _report(chosen, results, ledger, workshop, given.unjudged)
    if given.record:
        found = [finding for result in results.values() for finding in result.findings]
        ledger.record(found, [result.repository for result in results.values() if not result.errors])
        given.ledger.write_text(ledger.text(), encoding="utf-8")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.ecosystem", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--half", choices=(*HALVES, "both"), default="mend", help="which repositories (mend)")
    parser.add_argument("--only", nargs="+", default=(), metavar="OWNER/NAME", help="these repositories of the half")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="scans at once (1)")
    parser.add_argument("--record", action="store_true", help="write the findings into the ledger")
    parser.add_argument("--unjudged", nargs="?", type=int, const=ROWS, metavar="ROWS", help="show what is not judged")
    parser.add_argument("--take", type=Path, metavar="FILE", help="enter the judgements of a file")
    parser.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help="for checkouts and results")
    parser.add_argument("--list", type=Path, default=LIST, help=argparse.SUPPRESS)
    parser.add_argument("--ledger", type=Path, default=LEDGER, help=argparse.SUPPRESS)
    return parser


def _take(file: Path, ledger: Ledger, into: Path) -> int:
    try:
        count = ledger.take(file.read_text(encoding="utf-8"))
    except JudgementError as error:
        print(error, file=sys.stderr)
        return 2
    into.write_text(ledger.text(), encoding="utf-8")
    print(f"{count} judgements taken")
    return 0


def _results(workshop: Workshop, chosen: Sequence[Repository], processes: int) -> dict[Repository, Result]:
    results = {}
    with ThreadPoolExecutor(max(processes, 1)) as pool:
        for done, (repository, result) in enumerate(
            zip(chosen, pool.map(workshop.result, chosen), strict=True), start=1
        ):
            results[repository] = result
            if sys.stderr.isatty():
                print(f"\r\x1b[K{done} of {len(chosen)}: {repository.name}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(end="\r\x1b[K", file=sys.stderr)
    return results


def _report(
    chosen: Sequence[Repository],
    results: dict[Repository, Result],
    ledger: Ledger,
    workshop: Workshop,
    rows: int | None,
) -> int:
    comparison = compared(list(results.values()), ledger)
    if rows is not None:
        by_name = {repository.name: repository for repository in chosen}
        for found in comparison.unjudged:
            print(*shown(found, workshop.checkout(by_name[found.repository]), rows), sep="\n")
    else:
        for half in HALVES:
            if of_half := [result for repository, result in results.items() if repository.half == half]:
                print(*figures(half, of_half, ledger), "", sep="\n")
        print(*changes(comparison, ledger), sep="\n")
    errors = [error for result in results.values() for error in result.errors]
    if errors:
        print(*errors, sep="\n", file=sys.stderr)
        return 2
    return int(bool(comparison.new or comparison.gone or comparison.unjudged))


if __name__ == "__main__":
    sys.exit(main())
