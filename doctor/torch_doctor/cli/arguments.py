"""The arguments and options of commands, as types.

The decorators of click define their names, help and defaults. `received` checks that what click hands over has these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

Arguments = TypeVar("Arguments", bound=Struct)


class RunArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `scan`, `trace`, `checkup` and `diagnose` run a script."""

    device: str | None
    python: str | None
    script_arguments: tuple[str, ...] | None = None
    """The arguments after `--`; None if there is no `--`."""


class ProbeArguments(RunArguments, frozen=True, kw_only=True):
    """The options of commands with `--probe`."""

    probe: str | None
    probe_timeout: float | None
    """In seconds."""
    probe_memory: int | None
    """In MiB."""
    probe_processes: int | None
    probe_server: bool
    probe_output: bool
    probe_flags: bool
    jobs: int | None = None


class TraceArguments(ProbeArguments, frozen=True, kw_only=True):
    """The arguments of `trace`."""

    file: str
    output_format: str
    color: str
    shapes: bool
    data: bool
    gradients: bool


class ScanArguments(ProbeArguments, frozen=True, kw_only=True):
    """The arguments of `scan`."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    exclude: tuple[str, ...]
    extend_exclude: tuple[str, ...]
    force_exclude: bool
    ignore_noqa: bool
    per_file_ignores: tuple[str, ...]
    config: tuple[str, ...]
    add_noqa: str | None
    """The reason, which may be empty; None without the option."""
    watch: bool
    show_settings: bool
    show_files: bool
    isolated: bool
    cache_dir: str | None
    no_cache: bool
    gitignore: bool
    shard: str | None
    executor: str | None
    output_format: tuple[str, ...]
    output_file: str | None
    statistics: bool
    stdin_filename: str | None
    fail_level: str | None
    fail_conditional: bool
    exit_zero: bool
    verbose: bool
    quiet: bool
    color: str
    timings: bool

    since: str | None
    baseline: str | None
    write_baseline: bool
    accept_new: bool
    baseline_strict: bool
    named_only: bool

    fix: bool
    unsafe_fixes: bool
    diff: bool
    fix_only: bool
    show_fixes: bool
    exit_non_zero_on_fix: bool


class ExamineArguments(RunArguments, frozen=True, kw_only=True):
    """The options that `checkup` and `diagnose` share."""

    seconds: float
    memory: int | None
    """In MiB."""
    config: tuple[str, ...]
    isolated: bool
    quiet: bool
    every: bool = False
    examples: int | None = None
    show_samples: bool = False
    fail_level: str | None = None


class CheckupArguments(ExamineArguments, frozen=True, kw_only=True):
    """The arguments of `checkup`."""

    script: str
    html: str | None
    json: str | None
    markdown: str | None
    export_errors: str | None


class DiagnoseArguments(ExamineArguments, frozen=True, kw_only=True):
    """The arguments of `diagnose`."""

    symptom: str | None
    script: str | None
    lists: bool


def received(given: Mapping[str, Any], kind: type[Arguments]) -> Arguments:
    """Return what click hands over to a command, as a type.

    Raises:
        ValidationError: a name is missing or unknown, or a value has another type.
    """
    return msgspec.convert(given, kind)
