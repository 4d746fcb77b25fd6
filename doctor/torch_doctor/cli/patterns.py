"""File patterns and per-file ignores, from options and configuration."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click

from torch_doctor import selection
from torch_doctor.scan import FileIgnore
from torch_doctor.selection import UnknownSelectorError
from torch_doctor.sources.ignores import Patterns, is_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.config import LoadedConfig, Part
    from torch_doctor.rule import Rule


def split(values: Iterable[str]) -> tuple[str, ...]:
    """Return the members of comma-separated lists."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def check(selectors: Iterable[str], rules: Sequence[Rule], where: str) -> None:
    """Make sure that every selector names a rule; `where` starts the error message.

    Raises:
        UsageError: a selector names no rule.
    """
    try:
        selection.check(selectors, rules, where)
    except UnknownSelectorError as error:
        raise click.UsageError(str(error)) from None


def _pairs(values: Iterable[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
    pairs: dict[str, list[str]] = defaultdict(list)
    for text in split(values):
        pattern, colon, selector = text.rpartition(":")
        if not colon or not pattern or not selector:
            message = f"--per-file-ignores: `{text}` is not a `pattern:selector` such as `tests/*.py:TDR101`"
            raise click.UsageError(message)
        pairs[pattern].append(selector)
    return [(pattern, tuple(selectors)) for pattern, selectors in pairs.items()]


def patterns(base: Path, globs: tuple[str, ...], where: str) -> Patterns:
    """Return patterns relative to a folder; `where` starts the error message.

    Raises:
        UsageError: one is not a pattern.
    """
    for glob in globs:
        if not is_pattern(glob):
            message = f"{where}: `{glob}` is not a file pattern such as `tests/*.py`"
            raise click.UsageError(message)
    return Patterns(base, globs)


def file_ignores(
    loaded: LoadedConfig, rules: Sequence[Rule], options: Iterable[str], cwd: Path
) -> Iterator[FileIgnore]:
    """Yield the per-file ignores of the configuration, then those of `--per-file-ignores`.

    Raises:
        UsageError: a pattern is invalid, or a selector names no rule.
    """
    for part in loaded.parts:
        yield from _of_part(part, loaded, rules)
    yield from _file_ignores(_pairs(options), cwd, rules, "--per-file-ignores")


def _of_part(part: Part, loaded: LoadedConfig, rules: Sequence[Rule]) -> Iterator[FileIgnore]:
    """Yield the per-file ignores of one part of the configuration; the last `per-file-ignores` replaces earlier ones."""
    for key in ("per-file-ignores", "extend-per-file-ignores"):
        if key.startswith("extend") or part is loaded.saying(key):
            pairs = getattr(part.config, key.replace("-", "_")).items()
            yield from _file_ignores(pairs, part.base, rules, f"{part.source}: {key}")


def _file_ignores(
    pairs: Iterable[tuple[str, tuple[str, ...]]], base: Path, rules: Sequence[Rule], where: str
) -> Iterator[FileIgnore]:
    for pattern, selectors in pairs:
        check(selectors, rules, where)
        codes = frozenset(rule.code for rule in rules for selector in selectors if selection.matches(selector, rule))
        negated = pattern.startswith("!")
        yield FileIgnore(patterns(base, (pattern[negated:],), where), codes, negated)
