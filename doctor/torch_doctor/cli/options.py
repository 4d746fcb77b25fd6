"""The options of `torch-doctor scan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from torch_doctor.cli.completing import Completed, Formats, Paths, selectors
from torch_doctor.cli.streams import COLOURS
from torch_doctor.report.formats import FORMATS
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")


def _list_option(name: str, help_text: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, metavar="PATTERNS", type=Paths(), help=help_text)


def _selectors(name: str, help_text: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, type=Completed(selectors, several=True), metavar="RULES", help=help_text)


_OPTIONS = (
    _selectors("--select", "Comma-separated rules to enable: codes, prefixes, names, or ALL."),
    _selectors("--ignore", "Comma-separated rules to disable."),
    _selectors("--extend-select", "Rules to enable in addition to the selected ones."),
    _list_option("--exclude", "Comma-separated files and folders to skip. Replaces the default exclusions."),
    _list_option("--extend-exclude", "Files and folders to skip in addition to the excluded ones."),
    click.option(
        "--force-exclude", is_flag=True, help="Skip excluded files even if they are named on the command line."
    ),
    click.option("--ignore-noqa", is_flag=True, help="Also report findings that a comment suppresses."),
    click.option(
        "--per-file-ignores",
        multiple=True,
        metavar="PATTERN:RULE",
        help="Comma-separated rules to disable in matching files, such as `tests/*.py:TDR101`.",
    ),
    click.option(
        "--config",
        multiple=True,
        type=Paths(),
        metavar="PATH|KEY=VALUE",
        help='Configuration file, or one setting in TOML. A setting such as `torch-version = "2.4"` overrides the files. '
        "Repeatable.",
    ),
    click.option(
        "--add-noqa",
        metavar="[=REASON]",
        help="Suppress each finding with a `# noqa` comment, optionally with a reason, and report nothing.",
    ),
    click.option("--watch", is_flag=True, help="Scan again whenever a file changes, until Ctrl-C."),
    click.option("--show-settings", is_flag=True, help="Print the effective settings and exit."),
    click.option("--show-files", is_flag=True, help="List the files that would be scanned and exit."),
    click.option("--isolated", is_flag=True, help="Ignore all configuration files."),
    click.option(
        "--cache-dir",
        type=Paths(),
        metavar="PATH",
        show_default=".torch_doctor_cache in the project root",
        help="Cache folder.",
    ),
    click.option("--no-cache", is_flag=True, help="Disable the cache."),
    click.option(
        "--no-respect-gitignore",
        "gitignore",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Also scan files that git ignores.",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        show_default="chosen automatically",
        help="Number of files or scripts to process in parallel.",
    ),
    click.option(
        "--shard", metavar="I/N", help="Scan only part I of N. `torch-doctor merge` combines the reports of all parts."
    ),
    click.option("--executor", metavar="dask:ADDRESS", help="Distribute the scan over the workers of a Dask cluster."),
    click.option(
        "--output-format",
        multiple=True,
        type=Formats(),
        metavar="FORMAT[:FILE]",
        help=f"Output format, optionally with a file to write to: {', '.join(FORMATS)}. Repeatable.",
    ),
    click.option(
        "-o", "--output-file", type=Paths(), metavar="FILE", help="Write the report to FILE instead of stdout."
    ),
    click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them."),
    click.option(
        "--stdin-filename", type=Paths(), metavar="PATH", help="File name of the source on stdin; pass `-` as the path."
    ),
    click.option(
        "--fail-level",
        type=click.Choice([level.name.lower() for level in Level]),
        metavar="LEVEL",
        show_default="advice",
        help="Lowest level that sets exit status 1: error, warning or advice.",
    ),
    click.option(
        "--fail-conditional",
        is_flag=True,
        help="Also exit with status 1 for findings that need other settings than the defaults of the script.",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with status 0 even if there are findings."),
    click.option("-v", "--verbose", is_flag=True, help="Also list skipped files and checks, and why."),
    click.option("-q", "--quiet", is_flag=True, help="Print only findings and errors."),
    click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True, help="When to use colors."),
    click.option("--timings", is_flag=True, hidden=True),
)


def scan_options(function: Function) -> Function:
    """Add the options of a scan to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
