"""Measures how many public training scripts the probe brings to an update.

    python -m tests.reached FOLDER [--python PYTHON] [--timeout SECONDS] [--only OWNER/NAME ...]

FOLDER has clones (bare ones will do) named owner+name. `repositories.tsv` was written down before the first run, by a rule:
the third, sixth, ninth and twelfth of the repositories that a search by name finds, largest first, for mnist-pytorch,
pytorch-cifar, unet-pytorch, gan-pytorch, pytorch-lstm, vae-pytorch, pytorch-bert, transformer-pytorch, dqn-pytorch,
gcn-pytorch, pytorch-seq2seq, pytorch-image, pytorch-text and captioning-pytorch; one that was used before gives way to the
next, and those without a snapshot or a script are left out. The script is the first, from the shallowest folder on and by
name, that calls `.backward()` and runs when it is started, else the first named train, main or run. Nobody may read these
repositories to mend the probe: they only judge.

Each script runs unmodified, from the root of its repository, with the packages of PYTHON. A line for each says how many updates it
reached, after how many seconds, and what stopped it; the last lines say how many reached one update and two, and how many of the
others ended for each kind of cause. A script of which
only the training loop was run, without what fails before it, did not reach them: it is marked, and counted apart.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.repositories import clean_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE = Path(__file__).with_name("repositories.tsv")
REACHED = re.compile(r"reached (\d+) optimizer step")
GRACE = 60.0  # seconds for the scan beside the probe
ALONE = "was run alone"  # what is said where the script did not come to its loop
CAUSES = [
    re.compile(pattern)
    for pattern in (
        r"fails (on its own)",
        r"fails: (\w+)",
        r"finish within [\d.]+ s and was (stopped)",
        r"(exit)(?:ed|s) ",
        r"stopped at (a substitute)",
        r"(nothing to go over|nothing that ran calls|nothing ran|did not lead to the training|it ended before|made no update)",
        r"(memory|disk|killed|signal)",
    )
]
WIDTH = 150  # of what is said of a script's end


class Reached(NamedTuple):
    """How far a script came: its updates, whether only its loop was run, the seconds, and the last of what was said of it."""

    repository: str
    updates: int
    alone: bool
    seconds: float
    said: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [
            row for row in csv.DictReader(file, delimiter="\t") if not given.only or row["repository"] in given.only
        ]
    found = []
    for row in rows:
        clone = given.folder / row["repository"].replace("/", "+")
        if not clone.exists():
            print(f"{row['repository']}: no clone", file=sys.stderr)
            continue
        found.append(reached(row["repository"], clone, row["commit"], row["script"], given.python, given.timeout))
        mark, last = "*" if found[-1].alone else " ", found[-1]
        print(f"{last.updates:3}{mark} {last.seconds:5.1f} s  {last.repository}  {last.said}", flush=True)
    for least in (1, 2):
        came = [each.alone for each in found if each.updates >= least]
        print(
            f"at least {least}: {came.count(False)} of {len(found)}; with the loop run alone (*) {came.count(True)} more"
        )
    ended = Counter(cause(each.said) or "untold" for each in found if not each.updates or each.alone)
    print("ended:", ", ".join(f"{kind} {number}" for kind, number in ended.most_common()) or "none")
    return 0 if len(found) == len(rows) else 2


def reached(repository: str, clone: Path, commit: str, script: str, python: str, timeout: float) -> Reached:
    """Run one script under the probe, in a fresh checkout, for at most `timeout` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", f"--git-dir={_git(clone)}", f"--work-tree={folder}"]
        checkout = [*git, "checkout", "--quiet", "--force", commit, "--", "."]  # its largest files may be absent
        subprocess.run(checkout, check=False, capture_output=True, env=clean_environment())
        command = [
            sys.executable,
            "-m",
            "torch_doctor",
            "scan",
            "--isolated",
            "--no-cache",
            "--probe",
            "--python",
            python,
        ]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [*command, "--probe-timeout", f"{timeout:g}", script],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout + GRACE,
            )
        except subprocess.TimeoutExpired:
            return Reached(
                repository, 0, alone=False, seconds=time.monotonic() - begun, said="torch-doctor did not come to an end"
            )
    said = [line.partition(": ")[2] for line in done.stderr.splitlines() if line.startswith(("probe:", "warning:"))]
    updates = [int(number) for line in said for number in REACHED.findall(line)]
    ends = [line for line in said if not REACHED.search(line)]
    last = next((line for line in ends if cause(line)), ends[-1] if ends else "")
    alone = any(ALONE in line for line in said)
    return Reached(repository, max(updates, default=0), alone, time.monotonic() - begun, last[:WIDTH])


def cause(said: str) -> str:
    """What kind of end is told in this line: `time`, an exception's name, `exit`, ...; empty if none is."""
    return next((match[match.lastindex or 0] for pattern in CAUSES if (match := pattern.search(said))), "")


def _git(clone: Path) -> Path:
    return next((each for each in (clone / ".git", clone / "repo" / ".git", clone / "repo") if each.exists()), clone)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reached", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the scripts (the one that runs this)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for each script (60)")
    parser.add_argument("--only", nargs="*", default=(), metavar="OWNER/NAME")
    return parser


if __name__ == "__main__":
    sys.exit(main())
