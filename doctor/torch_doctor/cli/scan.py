"""`torch-doctor scan`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.arguments import ScanArguments, received
from torch_doctor.cli.completing import Paths
from torch_doctor.cli.fixing import WITH_FIXES, Fixing, fix_options, fixing, with_proposals
from torch_doctor.cli.grouping import EXIT_CODES
from torch_doctor.cli.libraries import environment
from torch_doctor.cli.narrowing import narrowing, narrowing_options
from torch_doctor.cli.options import scan_options
from torch_doctor.cli.patterns import split
from torch_doctor.cli.printing import Printing
from torch_doctor.cli.probe_options import ProbeCommand, check_probing, probe_options, probing
from torch_doctor.cli.progress import Progress
from torch_doctor.cli.settings import Flags, fail_level, formats, settings
from torch_doctor.cli.streams import write_bytes
from torch_doctor.cli.telling import show_outputs, talk, tell_mended
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.config import LoadedConfig
    from torch_doctor.mending import Mended
    from torch_doctor.scan import Report

INTERRUPTED = 130  # as shells say of a process that Ctrl-C ended


EXAMPLES = {
    "torch-doctor scan": "scan the current folder",
    "torch-doctor scan train.py --probe": "confirm findings by a run",
    "torch-doctor scan train.py --probe -- --lr 0.1": "pass arguments to the script",
    "torch-doctor scan train.py --fix --diff": "preview the safe fixes",
    "torch-doctor scan --since main": "only what a branch adds",
}


@click.command("scan", cls=ProbeCommand, examples=EXAMPLES, exit_codes=EXIT_CODES)
@click.argument("paths", nargs=-1, type=Paths())
@scan_options
@narrowing_options
@fix_options
@probe_options
@click.version_option(
    None,
    "--version",
    package_name="torch-doctor",
    message="torch-doctor %(version)s",
    help="Show the version and exit.",
)
def command(**options: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Scan PATHS (default: the current folder) for bugs in training code."""
    given = received(options, ScanArguments)
    if given.show_settings or given.show_files:
        from torch_doctor.cli.showing import show  # noqa: PLC0415 - few ask for it

        return show(*settings(_flags(given)), given)
    if given.watch:
        from torch_doctor.cli.watching import watch  # noqa: PLC0415 - few ask for it

        return watch(lambda: _once(given), given.paths or (".",), quiet=given.quiet)
    return _once(given)


def _once(given: ScanArguments) -> int:
    """Scan, fix and report as the options require; return the exit status."""
    wanted = fixing(given)
    check_probing(given, given.paths)
    options, loaded = settings(_flags(given))
    run = probing(given, given.paths, loaded)
    libraries = environment(given.python, loaded, cache=not given.no_cache)
    options = replace(options, probe=run, environment=libraries, jobs=given.jobs or 0, shard=_shard(given.shard))
    default = "short" if given.watch else "full"
    outputs = formats(given.output_format, loaded, given.output_file, default=default)
    options = replace(options, executor=_executor(given.executor, options))
    options, narrowed = narrowing(given, options, loaded)
    echoes = _fixes_stdin(wanted, options)
    printing = Printing(options, outputs, color=given.color, statistics=given.statistics, err=echoes)
    with Progress(wanted=not given.quiet, found=printing.first) as progress:
        report = _scanned(options, progress)
        if wanted is not None or WITH_FIXES.intersection(name for name, _ in outputs):
            report = with_proposals(report, options)
        mended = None
        if wanted is not None and not report.interrupted:
            from torch_doctor.cli.mending import mend  # noqa: PLC0415 - libcst is slow to import

            report, mended = mend(report, options, wanted)
        if echoes:
            from torch_doctor.cli.mending import fixed_stdin  # noqa: PLC0415 - as above

            write_bytes(fixed_stdin(mended, options))
    if narrowed is not None:
        narrowed.finish(report, options, quiet=given.quiet)
    instead = _instead(report, options, mended, wanted, given)
    stale = narrowed is not None and narrowed.stale
    if instead is not None:
        return instead or int(stale)
    report.warnings[:0] = loaded.warnings
    start = time.perf_counter()
    printing.last(report)
    report.seconds["report"] = time.perf_counter() - start
    if given.probe_output:
        show_outputs(report)
    talk(
        report,
        color=given.color,
        verbose=given.verbose,
        quiet=given.quiet,
        hints=list(_hints(report, options, given)),
    )
    if mended is not None and wanted is not None:
        tell_mended(mended, wanted)
    if given.timings:
        for stage, seconds in report.seconds.items():
            click.echo(f"{stage:10} {seconds:8.3f} s", err=True)
    fails = bool(wanted and wanted.fails)
    status = _status(report, mended, given, loaded, fails=fails)
    return status or int(stale and not given.exit_zero)


def _hints(report: Report, options: scanning.Options, given: ScanArguments) -> Iterator[str]:
    """Yield what to do next: confirm findings by a run; where there are none, check further."""
    if report.findings or report.left_out or given.watch:
        witnesses = {rule.code: rule.witness for rule in options.rules}
        if options.probe is None and any("P" in witnesses.get(finding.code, "") for finding in report.findings):
            yield "confirm with --probe"
        return
    paths = given.paths
    script = paths[0] if len(paths) == 1 and paths[0].endswith((".py", ".ipynb")) else "SCRIPT"
    yield f"try {'--probe or ' * (options.probe is None)}`torch-doctor checkup {script}`"
    if report.notes and not given.verbose:
        yield "-v lists what was skipped"


def _fixes_stdin(wanted: Fixing | None, options: scanning.Options) -> bool:
    """Return whether the fixed source goes to stdout, as it was read from stdin."""
    if wanted is not None and options.overlay and len(options.paths) > 1:
        message = "--fix cannot be used with stdin and another path"
        raise click.UsageError(message)
    return wanted is not None and not wanted.diff and bool(options.overlay)


def _flags(given: ScanArguments) -> Flags:
    """Return the options that are combined with the configuration."""
    return Flags(
        paths=given.paths,
        select=split(given.select) if given.select else None,
        ignore=split(given.ignore),
        extend_select=split(given.extend_select),
        exclude=split(given.exclude) if given.exclude else None,
        extend_exclude=split(given.extend_exclude),
        per_file_ignores=given.per_file_ignores,
        config=given.config,
        isolated=given.isolated,
        respect_gitignore=given.gitignore,
        force_exclude=given.force_exclude,
        ignore_noqa=given.ignore_noqa and given.add_noqa is None,  # what is suppressed needs no second comment
        stdin_filename=given.stdin_filename,
        caches=not (given.no_cache or given.show_settings or given.show_files),
        cache_dir=given.cache_dir,
    )


def _status(report: Report, mended: Mended | None, given: ScanArguments, loaded: LoadedConfig, *, fails: bool) -> int:
    """Return the exit status; findings that need other settings than the defaults of the script count only if asked for."""
    if report.interrupted:
        return INTERRUPTED
    if report.errors or (mended and mended.errors):
        return 2
    if mended and fails and mended.findings:
        return 1
    failing = list(Level)[: list(Level).index(fail_level(given.fail_level, loaded)) + 1]
    conditional = given.fail_conditional or loaded.config.fail_conditional
    counted = [
        each
        for each in report.findings
        if each.level in failing and each.verdict is not Verdict.REFUTED and (conditional or not each.condition)
    ]
    return int(bool(counted) and not given.exit_zero)


def _instead(
    report: Report, options: scanning.Options, mended: Mended | None, wanted: Fixing | None, given: ScanArguments
) -> int | None:
    """Return the exit status if findings are only fixed or suppressed; None if they are to be reported."""
    if given.add_noqa is not None:
        for what, there in (("--fix", wanted), ("stdin", options.overlay)):
            if there:
                message = f"--add-noqa cannot be used with {what}"
                raise click.UsageError(message)
        from torch_doctor.cli.noting import add_noqa  # noqa: PLC0415 - libcst is slow to import

        return add_noqa(report, options, given.add_noqa.strip(), quiet=given.quiet)
    if mended is not None and wanted is not None and (wanted.diff or wanted.only):
        return _mended_only(report, mended, wanted, given)
    return None


def _mended_only(report: Report, mended: Mended, wanted: Fixing, given: ScanArguments) -> int:
    """Print what was fixed, without findings, and return the exit status."""
    if wanted.diff:
        from torch_doctor.cli.mending import differences  # noqa: PLC0415 - as above

        for line in differences(mended):
            click.echo(line, nl=False)
    for error in (*report.errors, *mended.errors):
        click.echo(f"error: {error}", err=True)
    if not given.quiet:
        tell_mended(mended, wanted, errors=False)
    if report.errors or mended.errors:
        return 2
    return int(bool(mended.findings) and (wanted.diff or wanted.fails) and not given.exit_zero)


def _scanned(options: scanning.Options, progress: Progress) -> Report:
    if not options.executor:
        return scanning.scan(options, progress)
    from torch_doctor.scan.cluster import ClusterError  # noqa: PLC0415 - only where there is one

    try:
        return scanning.scan(options, progress)
    except ClusterError as error:
        raise click.UsageError(str(error)) from None


def _executor(text: str | None, options: scanning.Options) -> str:
    """Return the checked value of `--executor`; "" without it."""
    if not text:
        return ""
    if not text.startswith("dask:") or text == "dask:":
        message = f"invalid --executor `{text}`: pass the address of a scheduler, such as `dask:tcp://10.0.0.1:8786`"
        raise click.UsageError(message)
    for what, there in (("--probe", options.probe), ("--shard", options.shard), ("stdin", options.overlay)):
        if there:
            message = f"--executor cannot be used with {what}"
            raise click.UsageError(message)
    return text


def _shard(text: str | None) -> scanning.Shard | None:
    """Return the checked value of `--shard`."""
    if text is None:
        return None
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        message = f"invalid --shard `{text}`: pass the part and the number of parts, such as `1/4`"
        raise click.UsageError(message)
    return scanning.Shard(int(number), int(count))
