"""`torch-doctor trace`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.arguments import TraceArguments, received
from torch_doctor.cli.completing import Paths
from torch_doctor.cli.libraries import environment
from torch_doctor.cli.probe_options import ProbeCommand, check_probing, probe_options, probing
from torch_doctor.cli.progress import Progress
from torch_doctor.cli.settings import Flags, settings
from torch_doctor.cli.streams import COLOURS, look_of, wants_colours, write
from torch_doctor.report import data_text, gradients_text, shapes_text, trace_text
from torch_doctor.report.paint import Paint

if TYPE_CHECKING:
    from types import ModuleType

NOTHING = {
    trace_text: "code that trains or evaluates a model",
    shapes_text: "variable whose axes are known",
    gradients_text: "gradients",
    data_text: "data loader",
}


def _shown(given: TraceArguments) -> ModuleType:
    """The module that renders what was asked for."""
    asked = {shapes_text: given.shapes, gradients_text: given.gradients, data_text: given.data}
    return next((module for module, wanted in asked.items() if wanted), trace_text)


@click.command("trace", cls=ProbeCommand)
@click.argument("file", type=Paths())
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output format."
)
@click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True, help="When to use colors.")
@click.option(
    "--shapes",
    is_flag=True,
    help="Show what the axes of each variable are, beside the source. With --probe, show the shapes of the run, too.",
)
@click.option(
    "--gradients",
    is_flag=True,
    help="Show which losses fill gradients, and which lines apply and clear them, beside the source.",
)
@click.option(
    "--data",
    is_flag=True,
    help="Show which rows each data loader reads, how they are prepared, and what differs from training.",
)
@probe_options
def command(**arguments: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Print the events of a script that the rules check, as the static analysis derives them from the source.

    The analysis follows each loop for two iterations, so that the second sees what the first leaves behind. With --probe,
    the events of the run are printed, too.
    """
    given = received(arguments, TraceArguments)
    file = given.file
    if os.path.isdir(file):  # noqa: PTH112 - never raises
        message = f"{file} is a folder; `torch-doctor trace` takes one file"
        raise click.UsageError(message)
    if given.shapes + given.gradients + given.data > 1:
        message = "pass either `--shapes`, `--gradients` or `--data`"
        raise click.UsageError(message)
    check_probing(given, (file,))
    options, loaded = settings(Flags(paths=(file,)))
    run = probing(given, (file,), loaded)
    run = None if run is None else replace(run, shapes=given.shapes, gradients=given.gradients)
    options = replace(options, probe=run, environment=environment(given.python, loaded))
    with Progress(wanted=True) as progress:
        shown = _shown(given)
        wanted = data_text.reads() if shown is data_text else None if shown is trace_text else shown.READS
        found, report = scanning.traces(options, progress, wanted)
    if given.output_format == "json":
        write(shown.render_json(found))
    else:
        look = look_of(given.color, sys.stdout)
        text = shown.render(found, report.sources, look)
        write(text, colours=look.paint.colours)
        if not text and not report.errors:
            report.warnings.append(f"{file}: no {NOTHING[shown]} found")
    paint = Paint(wants_colours(given.color, sys.stderr))
    if given.probe_output:
        click.echo("".join(report.outputs.values()), err=True)
    for remark in report.remarks:
        click.echo(f"{paint('probe:', 'bold', 'magenta')} {remark}", err=True)
    for warning in report.warnings:
        click.echo(f"{paint('warning:', 'bold', 'yellow')} {warning}", err=True)
    for error in report.errors:
        click.echo(f"{paint('error:', 'bold', 'red')} {error}", err=True)
    return 2 if report.errors else 0
