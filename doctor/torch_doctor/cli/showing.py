"""`scan --show-settings` and `scan --show-files`: the effective settings, and the files of a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from torch_doctor import scan as scanning
from torch_doctor.cli.streams import write
from torch_doctor.config import KEYS, PROBE_KEYS
from torch_doctor.config.schema import in_toml
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.cli.arguments import ScanArguments
    from torch_doctor.config import LoadedConfig
    from torch_doctor.scan import Options
    from torch_doctor.sources.ignores import Patterns


RESOLVED = frozenset(("extend", "select", "ignore", "extend-select", "extend-per-file-ignores"))
"""Keys whose values are part of those of other keys."""


def show(options: Options, loaded: LoadedConfig, given: ScanArguments) -> int:
    """Print the settings, or with `--show-files` the files to scan; return the exit status.

    `given` are the command-line options.
    """
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not given.show_files:
        write("".join(f"{line}\n" for line in _settings(options, loaded, given)))
        return 0
    names, report = scanning.files(options)
    write("".join(f"{name}\n" for name in names))
    for kind, lines in (("warning", report.warnings), ("error", report.errors)):
        for line in lines:
            click.echo(f"{kind}: {line}", err=True)
    return 2 if report.errors else 0


def _settings(options: Options, loaded: LoadedConfig, given: ScanArguments) -> Iterator[str]:
    """Yield the settings in effect as lines of TOML, from the configuration and the command line."""
    read = [display(part.path) for part in loaded.parts if part.path is not None]
    yield f"# read: {', '.join(read) or 'no configuration'}"
    for key, value in _in_effect(options, loaded, given).items():
        if value is None:
            yield f"# {key} is not set"
        else:
            yield f"{key} = {in_toml(value)}"
    yield "select = ["
    for rule in options.rules:
        yield f"  {in_toml(rule.code)},  # {rule.name}: {rule.level.name.lower()}"
    yield "]"


def _in_effect(options: Options, loaded: LoadedConfig, given: ScanArguments) -> dict[str, Any]:
    """Return the values of all keys with the command line taken into account; None for those that are not set."""
    values = {key: getattr(loaded.config, key.replace("-", "_")) for key in KEYS if key not in {*RESOLVED, "probe"}}
    values |= {f"probe.{key}": getattr(loaded.config.probe, key) for key in PROBE_KEYS}
    on_the_command_line = {
        "fail-level": given.fail_level,
        "cache-dir": given.cache_dir,
        "baseline": given.baseline,
        "probe.time": given.probe_timeout,
        "probe.device": given.device,
        "probe.python": given.python,
    }
    values |= {key: asked for key, asked in on_the_command_line.items() if asked}
    pairs: dict[str, list[str]] = {}
    for ignore in options.file_ignores:
        name = "!" * ignore.negated + _globs([ignore.patterns])[0]
        pairs[name] = sorted({*pairs.get(name, ()), *ignore.codes})
    return values | {
        "include": None if options.include is None else _globs([options.include]),
        "exclude": None if options.exclude is None else _globs(options.exclude),
        "extend-exclude": _globs(options.extend_exclude),
        "per-file-ignores": pairs,
        "respect-gitignore": options.respect_gitignore,
        "force-exclude": options.force_exclude,
    }


def _globs(patterns: Iterable[Patterns]) -> list[str]:
    """Return patterns, with their base folder if it is not the working directory."""
    return [
        glob if display(each.base) == "." else f"{display(each.base)}/{glob}"
        for each in patterns
        for glob in each.globs
    ]
