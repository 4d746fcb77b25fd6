"""Applies fixes in rounds until none is left, and verifies them by a second run of the scripts."""

from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.fixes import rewrite
from torch_doctor.mending import Compared, Comparison, proved, verdicts, without_harm
from torch_doctor.probing import served
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from torch_doctor.cli.fixing import Fixing
    from torch_doctor.mending import Key, Mended
    from torch_doctor.scan import Options, Report


def mend(report: Report, options: Options, wanted: Fixing) -> tuple[Report, Mended]:
    """Fix the findings of a report; return the report afterwards, and what was fixed.

    A scan with the changes follows each round, in memory; files are written at the end, and with `--diff` not at all.
    With a probe the scripts run once more, and the fix of what the run still shows is reverted.
    """
    writes = not (wanted.diff or options.overlay)
    if options.probe is None or not writes:
        left, mended, _ = without_harm(report, options, {}, unsafe=wanted.unsafe)
        if writes:
            _write(mended, mended.after)
        return left, mended
    with served(options.probe) as probe:
        return _mended(report, replace(options, probe=probe), unsafe=wanted.unsafe)


def _mended(report: Report, options: Options, *, unsafe: bool) -> tuple[Report, Mended]:
    """Fix the findings of a report and verify the fixes by runs; revert fixes that fail or that change too much."""
    withdrawn: dict[Key, str] = {}
    told: list[str] = []
    comparison = Comparison(options)
    while True:
        left, mended, withdrawn = without_harm(report, options, withdrawn, unsafe=unsafe)
        mended.withdrawn += [line for line in told if line not in mended.withdrawn]
        if not mended.after:
            return left, mended
        _write(mended, mended.after)
        left, proof = proved(options, report, mended)
        without = functools.partial(_without, report, options, withdrawn, unsafe=unsafe)
        compared = Compared() if proof.failed else comparison.of(mended, without)
        if not proof.failed and not compared.changed:
            mended.proofs += verdicts(options, mended, proof, compared)
            return left, mended
        _write(mended, mended.before)
        failed = proof.failed or comparison.guilty(mended, compared, without)
        told = [*mended.withdrawn, *failed.values()]
        withdrawn |= dict.fromkeys(failed, "")


def _without(
    report: Report, options: Options, withdrawn: Mapping[Key, str], more: Mapping[Key, str], *, unsafe: bool
) -> Mended:
    """Return what is fixed when some more fixes are left out."""
    return without_harm(report, options, {**withdrawn, **more}, unsafe=unsafe)[1]


def _write(mended: Mended, contents: dict[Path, bytes]) -> None:
    for path, content in contents.items():
        try:
            rewrite(path, content)
        except OSError as error:  # noqa: PERF203 - the other files are still written
            mended.errors.append(f"{mended.shown[path]} cannot be written: {error.strerror}")


def fixed_stdin(mended: Mended | None, options: Options) -> bytes:
    """Return the source that was read from stdin, with the fixes applied."""
    [(path, raw)] = options.overlay.items()
    return raw if mended is None else mended.after.get(path, raw)


def differences(mended: Mended) -> Iterable[str]:
    """Yield the lines of a unified diff of each changed file."""
    for path, after in mended.after.items():
        name = mended.shown[path]
        before, now = (
            [line + "\n" for line in NEWLINE.split(text.decode("utf-8", "replace"))]
            for text in (mended.before[path], after)
        )
        for lines in (before, now):
            lines[-1] = lines[-1][:-1]
            if not lines[-1]:
                lines.pop()
        for line in difflib.unified_diff(before, now, name, name):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
