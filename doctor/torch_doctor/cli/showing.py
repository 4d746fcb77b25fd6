"""`scan --show-settings` and `scan --show-files`: what a scan would go by, and what it would look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from torch_doctor import scan as scanning
from torch_doctor.cli.streams import write
from torch_doctor.config import KEYS
from torch_doctor.config.schema import in_toml
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.config import LoadedConfig
    from torch_doctor.scan import Options
    from torch_doctor.sources.ignores import Patterns


def show(options: Options, loaded: LoadedConfig, *, files: bool) -> int:
    """Print the settings, or with `files` the files; the exit status."""
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not files:
        write("".join(f"{line}\n" for line in _settings(options, loaded)))
        return 0
    names, report = scanning.files(options)
    write("".join(f"{name}\n" for name in names))
    for kind, lines in (("warning", report.warnings), ("error", report.errors)):
        for line in lines:
            click.echo(f"{kind}: {line}", err=True)
    return 2 if report.errors else 0


def _settings(options: Options, loaded: LoadedConfig) -> Iterator[str]:
    """The settings as TOML: those of the files, then those that the command line and they come to."""
    read = [display(part.path) for part in loaded.parts if part.path is not None]
    yield f"# read: {', '.join(read) or 'no configuration'}"
    for key in KEYS:
        if key == "extend" or key in {"select", "ignore", "extend-select"}:
            continue
        value = _in_effect(key, options, loaded)
        if value is None:
            yield f"# {key} is not set"
        else:
            yield f"{key} = {in_toml(value)}"
    yield "select = ["
    for rule in options.rules:
        yield f"  {in_toml(rule.code)},  # {rule.name}"
    yield "]"


def _in_effect(key: str, options: Options, loaded: LoadedConfig) -> Any:  # noqa: ANN401 - any setting
    """The value that a key comes to, with what the command line says."""
    if key == "exclude":
        return None if options.exclude is None else _globs(options.exclude)
    if key == "extend-exclude":
        return _globs(options.extend_exclude)
    if key == "per-file-ignores":
        pairs: dict[str, list[str]] = {}
        for ignore in options.file_ignores:
            name = "!" * ignore.negated + _globs([ignore.patterns])[0]
            pairs[name] = sorted({*pairs.get(name, ()), *ignore.codes})
        return pairs
    if key == "extend-per-file-ignores":
        return {}
    if key == "respect-gitignore":
        return options.respect_gitignore
    return getattr(loaded.config, key.replace("-", "_"))


def _globs(patterns: Iterable[Patterns]) -> list[str]:
    """Patterns, with the folder that they start at where it is not the working directory."""
    return [
        glob if display(each.base) == "." else f"{display(each.base)}/{glob}"
        for each in patterns
        for glob in each.globs
    ]
