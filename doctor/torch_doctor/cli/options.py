"""The options of `torch-doctor scan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from torch_doctor.cli.completing import Completed, selectors
from torch_doctor.cli.streams import COLOURS
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")


def _list_option(name: str, help_text: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, metavar="LIST", help=help_text)


def _selectors(name: str, help_text: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, type=Completed(selectors, several=True), metavar="LIST", help=help_text)


_OPTIONS = (
    _selectors("--select", "Rules that speak: codes, their beginnings, names or ALL, with commas between."),
    _selectors("--ignore", "Rules that do not speak."),
    _selectors("--extend-select", "Rules that speak besides those that do anyway."),
    _list_option("--exclude", "Files and folders to leave out, instead of the usual ones."),
    _list_option("--extend-exclude", "Files and folders to leave out besides."),
    click.option("--force-exclude", is_flag=True, help="Leave out excluded files even where they are named."),
    click.option("--ignore-noqa", is_flag=True, help="Report also what comments suppress."),
    _list_option("--per-file-ignores", "Rules that do not speak in some files: `tests/*.py:TDR101,...`."),
    click.option(
        "--config",
        multiple=True,
        metavar="PATH|KEY=VALUE",
        help="The configuration to use: a pyproject.toml or torch-doctor.toml; or one setting as TOML, which counts more "
        "than any file: `--config 'torch-version = \"2.4\"'`. Repeatable.",
    ),
    click.option(
        "--add-noqa",
        metavar="[=REASON]",
        help="Suppress what is found by `# noqa` comments, with the reason where one is given, and report nothing.",
    ),
    click.option("--watch", is_flag=True, help="Scan again whenever a file changes, until Ctrl-C."),
    click.option("--show-settings", is_flag=True, help="Show the settings as they are in effect, and scan nothing."),
    click.option("--show-files", is_flag=True, help="List the files that would be scanned, and scan nothing."),
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
    click.option(
        "--cache-dir", metavar="PATH", help="Where results are kept. [default: .torch_doctor_cache in the project]"
    ),
    click.option("--no-cache", is_flag=True, help="Keep nothing, and use nothing that was kept."),
    click.option(
        "--no-respect-gitignore",
        "gitignore",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Look at files that git ignores, too.",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Files that are looked at, and scripts that are run, side by side. [default: what is worth it]",
    ),
    click.option(
        "--shard", metavar="I/N", help="Do the part I of N of the scan; `torch-doctor merge` joins what they tell."
    ),
    click.option(
        "--executor", metavar="dask:ADDRESS", help="Hand the scan to the workers of a Dask cluster, in parts."
    ),
    click.option(
        "--output-format",
        multiple=True,
        metavar="FORMAT[:FILE]",
        help="full, concise, grouped, json, json-lines, github, gitlab, azure, junit, pylint, rdjson, sarif or markdown; "
        "repeatable, each to its file.",
    ),
    click.option("-o", "--output-file", metavar="FILE", help="Write what would go to stdout to this file."),
    click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them."),
    click.option("--stdin-filename", metavar="PATH", help="The file that the text on stdin is; `-` as path reads it."),
    click.option(
        "--fail-level",
        type=click.Choice([level.name.lower() for level in Level]),
        help="The least level of findings that make the status 1. [default: advice, which is any]",
    ),
    click.option("--exit-zero", is_flag=True, help="Leave with status 0 even when there are findings."),
    click.option("-v", "--verbose", is_flag=True, help="Say also what was not looked at, and why."),
    click.option("-q", "--quiet", is_flag=True, help="Print findings and errors only."),
    click.option("--color", type=click.Choice(COLOURS), default="auto", help="Whether to use colours."),
    click.option("--timings", is_flag=True, hidden=True),
)


def scan_options(function: Function) -> Function:
    """Declare what a scan takes, in the order of the help text."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
