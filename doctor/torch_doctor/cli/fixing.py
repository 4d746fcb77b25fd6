"""The options of `scan` that apply fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from torch_doctor.scan.proposals import Proposals

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.cli.arguments import ScanArguments
    from torch_doctor.scan import Options, Report

Function = TypeVar("Function", bound="Callable[..., Any]")
WITH_FIXES = frozenset({"full", "short", "concise", "grouped", "json", "json-lines", "rdjson", "sarif"})
"""The formats that show the fix of a finding."""

_OPTIONS = (
    click.option(
        "--fix",
        is_flag=True,
        help="Apply safe fixes. With --probe, re-run the scripts and revert fixes that do not remove the evidence.",
    ),
    click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that change what the script computes."),
    click.option("--diff", is_flag=True, help="Print what --fix would change, without writing it."),
    click.option("--fix-only", is_flag=True, help="Apply fixes, and do not report the remaining findings."),
    click.option("--show-fixes", is_flag=True, help="List the findings that were fixed."),
    click.option(
        "--exit-non-zero-on-fix",
        is_flag=True,
        help="Exit with status 1 if anything was fixed, even if no findings remain.",
    ),
)


def fix_options(function: Function) -> Function:
    """Add the options of a command that fixes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class Fixing(Struct, frozen=True):
    """Options of a fix: what is fixed, and how it is reported."""

    unsafe: bool = False
    diff: bool = False
    only: bool = False
    shows: bool = False
    fails: bool = False


def fixing(given: ScanArguments) -> Fixing | None:
    """Return what the options ask for; None: nothing is fixed.

    Raises:
        UsageError: two of them contradict each other.
    """
    mends = given.fix or given.diff or given.fix_only
    for flag, wanted in (("--show-fixes", given.show_fixes), ("--exit-non-zero-on-fix", given.exit_non_zero_on_fix)):
        if wanted and not mends:
            message = f"{flag} requires --fix, --fix-only or --diff"
            raise click.UsageError(message)
    if not mends:
        return None
    for flag, there in (("--shard", given.shard), ("--executor", given.executor)):
        if there:
            message = f"--fix cannot be used with {flag}"
            raise click.UsageError(message)
    return Fixing(given.unsafe_fixes, given.diff, given.fix_only, given.show_fixes, given.exit_non_zero_on_fix)


def with_proposals(report: Report, options: Options) -> Report:
    """Return the report with the fix of each finding; an internal error costs that alone."""
    if not any(finding.edits for finding in report.findings):
        return report
    remembered = Proposals(report, options)
    found = remembered.get()
    if found is not None:
        report.findings[:] = found
        return report
    from torch_doctor.mending import with_proposals as proposed  # noqa: PLC0415 - libcst is slow to import

    errors = len(report.errors)
    report = proposed(report, options)
    if len(report.errors) == errors:
        remembered.put(report.findings)
    return report
