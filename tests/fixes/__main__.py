"""Every fixture that can be fixed, with its fixes proved by runs: `python -m tests.fixes`.

Prints the fixes that were applied and reverted, and all that a run shows or changes that no rule announces.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct, field

from tests.fixes.test_fixtures import BAD, NOT_MENDED, ROOT, WITH_OTHERS, marked, name, without_markers

LINE = re.compile(r"^\S+:\d+(?::\d+)?: (?:fix for )?(?P<code>TDR\d{3}) (?:(?P<kind>verified|fixed, but not verified): |"
                  r"(?P<gone>reverted|not applied): )(?P<text>.*)$", re.MULTILINE)  # fmt: skip
FIXED = re.compile(r"^Fixed (?P<count>\d+) finding", re.MULTILINE)


class Checked(Struct):
    """What `--fix --probe` says of one fixture: how many fixes were applied, and a line on each fix."""

    name: str
    applied: int = 0
    lines: list[tuple[str, str, str]] = field(default_factory=list)
    problem: str = ""

    def of(self, kind: str) -> list[tuple[str, str, str]]:
        return [line for line in self.lines if line[1] == kind]


def check(bad: Path, *options: str) -> Checked:
    """Fix a copy of a fixture, and prove the fixes."""
    from click.testing import CliRunner  # noqa: PLC0415 - in the process that works

    from torch_doctor.cli.scan import command  # noqa: PLC0415 - as above

    code = bad.parent.name
    with tempfile.TemporaryDirectory(prefix="fixes-") as temporary:
        folder = without_markers(bad, Path(temporary) / "bad")
        asked = ["--select", WITH_OTHERS.get(code) or marked(bad), "--unsafe-fixes"]
        scripts = [str(folder)] if bad.is_dir() else [str(folder / bad.name)]
        os.chdir(folder)
        with contextlib.redirect_stderr(io.StringIO()):
            result = CliRunner().invoke(
                command,
                ["--fix-only", "--probe", *options, *asked, "--isolated", "--no-cache", "-j", "1", *scripts],
            )
        os.chdir(ROOT)
    found = Checked(name(bad))
    if result.exit_code not in (0, 1) or (result.exception and not isinstance(result.exception, SystemExit)):
        found.problem = f"status {result.exit_code}: {result.output.strip()[-200:]} {result.exception or ''}"
    count = FIXED.search(result.output)
    found.applied = int(count["count"]) if count else 0
    found.lines = [(each["code"], each["kind"] or each["gone"], each["text"]) for each in LINE.finditer(result.output)]
    said = len(found.of("verified")) + len(found.of("fixed, but not verified"))
    if said != found.applied:
        found.problem = found.problem or f"{found.applied} fixes and {said} verdicts: {result.output.strip()[-300:]}"
    return found


def served(bad: Path) -> Checked:
    """As `check`, by a server that keeps torch imported for all fixtures."""
    return check(bad, "--probe-server")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fixes", description=__doc__)
    parser.add_argument("fixtures", nargs="*", help="part of the names of fixtures, such as TDR101; all without it")
    parser.add_argument("-n", "--processes", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="only every Nth fixture")
    parser.add_argument("--reasons", action="store_true", help="print every fix that is not verified, with the reason")
    options = parser.parse_args()
    chosen = [
        bad
        for bad in BAD
        if name(bad) not in NOT_MENDED and any(part in name(bad) for part in options.fixtures or [""])
    ]
    with ProcessPoolExecutor(options.processes) as pool:
        results = []
        for each in pool.map(served, chosen[:: options.one_in]):
            results.append(each)
            for code, kind, text in each.lines:
                if kind in ("reverted", "not applied") or options.reasons:
                    print(f"{each.name}: {code} {kind}: {text}", flush=True)
            if each.problem:
                print(f"{each.name}: {each.problem}", flush=True)
    kinds = Counter(kind for each in results for _, kind, _ in each.lines)
    print(f"{len(results)} fixtures, {sum(each.applied for each in results)} fixes applied:", dict(kinds))
    return int(any(each.problem or each.of("reverted") for each in results))


if __name__ == "__main__":
    sys.exit(main())
