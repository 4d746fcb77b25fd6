"""The options of `scan` by which only some of the findings are reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.completing import Paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_doctor.config import LoadedConfig
    from torch_doctor.narrowing import Baseline, Since
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.scan import Options, Report
    from torch_doctor.scan.options import Narrowing
    from torch_doctor.sources.source import SourceFile

Function = TypeVar("Function", bound="Callable[..., Any]")
NAMED = 3
"""So many entries of a baseline are named that no longer occur."""

_OPTIONS = (
    click.option(
        "--since",
        metavar="REV",
        help="Report only findings caused by changes since a git revision. The changes start at the merge base of the "
        "revision and HEAD.",
    ),
    click.option("--baseline", type=Paths(), metavar="FILE", help="Report only findings that are not in this file."),
    click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline file."),
    click.option(
        "--named-only",
        is_flag=True,
        help="Report only findings in the given files, or with a trail through one of them.",
    ),
)


def narrowing_options(function: Function) -> Function:
    """The options of a command that reports only some of the findings."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class Narrowed:
    """What the options and the configuration leave out of the report, and what is said about that."""

    def __init__(self, since: str, baseline: Baseline | None, *, writes: bool) -> None:
        self._since = since
        self._baseline = baseline
        self._writes = writes

    def finish(self, report: Report, options: Options, *, quiet: bool) -> None:
        """Write the baseline if that is asked for, and say what is not reported.

        Raises:
            ClickException: the baseline cannot be written.
        """
        if self._baseline is not None and not (report.errors or report.interrupted):
            if self._writes:
                number = self._write(self._baseline, report, options)
                if not quiet:
                    click.echo(f"Wrote {_count(number, 'finding')} to {self._shown}.", err=True)
                return
            if options.shard is None and not options.named_only:
                report.warnings += _gone(self._baseline, report, options)
        if report.left_out and not quiet:
            number = len(report.left_out)
            reasons = [f"in {self._shown}"] if self._baseline is not None else []
            reasons += [f"not since {self._since}"] if self._since else []
            click.echo(f"{_count(number, 'finding')} not reported: {' or '.join(reasons)}.", err=True)

    @property
    def _shown(self) -> str:
        from torch_doctor.sources.discovery import display  # noqa: PLC0415 - as the option is rare

        return "" if self._baseline is None else display(self._baseline.path)

    def _write(self, baseline: Baseline, report: Report, options: Options) -> int:
        """Write the findings, which are reported no more; how many the file has then."""
        from torch_doctor.cli.streams import write_file  # noqa: PLC0415 - as the option is rare
        from torch_doctor.rule import Verdict  # noqa: PLC0415

        kept = [finding for finding in report.findings if finding.verdict is not Verdict.REFUTED]
        written = baseline.written(baseline.counted(kept, report.sources), options.paths, _asked(options))
        write_file(Path(self._shown), written.text())
        report.findings[:] = [finding for finding in report.findings if finding not in kept]
        report.left_out += kept
        return written.entries.total()


def narrowing(given: dict[str, Any], options: Options, loaded: LoadedConfig) -> tuple[Options, Narrowed | None]:
    """The options with what is left out; None where everything is reported.

    Raises:
        UsageError: git cannot tell what has changed, the baseline cannot be used, or options contradict each other.
    """
    options = replace(options, named_only=given["named_only"])
    path = _path(given, loaded)
    if given["write_baseline"]:
        _check_writing(given, options, path)
    if path is None and given["since"] is None:
        return options, None
    from torch_doctor.narrowing import Baseline, BaselineError, GitError, Since  # noqa: PLC0415 - as the options are rare

    narrowing: list[Narrowing] = []
    baseline = None
    if path is not None:
        try:
            new = given["write_baseline"] and not path.exists()
            baseline = Baseline(path, {}) if new else Baseline.read(path)
        except BaselineError as error:
            raise click.UsageError(str(error)) from None
        if not given["write_baseline"]:
            narrowing.append(baseline)
    if given["since"] is not None:
        try:
            narrowing.append(_Asking(Since(options, given["since"], scanning.scan)))
        except GitError as error:
            raise click.UsageError(_of_git(error)) from None
    narrowed = Narrowed(given["since"] or "", baseline, writes=given["write_baseline"])
    return replace(options, narrowing=tuple(narrowing)), narrowed


class _Asking:
    """What `--since` leaves out; that git fails meanwhile is an error of usage."""

    def __init__(self, since: Since) -> None:
        self._asked = since

    def reported(self, findings: Sequence[Finding], sources: Mapping[str, SourceFile]) -> list[tuple[Finding, bool]]:
        """The findings, each with whether it is reported."""
        from torch_doctor.narrowing import GitError  # noqa: PLC0415 - it is imported by now

        try:
            return self._asked.reported(findings, sources)
        except GitError as error:
            raise click.UsageError(_of_git(error)) from None


def _of_git(error: Exception) -> str:
    return f"--since: {error}"


def _path(given: dict[str, Any], loaded: LoadedConfig) -> Path | None:
    """The file of the baseline."""
    if given["baseline"]:
        return Path(given["baseline"]).absolute()
    return loaded.saying("baseline").base / loaded.config.baseline if loaded.config.baseline else None


def _check_writing(given: dict[str, Any], options: Options, path: Path | None) -> None:
    if path is None:
        message = "--write-baseline needs a file: name it with --baseline, or as `baseline` in the configuration"
        raise click.UsageError(message)
    partial = ("since", "shard", "named_only", "fix", "diff", "fix_only")
    for name in partial:
        if given[name]:
            message = f"--write-baseline writes all findings: leave out --{name.replace('_', '-')}"
            raise click.UsageError(message)
    if options.overlay:
        message = "--write-baseline writes findings in files, and stdin is none: name the file"
        raise click.UsageError(message)


def _asked(options: Options) -> list[Rule]:
    """The rules that could find something: some only where scripts are run."""
    return [rule for rule in options.rules if options.probe is not None or "S" in rule.witness]


def _gone(baseline: Baseline, report: Report, options: Options) -> Iterator[str]:
    """What there is to say about entries that no longer occur."""
    found = baseline.counted([*report.findings, *report.left_out], report.sources)
    gone = baseline.gone(found, options.paths, _asked(options))
    if not gone:
        return
    from torch_doctor.sources.discovery import display  # noqa: PLC0415 - as the option is rare

    named = [f"{each.code} in {each.path}" for each in sorted(gone)]
    listed = ", ".join(dict.fromkeys(named[:NAMED])) + ", ..." * (len(named) > NAMED)
    yield f"{_count(gone.total(), 'finding')} in {display(baseline.path)} no longer found ({listed}): --write-baseline removes them"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
