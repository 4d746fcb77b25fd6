"""What the probe says of fixtures in the environment that runs this: `python -m tests.versions.running NAME …`.

For each fixture a line of JSON tells its name, its findings with their verdicts, and what was said besides. One in twenty
is run by an interpreter of its own, as users have it, and the others by the farm, which is much faster.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from tests.marks import FIXTURES, Place, rules_for, scripts_of
from tests.metamorphic.checking import alone
from tests.probe.farm.farm import farm, use
from torch_doctor.probing import Probing
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 120.0
OUR_FAULT = ("please report it", "an instrument failed")
FARMED = 20
"""Of so many fixtures one does without the farm."""


def main(names: Sequence[str]) -> None:
    """Run the fixtures, and print what comes of each as soon as it is there."""
    os.environ["OMP_NUM_THREADS"] = "1"  # models are tiny
    with farm() as address:
        for number, name in enumerate(names):
            print(probed(name, address if number % FARMED else ""), flush=True)  # noqa: T201 - it is run for this


def probed(name: str, address: str) -> str:
    """Scan and run a copy of a fixture that lies alone, as a user's project would, by the farm at an address if any."""
    use(address)
    fixture = FIXTURES / name
    with alone() as folder:
        copy = folder / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        how = Probing(python=sys.executable, seconds=SECONDS)
        report = scan(Options(paths=tuple(scripts_of(copy)), rules=rules_for(fixture.parent.name), probe=how))
    verdicts: dict[str, Any] = {}
    for finding in report.findings:
        site, verdict = finding.site, finding.verdict.value if finding.verdict else "no verdict"
        place = Place(site.path, site.cell or 0, site.row, finding.code)  # Python 3.10 knows no columns
        why = "; ".join(evidence.claim for evidence in finding.evidence)
        verdicts.setdefault(str(place), []).append([verdict, why])
    failures = [line for line in report.remarks + report.notes if any(words in line for words in OUR_FAULT)]
    return json.dumps({"name": name, "verdicts": verdicts, "said": report.errors + report.warnings + failures})


if __name__ == "__main__":
    main(sys.argv[1:])
