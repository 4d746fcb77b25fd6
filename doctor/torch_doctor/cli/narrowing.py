"""The options of `scan` that report only some of the findings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.completing import Paths
from torch_doctor.cli.streams import is_terminal

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence

    from torch_doctor.cli.arguments import ScanArguments
    from torch_doctor.config import LoadedConfig
    from torch_doctor.narrowing import Baseline, Since
    from torch_doctor.narrowing.baseline import Entry
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.scan import Options, Report
    from torch_doctor.scan.options import Narrowing
    from torch_doctor.sources.source import SourceFile

Function = TypeVar("Function", bound="Callable[..., Any]")
NAMED = 3
"""The most entries of a baseline that one line names."""
LISTED = 10
"""The most new findings that are listed before they are accepted."""

_OPTIONS = (
    click.option(
        "--since",
        metavar="REV",
        help="Report only findings caused by changes since a git revision. The changes start at the merge base of the "
        "revision and HEAD.",
    ),
    click.option("--baseline", type=Paths(), metavar="FILE", help="Report only findings that are not in this file."),
    click.option(
        "--write-baseline",
        is_flag=True,
        help="Create or update the baseline file. An update asks before it adds new findings; without a terminal, it fails.",
    ),
    click.option("--accept-new", is_flag=True, help="Let --write-baseline add new findings without asking."),
    click.option(
        "--baseline-strict",
        is_flag=True,
        help="Exit with status 1 if the baseline has entries that no longer match a finding, and list them.",
    ),
    click.option(
        "--named-only",
        is_flag=True,
        help="Report only findings in the given files, or whose explanation includes a line in one of them.",
    ),
)


def narrowing_options(function: Function) -> Function:
    """Add the options that report only some of the findings to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class Narrowed:
    """The baseline and the revision that leave findings out of a report."""

    def __init__(self, given: ScanArguments, baseline: Baseline | None) -> None:
        self._since = given.since or ""
        self._baseline = baseline
        self._writes = given.write_baseline
        self._accepts = given.accept_new
        self._strict = given.baseline_strict
        self.stale = False
        """Whether the baseline has stale entries, and `--baseline-strict` is given."""

    def finish(self, report: Report, options: Options, *, quiet: bool) -> None:
        """Write the baseline if that is asked for, and tell which findings are not reported.

        Raises:
            ClickException: the baseline cannot be written.
        """
        if self._baseline is not None and not (report.errors or report.interrupted):
            if self._writes and self._written(self._baseline, report, options, quiet=quiet):
                return
            if not self._writes and options.shard is None and not options.named_only:
                self._check(self._baseline, report, options)
        if report.left_out and not quiet:
            number = len(report.left_out)
            reasons = [f"in {self._shown}"] if self._baseline is not None else []
            reasons += [f"not since {self._since}"] if self._since else []
            click.echo(f"{_count(number, 'finding')} not reported: {' or '.join(reasons)}.", err=True)

    @property
    def _shown(self) -> str:
        from torch_doctor.sources.discovery import display  # noqa: PLC0415 - as the option is rare

        return "" if self._baseline is None else display(self._baseline.path)

    def _written(self, baseline: Baseline, report: Report, options: Options, *, quiet: bool) -> bool:
        """Write the baseline, whose findings are then not reported; False if new findings are not accepted."""
        from torch_doctor.cli.streams import write_file  # noqa: PLC0415 - as the option is rare
        from torch_doctor.rule import Verdict  # noqa: PLC0415

        kept = [finding for finding in report.findings if finding.verdict is not Verdict.REFUTED]
        written = baseline.written(baseline.counted(kept, report.sources), options.paths, _asked(options))
        new, removed = written.entries - baseline.entries, baseline.entries - written.entries
        exists = baseline.path.exists()
        if exists and new and not self._accepts and not self._accepted(new, removed, report):
            report.narrow([baseline])
            return False
        write_file(Path(self._shown), written.text())
        report.findings[:] = [finding for finding in report.findings if finding not in kept]
        report.left_out += kept
        if not quiet:
            changes = f" ({new.total()} new, {removed.total()} removed)" if exists and (new or removed) else ""
            click.echo(f"Wrote {_count(written.entries.total(), 'finding')} to {self._shown}{changes}.", err=True)
        return True

    def _accepted(self, new: Counter[Entry], removed: Counter[Entry], report: Report) -> bool:
        """Ask whether to add new findings to the baseline; without a terminal, that is an error of the report."""
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            one = new.total() == 1
            what = f"{_count(new.total(), 'finding')} {'is' if one else 'are'} not in {self._shown} ({_named(new)})"
            them = "it" if one else "them"
            report.errors.append(f"{what}; fix {them}, or accept {them} with --accept-new")
            return False
        click.echo(f"{self._shown}: {_count(new.total(), 'new finding')}, {removed.total()} removed.", err=True)
        for each in sorted(new)[:LISTED]:
            click.echo(f"  new: {each.in_words()}", err=True)
        if len(new) > LISTED:
            click.echo(f"  and {len(new) - LISTED} more", err=True)
        return click.confirm("Add the new findings to the baseline?", err=True)

    def _check(self, baseline: Baseline, report: Report, options: Options) -> None:
        """Report stale entries: one warning, or with `--baseline-strict` all of them."""
        found = baseline.counted([*report.findings, *report.left_out], report.sources)
        gone = baseline.gone(found, options.paths, _asked(options))
        if not gone:
            return
        what = f"{_count(gone.total(), 'entry')} in {self._shown} no longer {'match' if gone.total() > 1 else 'matches'} a finding"
        if not self._strict:
            report.warnings.append(
                f"{what} ({_named(gone)}): --write-baseline removes {'them' if gone.total() > 1 else 'it'}"
            )
            return
        self.stale = True
        click.echo(f"{what}; --write-baseline removes {'them' if gone.total() > 1 else 'it'}:", err=True)
        for each in sorted(gone):
            click.echo(f"  {each.in_words()}", err=True)


def narrowing(given: ScanArguments, options: Options, loaded: LoadedConfig) -> tuple[Options, Narrowed | None]:
    """Return the options with what they leave out; None if everything is reported.

    Raises:
        UsageError: git cannot tell what has changed, the baseline cannot be used, or options contradict each other.
    """
    options = replace(options, named_only=given.named_only)
    path = _path(given, loaded)
    _check_baseline(given, path)
    if given.write_baseline:
        _check_writing(given, options, path)
    if path is None and given.since is None:
        return options, None
    from torch_doctor.narrowing import Baseline, BaselineError, GitError, Since  # noqa: PLC0415 - as the options are rare

    narrowing: list[Narrowing] = []
    baseline = None
    if path is not None:
        try:
            new = given.write_baseline and not path.exists()
            baseline = Baseline(path, {}) if new else Baseline.read(path)
        except BaselineError as error:
            raise click.UsageError(str(error)) from None
        if not given.write_baseline:
            narrowing.append(baseline)
    if given.since is not None:
        try:
            narrowing.append(_Asking(Since(options, given.since, scanning.scan)))
        except GitError as error:
            raise click.UsageError(_of_git(error)) from None
    return replace(options, narrowing=tuple(narrowing)), Narrowed(given, baseline)


class _Asking:
    """The findings that `--since` leaves out; a failure of git is a usage error."""

    def __init__(self, since: Since) -> None:
        self._asked = since

    def reported(self, findings: Sequence[Finding], sources: Mapping[str, SourceFile]) -> list[tuple[Finding, bool]]:
        """Return the findings, each with whether it is reported."""
        from torch_doctor.narrowing import GitError  # noqa: PLC0415 - it is imported by now

        try:
            return self._asked.reported(findings, sources)
        except GitError as error:
            raise click.UsageError(_of_git(error)) from None


def _of_git(error: Exception) -> str:
    return f"--since: {error}"


def _path(given: ScanArguments, loaded: LoadedConfig) -> Path | None:
    """Return the path of the baseline; None if there is none."""
    if given.baseline:
        return Path(given.baseline).absolute()
    return loaded.saying("baseline").base / loaded.config.baseline if loaded.config.baseline else None


def _check_baseline(given: ScanArguments, path: Path | None) -> None:
    """Make sure that the options of the baseline go together.

    Raises:
        UsageError: they do not.
    """
    if given.accept_new and not given.write_baseline:
        message = "--accept-new requires --write-baseline"
        raise click.UsageError(message)
    if not given.baseline_strict:
        return
    if path is None:
        message = "--baseline-strict needs a baseline: name it with --baseline, or as `baseline` in the configuration"
        raise click.UsageError(message)
    for option, there in (
        ("--write-baseline", given.write_baseline),
        ("--shard", given.shard),
        ("--named-only", given.named_only),
    ):
        if there:
            message = f"--baseline-strict does not work with {option}"
            raise click.UsageError(message)


def _check_writing(given: ScanArguments, options: Options, path: Path | None) -> None:
    if path is None:
        message = "--write-baseline needs a file: name it with --baseline, or as `baseline` in the configuration"
        raise click.UsageError(message)
    for option, there in (
        ("--since", given.since),
        ("--shard", given.shard),
        ("--named-only", given.named_only),
        ("--fix", given.fix),
        ("--diff", given.diff),
        ("--fix-only", given.fix_only),
    ):
        if there:
            message = f"--write-baseline needs all findings: remove {option}"
            raise click.UsageError(message)
    if options.overlay:
        message = "--write-baseline does not work with stdin: name the file"
        raise click.UsageError(message)


def _asked(options: Options) -> list[Rule]:
    """Return the rules that can report something: some need a run."""
    return [rule for rule in options.rules if options.probe is not None or "S" in rule.witness]


def _named(entries: Counter[Entry]) -> str:
    """Return the first entries in one line."""
    named = [f"{each.code} in {each.path}" for each in sorted(entries)]
    return ", ".join(dict.fromkeys(named[:NAMED])) + ", ..." * (len(named) > NAMED)


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"
