"""The probe's fixtures under each torch and Python that torch-doctor supports: `python -m tests.versions`.

Makes an environment for each pair, runs the fixtures in it, and prints what the probe says there and not in the first
pair. pip is configured as usual: with `PIP_INDEX_URL` set to an index of CPU builds, these are what it installs.

The status is 0 where nothing differs, 1 where something does, and 2 where an environment could not be had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from tests.marks import fixtures, name_of
from tests.versions.comparing import Probed, differences, read
from tests.versions.environments import ROOT, NoEnvironmentError, Version, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORK = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-doctor" / "versions"
FIRST = Version("2.13", "3.11")
"""What the fixtures' marks were written for."""
TORCHES = ("2.4", "2.6", "2.9", "2.13")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    names = chosen(given.fixtures, given.one_in)
    interpreters = {version: path for version, _, path in (each.partition("=") for each in given.interpreter)}
    wanted = [version for version in map(Version._make, product(given.torch, given.python)) if version != FIRST]
    first: dict[str, Probed] = {}
    status = 0
    for version in (FIRST, *wanted):
        try:
            python = environment(version, given.work.resolve(), interpreters.get(version.python, ""))
        except NoEnvironmentError as error:
            print(f"{version!s:28} {error}", flush=True)
            status = 2
            if version == FIRST:
                break  # there is nothing to compare with
            continue
        probed = {each.name: each for each in run(python, names, given.processes)}
        first = first or probed
        lines = list(table(version, first, probed))
        print(*lines, sep="\n", flush=True)
        status = max(status, int(len(lines) > 1))
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.versions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("fixtures", nargs="*", help="part of the names of fixtures, such as TDR101; all without it")
    parser.add_argument("--torch", type=_several, default=TORCHES, metavar="2.4,…", help=f"{','.join(TORCHES)}")
    parser.add_argument("--python", type=_several, default=PYTHONS, metavar="3.10,…", help=f"{','.join(PYTHONS)}")
    parser.add_argument(
        "--interpreter", action="append", default=[], metavar="3.10=PATH", help="what is not on PATH as python3.10"
    )
    parser.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help=f"for the environments ({WORK})")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="only every Nth fixture, always the same")
    parser.add_argument("-n", "--processes", type=int, default=os.cpu_count() or 1, help="how many at once")
    return parser


def _several(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def chosen(parts: Sequence[str], one_in: int) -> list[str]:
    """The names of the fixtures to run."""
    names = [name_of(fixture) for fixture in fixtures()]
    return [
        name for name in names if any(part in name for part in parts or [""]) and not zlib.crc32(name.encode()) % one_in
    ]


def run(python: Path, names: Sequence[str], processes: int) -> Iterator[Probed]:
    """What the probe says of fixtures in an environment.

    Raises:
        CalledProcessError: it fails there.
    """
    parts = [names[first::processes] for first in range(min(processes, len(names)))]
    with ThreadPoolExecutor(processes) as pool:
        for lines in pool.map(partial(_lines, python), parts):
            yield from map(read, lines)


def _lines(python: Path, names: Sequence[str]) -> list[bytes]:
    command = [str(python), "-m", "tests.versions.running", *names]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.splitlines()


def table(version: Version, before: dict[str, Probed], after: dict[str, Probed]) -> Iterator[str]:
    """A row of the table, and below it what differs."""
    differing = {name: lines for name, probed in after.items() if (lines := list(differences(before[name], probed)))}
    yield f"{version!s:28} {len(after):5} fixtures, {len(differing):3} differ from {FIRST}"
    for name, lines in differing.items():
        yield from (f"    {name}: {line}" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
