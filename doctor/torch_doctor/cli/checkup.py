"""`torch-doctor checkup`."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from torch_doctor.checkup.telling.terminal import Lines, signs_for, summary
from torch_doctor.cli.arguments import CheckupArguments, ExamineArguments, received
from torch_doctor.cli.completing import Paths
from torch_doctor.cli.grouping import EXIT_CODES, ExplainedCommand
from torch_doctor.cli.libraries import environment
from torch_doctor.cli.probe_options import DEVICES, END, SCRIPT_ARGUMENTS, configured, with_options
from torch_doctor.cli.settings import Flags, fail_level, settings
from torch_doctor.cli.streams import is_terminal, wants_colours, write, write_file
from torch_doctor.report.paint import Paint
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.checkup.outcome import Checkup
    from torch_doctor.checkup.running import Examined

INTERRUPTED = 130
SECONDS = 120.0


class CheckupCommand(ExplainedCommand):
    """A command whose arguments after `--` belong to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the script's own arguments, and parse the others."""
        if END in args:
            place = args.index(END)
            ctx.params[SCRIPT_ARGUMENTS] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


EXAMPLES = {
    "torch-doctor checkup train.py": "print a summary",
    "torch-doctor checkup train.py --html report.html": "also write an HTML page",
    "torch-doctor checkup train.py -- --lr 0.1": "pass arguments to the script",
}


@click.command(
    "checkup",
    cls=CheckupCommand,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=EXAMPLES,
    exit_codes=EXIT_CODES | {"1": "A failed rung, findings, or a script that stops with an error before it trains."},
)
@click.argument("script", type=Paths())
@click.option(
    "--html", type=Paths(), metavar="FILE", help="Write the report as an HTML page (needs the extra `report`)."
)
@click.option("--json", type=Paths(), metavar="FILE", help="Write all results as JSON; `-` writes to stdout.")
@click.option(
    "--markdown", type=Paths(), metavar="FILE", help="Write a readiness note in Markdown; `-` writes to stdout."
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    default=SECONDS,
    help=f"Time limit for the checkup. [default: {SECONDS:g}]",
)
@click.option("--all", "every", is_flag=True, help="Also climb rungs that a failed rung makes meaningless.")
@click.option(
    "--examples",
    type=click.IntRange(min=2),
    metavar="N",
    help="Number of samples of the batch that `overfit-one-batch` trains on. [default: all]",
)
@click.option(
    "--export-errors",
    type=Paths(),
    metavar="FILE",
    help="Write the samples with the highest loss as CSV; `-` writes to stdout.",
)
@click.option(
    "--show-samples",
    is_flag=True,
    help="Include samples of the data in reports even if the environment variable `CI` is set.",
)
@click.option("--device", type=click.Choice(DEVICES), help="Device on which the script runs. [default: auto]")
@click.option("--python", type=Paths(), metavar="PATH", help="Python interpreter or environment that runs the script.")
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Memory limit for the script, in MiB. [default: three quarters of the free memory]",
)
@click.option(
    "--config",
    type=Paths(),
    multiple=True,
    metavar="PATH|KEY=VALUE",
    help="Configuration file or setting, as for `scan`.",
)
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option(
    "--fail-level",
    type=click.Choice([level.name.lower() for level in Level]),
    metavar="LEVEL",
    help="Lowest level that sets exit status 1: error, warning or advice. [default: advice]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def command(**arguments: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Run a training script and check its data, loss, gradients and reproducibility, rung by rung of a debug ladder.

    The script runs until its first optimizer step and then repeats that step on batches that the checkup chooses.
    Arguments after `--` go to the script.
    """
    given = received(arguments, CheckupArguments)
    if given.html:
        _check_extra()
    examined, least = examine(given.script, given)
    _tell(examined.checkup, given)
    for error in examined.report.errors:
        click.echo(f"error: {error}", err=True)
    return status(examined, least)


def examine(script: str, given: ExamineArguments, *, rungs: tuple[str, ...] | None = None) -> tuple[Examined, Level]:
    """Run a checkup of a script, and return it with the lowest level of findings that makes the exit status 1.

    `rungs` are those to climb; all by default.

    Raises:
        UsageError: the script or an option means nothing.
    """
    from torch_doctor.checkup.running import Wanted, checkup  # noqa: PLC0415 - slow to import

    path = Path(script)
    if not path.is_file():
        what = "is a folder: pass the training script" if path.is_dir() else "does not exist"
        message = f"{script} {what}"
        raise click.UsageError(message)
    options, loaded = settings(Flags(paths=(script,), config=given.config, isolated=given.isolated))
    how = with_options(replace(configured(loaded), seconds=SECONDS), given)
    how = replace(how, memory=(given.memory or 0) << 20)
    options = replace(options, probe=how, environment=environment(given.python, loaded))
    wanted = Wanted(
        scan=options,
        script=options.paths[0],
        shown=script,
        seconds=given.seconds,
        every=given.every,
        examples=given.examples or 0,
        samples=given.show_samples or not os.environ.get("CI"),
    )
    if rungs is not None:
        wanted = replace(wanted, rungs=rungs, every=True)
    paint = Paint(wants_colours("auto", sys.stderr))
    with Lines(sys.stderr, live=is_terminal(sys.stderr), paint=paint, wanted=not given.quiet) as lines:
        return checkup(wanted, lines, lines), fail_level(given.fail_level, loaded)


def _tell(checked: Checkup, given: CheckupArguments) -> None:
    """Write what is wanted to its files, and the summary unless stdout is taken."""
    written = ((given.json, _json), (given.markdown, _markdown), (given.html, _html), (given.export_errors, _errors))
    for file, make in written:
        if file == "-":
            write(make(checked))
        elif file:
            write_file(Path(file), make(checked))
    if not given.quiet and "-" not in (file for file, _ in written):
        colours = wants_colours("auto", sys.stdout)
        paint = Paint(colours, links=is_terminal(sys.stdout))
        charts = colours or is_terminal(sys.stdout)
        write(summary(checked, paint, signs=signs_for(sys.stdout), charts=charts), colours=colours)


def _json(checked: Checkup) -> str:
    from torch_doctor.checkup.recording import text  # noqa: PLC0415 - only where it is wanted

    return text(checked)


def _markdown(checked: Checkup) -> str:
    from torch_doctor.checkup.telling.note import note  # noqa: PLC0415 - only where it is wanted

    return note(checked)


def _html(checked: Checkup) -> str:
    from torch_doctor.checkup.telling.page import page  # noqa: PLC0415 - slow to import

    return page(checked)


def _errors(checked: Checkup) -> str:
    from torch_doctor.checkup.telling.table import table  # noqa: PLC0415 - only where it is wanted

    return table(checked)


def _check_extra() -> None:
    """Make sure that a page can be drawn, before anything runs.

    Raises:
        UsageError: it cannot.
    """
    missing = [name for name in ("jinja2", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        message = f"--html needs {' and '.join(missing)}: run `pip install 'torch-doctor[report]'`"
        raise click.UsageError(message)


def status(examined: Examined, least: Level) -> int:
    """Return the exit status: 1 if a rung failed or there are findings, 2 for errors."""
    from torch_doctor.checkup.running import failed  # noqa: PLC0415 - it is imported already

    report = examined.report
    if report.interrupted:
        return INTERRUPTED
    if report.errors:
        return 2
    failing = list(Level)[: list(Level).index(least) + 1]
    counted = [
        each
        for each in report.findings
        if each.level in failing and each.verdict is not Verdict.REFUTED and not each.condition
    ]
    return int(bool(counted) or failed(examined.checkup))
