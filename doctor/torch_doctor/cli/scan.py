"""`torch-doctor scan`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.caching import cache_folder
from torch_doctor.cli.fixing import WITH_FIXES, Fixing, fix_options, fixing, with_proposals
from torch_doctor.cli.libraries import environment
from torch_doctor.cli.printing import Printing
from torch_doctor.cli.probe_options import ProbeCommand, probe_options, probing
from torch_doctor.cli.progress import Progress
from torch_doctor.cli.settings import Flags, formats, settings, split
from torch_doctor.cli.streams import COLOURS, wants_colours
from torch_doctor.report.paint import Paint
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.cli.mending import Mended
    from torch_doctor.scan import Report

INTERRUPTED = 130  # as shells say of a process that Ctrl-C ended

Function = TypeVar("Function", bound="Callable[..., Any]")


def _list_option(name: str, help_text: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, metavar="LIST", help=help_text)


@click.command(
    "scan",
    cls=ProbeCommand,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("paths", nargs=-1)
@_list_option("--select", "Rules that speak: codes, their beginnings, names or ALL, with commas between.")
@_list_option("--ignore", "Rules that do not speak.")
@_list_option("--extend-select", "Rules that speak besides those that do anyway.")
@_list_option("--exclude", "Files and folders to leave out, instead of the usual ones.")
@_list_option("--extend-exclude", "Files and folders to leave out besides.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even where they are named.")
@_list_option("--per-file-ignores", "Rules that do not speak in some files: `tests/*.py:TDR101,...`.")
@click.option("--config", metavar="PATH", help="The configuration to use: a pyproject.toml or torch-doctor.toml.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option(
    "--cache-dir", metavar="PATH", help="Where results are kept. [default: .torch_doctor_cache in the project]"
)
@click.option("--no-cache", is_flag=True, help="Keep nothing, and use nothing that was kept.")
@click.option("--no-respect-gitignore", "gitignore", is_flag=True, flag_value=False, default=True,
              help="Look at files that git ignores, too.")  # fmt: skip
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N",
              help="Files that are looked at, and scripts that are run, side by side. [default: what is worth it]")  # fmt: skip
@click.option(
    "--shard", metavar="I/N", help="Do the part I of N of the scan; `torch-doctor merge` joins what they tell."
)
@click.option("--executor", metavar="dask:ADDRESS", help="Hand the scan to the workers of a Dask cluster, in parts.")
@click.option("--output-format", multiple=True, metavar="FORMAT[:FILE]",
              help="full, concise, json, json-lines, github or sarif; repeatable, each to its file.")  # fmt: skip
@click.option("-o", "--output-file", metavar="FILE", help="Write what would go to stdout to this file.")
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--stdin-filename", metavar="PATH", help="The file that the text on stdin is; `-` as path reads it.")
@click.option("--fail-level", type=click.Choice([level.name.lower() for level in Level]), default="advice",
              help="The least level of findings that make the status 1. [default: advice, which is any]")  # fmt: skip
@click.option("--exit-zero", is_flag=True, help="Leave with status 0 even when there are findings.")
@click.option("-v", "--verbose", is_flag=True, help="Say also what was not looked at, and why.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors only.")
@click.option("--color", type=click.Choice(COLOURS), default="auto", help="Whether to use colours.")
@click.option("--timings", is_flag=True, hidden=True)
@fix_options
@probe_options
@click.version_option(None, "--version", package_name="torch-doctor", message="torch-doctor %(version)s")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Scan files and folders (by default the current one) for bugs in training code."""
    flags = Flags(
        paths=paths,
        select=split(given["select"]) if given["select"] else None,
        ignore=split(given["ignore"]),
        extend_select=split(given["extend_select"]),
        exclude=split(given["exclude"]) if given["exclude"] else None,
        extend_exclude=split(given["extend_exclude"]),
        per_file_ignores=given["per_file_ignores"],
        config=given["config"],
        isolated=given["isolated"],
        respect_gitignore=given["gitignore"],
        force_exclude=given["force_exclude"],
        stdin_filename=given["stdin_filename"],
    )
    wanted = fixing(given)
    run = probing(given, paths, ctx)
    options, loaded = settings(flags)
    libraries = environment(given["python"], loaded.config, cache=not given["no_cache"])
    cache = None if given["no_cache"] else cache_folder(given["cache_dir"], loaded, options.paths)
    options = replace(
        options, probe=run, environment=libraries, jobs=given["jobs"] or 0, cache=cache, shard=_shard(given["shard"])
    )
    outputs = formats(given["output_format"], loaded, given["output_file"])
    options = replace(options, executor=_executor(given["executor"], options))
    if wanted is not None and options.overlay:
        raise click.UsageError("--fix writes files, and stdin is none: name the file")  # noqa: EM101, TRY003
    printing = Printing(options, outputs, color=given["color"], statistics=given["statistics"])
    with Progress(wanted=not given["quiet"], found=printing.first) as progress:
        report = _scanned(options, progress)
        if wanted is not None or WITH_FIXES.intersection(name for name, _ in outputs):
            report = with_proposals(report, options)
        mended = None
        if wanted is not None and not report.interrupted:
            from torch_doctor.cli.mending import mend  # noqa: PLC0415 - libcst is slow to import

            report, mended = mend(report, options, wanted)
    if mended is not None and wanted is not None and (wanted.diff or wanted.only):
        return _mended_only(report, mended, wanted, given)
    start = time.perf_counter()
    printing.last(report)
    report.seconds["report"] = time.perf_counter() - start
    if given["probe_output"]:
        _show_outputs(report)
    _talk(
        report, color=given["color"], verbose=given["verbose"], quiet=given["quiet"], probed=options.probe is not None
    )
    if mended is not None and wanted is not None:
        _tell(mended, wanted)
    if given["timings"]:
        for stage, seconds in report.seconds.items():
            click.echo(f"{stage:10} {seconds:8.3f} s", err=True)
    fails = bool(wanted and wanted.fails)
    return _status(report, mended, fails=fails, exit_zero=given["exit_zero"], least=Level[given["fail_level"].upper()])


def _status(report: Report, mended: Mended | None, *, fails: bool, exit_zero: bool, least: Level) -> int:
    """What the command leaves with."""
    if report.interrupted:
        return INTERRUPTED
    if report.errors or (mended and mended.errors):
        return 2
    if mended and fails and mended.findings:
        return 1
    failing = list(Level)[: list(Level).index(least) + 1]
    counted = [each for each in report.findings if each.level in failing and each.verdict is not Verdict.REFUTED]
    return int(bool(counted) and not exit_zero)


def _mended_only(report: Report, mended: Mended, wanted: Fixing, given: dict[str, Any]) -> int:
    """What is said where findings are not reported, and the status."""
    if wanted.diff:
        from torch_doctor.cli.mending import differences  # noqa: PLC0415 - as above

        for line in differences(mended):
            click.echo(line, nl=False)
    for error in (*report.errors, *mended.errors):
        click.echo(f"error: {error}", err=True)
    if not given["quiet"]:
        _tell(mended, wanted, errors=False)
    if report.errors or mended.errors:
        return 2
    return int(bool(mended.findings) and (wanted.diff or wanted.fails) and not given["exit_zero"])


def _tell(mended: Mended, wanted: Fixing, *, errors: bool = True) -> None:
    """What was mended."""
    if wanted.shows:
        for finding in mended.findings:
            click.echo(f"{finding.site}: {finding.code} {finding.name}", err=True)
    for line in (*mended.proofs, *mended.withdrawn):
        click.echo(line, err=True)
    for error in mended.errors if errors else ():
        click.echo(f"error: {error}", err=True)
    if mended.findings:
        done = "Would fix" if wanted.diff else "Fixed"
        places = _count(len(mended.after), "file")
        click.echo(f"{done} {_count(len(mended.findings), 'finding')} in {places}.", err=True)


def _scanned(options: scanning.Options, progress: Progress) -> Report:
    if not options.executor:
        return scanning.scan(options, progress)
    from torch_doctor.scan.cluster import ClusterError  # noqa: PLC0415 - only where there is one

    try:
        return scanning.scan(options, progress)
    except ClusterError as error:
        raise click.UsageError(str(error)) from None


def _executor(text: str | None, options: scanning.Options) -> str:
    """The cluster that is asked for."""
    if not text:
        return ""
    if not text.startswith("dask:") or text == "dask:":
        message = f"--executor {text}: write the address of a scheduler, such as dask:tcp://10.0.0.1:8786"
        raise click.UsageError(message)
    for what, there in (("--probe", options.probe), ("--shard", options.shard), ("stdin", options.overlay)):
        if there:
            message = f"--executor does not go with {what}"
            raise click.UsageError(message)
    return text


def _shard(text: str | None) -> scanning.Shard | None:
    """The part of a scan that is asked for."""
    if text is None:
        return None
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        message = f"--shard {text}: write the part and how many there are, such as 1/4"
        raise click.UsageError(message)
    return scanning.Shard(int(number), int(count))


def _show_outputs(report: Report) -> None:
    for name, output in report.outputs.items():
        click.echo(f"--- what {name} printed", err=True)
        click.echo(output, err=True, nl=not output.endswith("\n"))
        click.echo("---", err=True)


def _talk(report: Report, *, color: str, verbose: bool, quiet: bool, probed: bool) -> None:
    colours = wants_colours(color, sys.stderr)
    paint = Paint(colours)
    lines = []
    if verbose:
        lines += [f"{paint('note:', 'bold', 'cyan')} {note}" for note in report.notes]
    if not quiet:
        lines += [f"{paint('probe:', 'bold', 'magenta')} {remark}" for remark in report.remarks]
        lines += [f"{paint('warning:', 'bold', 'yellow')} {warning}" for warning in report.warnings]
    lines += [f"{paint('error:', 'bold', 'red')} {error}" for error in report.errors]
    if not quiet and report.files and (report.findings or not report.errors):
        lines.append(_summary(report, probed=probed))
    for line in lines:
        click.echo(line, err=True, color=colours)


def _summary(report: Report, *, probed: bool) -> str:
    looked = _count(report.files, "file")
    if not report.findings:
        return f"No findings in {looked}."
    levels = [
        _count(count, word)
        for level, word in ((Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.ADVICE, "piece of advice"))
        if (count := sum(finding.level is level for finding in report.findings))
    ]
    places = len({finding.site.path for finding in report.findings})
    verdicts = [f"{count} {verdict.value}" for verdict in Verdict if (count := _given(report, verdict))]
    said = f" The probe: {', '.join(verdicts)}." if verdicts else ""
    hints = [*_of_fixes(report), *([] if probed else ["run with --probe to confirm"])]
    hint = f"\n{'; '.join(hints)}" if hints else ""
    return f"Found {', '.join(levels)} in {_count(places, 'file')} ({looked} looked at).{said}{hint}"


def _of_fixes(report: Report) -> Iterator[str]:
    """How many findings can be mended, and by which options."""
    safe = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    more = sum(finding.fix is not None and not finding.fix.safe for finding in report.findings)
    if safe:
        yield f"{safe} can be fixed with --fix"
    if more:
        yield (
            f"{more}{' more' * bool(safe)} with --unsafe-fixes"
            if safe
            else f"{more} can be fixed with --fix --unsafe-fixes"
        )


def _given(report: Report, verdict: Verdict) -> int:
    return sum(finding.verdict is verdict for finding in report.findings)


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.replace('piece', 'pieces') if ' ' in noun else noun + 's'}"
