"""The options of a scan, from the command line and the configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from torch_doctor import selection
from torch_doctor.cli.caching import cache_folder
from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.patterns import check, file_ignores, patterns
from torch_doctor.config import Config, ConfigError, LoadedConfig, Part, find, load, overridden
from torch_doctor.report.formats import FORMATS
from torch_doctor.rule import Level
from torch_doctor.scan import Options
from torch_doctor.selection import Layer, did_you_mean
from torch_doctor.sources.discovery import common_directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.rule import Rule
    from torch_doctor.sources.ignores import Patterns
    from torch_doctor.sources.pins import Versions

STDIN = "-"


class Flags(Struct, frozen=True, kw_only=True):
    """The options of the command line; None for those that are not given."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    isolated: bool = False
    respect_gitignore: bool = True
    force_exclude: bool = False
    ignore_noqa: bool = False
    stdin_filename: str | None = None
    caches: bool = False
    cache_dir: str | None = None


def settings(flags: Flags) -> tuple[Options, LoadedConfig]:
    """Return the options of a scan, with the configuration that they come from.

    Raises:
        UsageError: a flag or a setting is invalid.
    """
    cwd = _working_directory()
    overlay, names, paths = _paths(flags)
    loaded = _config(flags, paths)
    config, parts = loaded.config, loaded.parts
    cache = cache_folder(flags.cache_dir, loaded, paths) if flags.caches else None
    keeps = not overlay and all(map(os.path.exists, paths))  # never raises
    rules = _adjusted(installed_rules(cache, keeps=keeps), parts)
    excluding = loaded.saying("exclude")
    if flags.exclude is not None:
        exclude: tuple[Patterns, ...] | None = (patterns(cwd, flags.exclude, "--exclude"),)
    elif config.exclude is not None:
        exclude = (patterns(excluding.base, config.exclude, f"{excluding.source}: exclude"),)
    else:
        exclude = None
    chosen, hiding, quiet = _selected(flags, parts, rules)
    including = loaded.saying("include")
    include = None
    if config.include is not None:
        include = patterns(including.base, config.include, f"{including.source}: include")
    options = Options(
        paths=paths,
        rules=chosen,
        hiding=hiding,
        quiet=quiet,
        known=frozenset(selection.names_of(rules)),
        exclude=exclude,
        extend_exclude=(
            *(patterns(part.base, part.config.extend_exclude, f"{part.source}: extend-exclude") for part in parts),
            patterns(cwd, flags.extend_exclude, "--extend-exclude"),
        ),
        respect_gitignore=flags.respect_gitignore and config.respect_gitignore,
        include=include,
        force_exclude=flags.force_exclude or config.force_exclude,
        file_ignores=tuple(file_ignores(loaded, rules, flags.per_file_ignores, cwd)),
        heeds_comments=not flags.ignore_noqa,
        overlay=overlay,
        names=names,
        cache=cache,
        torch=_torch(config.torch_version, loaded.saying("torch-version").source),
    )
    return options, loaded


def fail_level(asked: str | None, loaded: LoadedConfig) -> Level:
    """Return the lowest level of findings that makes the exit status 1: from the command line, else the configuration."""
    return Level[(asked or loaded.config.fail_level or "advice").upper()]


def _torch(text: str | None, source: str) -> Versions | None:
    """Return the versions of torch from the configuration."""
    if text is None:
        return None
    from torch_doctor.sources.pins import versions  # noqa: PLC0415 - only where somebody says so

    try:
        return versions(text)
    except ValueError as error:
        message = f"{source}: `torch-version`: {error}"
        raise click.UsageError(message) from None


def formats(
    asked: Sequence[str], loaded: LoadedConfig, instead: str | None = None, *, default: str = "full"
) -> list[tuple[str, Path | None]]:
    """Return the output formats with their files; None is stdout, and `instead` a file that replaces it.

    Raises:
        UsageError: a format is not known, two want stdout, or none does although there is a file for it.
    """
    chosen: list[tuple[str, Path | None]] = []
    where = "" if asked else f"{loaded.saying('output-format').source}: output-format: "
    for text in asked or (loaded.config.output_format or default,):
        name, _, file = text.partition(":")
        if name not in FORMATS:
            hint = did_you_mean(name, FORMATS) or f"; use one of {', '.join(FORMATS)}"
            message = f"{where}unknown output format `{name}`{hint}"
            raise click.UsageError(message)
        chosen.append((name, Path(file) if file else None))
    if instead is not None:
        if all(path is not None for _, path in chosen):
            message = f"--output-file {instead} has no report to write: every output format has its own file"
            raise click.UsageError(message)
        rest = sum(path is None for _, path in chosen)
        chosen = [(name, path or (Path(instead) if rest == 1 else None)) for name, path in chosen]
    written = [path.absolute() for _, path in chosen if path is not None]
    for path in written:
        if written.count(path) > 1:
            message = f"two output formats write to `{path.name}`; give each its own file"
            raise click.UsageError(message)
    if sum(file is None for _, file in chosen) > 1:
        message = "only one output format can be written to stdout; give the others a file: `--output-format sarif:report.sarif`"
        raise click.UsageError(message)
    return chosen


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        message = f"the working directory cannot be read: {error.strerror}"
        raise click.UsageError(message) from None


def _paths(flags: Flags) -> tuple[dict[Path, bytes], dict[Path, str], tuple[Path, ...]]:
    given = list(flags.paths) or ([STDIN] if flags.stdin_filename else ["."])
    if "" in given:
        message = "empty path; use `.` for the current folder"
        raise click.UsageError(message)
    if flags.stdin_filename and STDIN not in given:
        message = f"--stdin-filename requires `-` as the path, not `{given[0]}`"
        raise click.UsageError(message)
    overlay: dict[Path, bytes] = {}
    names: dict[Path, str] = {}
    paths = []
    for text in given:
        if text == STDIN:
            path = Path(os.path.abspath(flags.stdin_filename or STDIN))  # noqa: PTH100 - links stay as they are
            overlay[path] = _stdin()
            if not flags.stdin_filename:
                names[path] = STDIN
        else:
            path = Path(os.path.abspath(text))  # noqa: PTH100
        paths.append(path)
    return overlay, names, tuple(dict.fromkeys(paths))


def _stdin() -> bytes:
    stdin: Any = sys.stdin
    if stdin is None:
        message = "stdin is closed; no source can be read"
        raise click.UsageError(message)
    raw: bytes = stdin.buffer.read()
    return raw


def _config(flags: Flags, paths: Sequence[Path]) -> LoadedConfig:
    files = [text for text in flags.config if _is_file(text)]
    if len(files) > 1:
        message = f"--config takes one file, not {files[0]} and {files[1]}: let one `extend` the other"
        raise click.UsageError(message)
    if flags.isolated and files:
        message = f"--isolated cannot be used with --config {files[0]}"
        raise click.UsageError(message)
    try:
        if flags.isolated:
            loaded = LoadedConfig(Config(), Path.cwd())
        else:
            loaded = load(Path(files[0])) if files else find(common_directory(paths))
        return overridden(loaded, [text for text in flags.config if text not in files], Path.cwd())
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _is_file(text: str) -> bool:
    """Return whether a value of `--config` is a file, and not a setting."""
    return "=" not in text or os.path.exists(text)  # noqa: PTH110 - never raises


def _adjusted(rules: tuple[Rule, ...], parts: Sequence[Part]) -> tuple[Rule, ...]:
    """Return the rules with the levels and fixes of the configuration."""
    for part in parts:
        for key in ("levels", "fixable", "unfixable", "extend-safe-fixes", "extend-unsafe-fixes"):
            check(getattr(part.config, key.replace("-", "_")) or (), rules, f"{part.source}: {key}")
    levels = [{each: Level[name.upper()] for each, name in part.config.levels.items()} for part in parts]
    return selection.adjusted(rules, levels, [part.config.fixes for part in parts])


def _selected(
    flags: Flags, parts: Sequence[Part], rules: tuple[Rule, ...]
) -> tuple[tuple[Rule, ...], tuple[Rule, ...], frozenset[str]]:
    """Return the selected rules, those that run only because their bugs hide others, and the codes without their advice."""
    sources = [f"{part.source}: " for part in parts]
    layers = (*(part.config.layer for part in parts), Layer(flags.select, flags.ignore, flags.extend_select))
    for layer, where in zip(layers, (*sources, "--"), strict=True):
        for key in ("select", "ignore", "extend_select"):
            check(getattr(layer, key) or (), rules, f"{where}{key.replace('_', '-')}")
    chosen = selection.select(rules, layers)
    return chosen, selection.hiding(rules, chosen, layers), selection.quiet(chosen, layers)
