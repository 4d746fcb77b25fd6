"""`torch-doctor diagnose`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torch_doctor.checkup.diagnosing import LIKELIHOODS, OPEN, PROVED, UNLIKELY, answers, others, said
from torch_doctor.checkup.reading import near, readings
from torch_doctor.checkup.symptoms import SYMPTOMS
from torch_doctor.checkup.telling.words import MEANINGS, script_error
from torch_doctor.cli.arguments import DiagnoseArguments, received
from torch_doctor.cli.checkup import SECONDS, CheckupCommand, examine, status
from torch_doctor.cli.completing import Paths
from torch_doctor.cli.grouping import EXIT_CODES
from torch_doctor.cli.probe_options import DEVICES
from torch_doctor.cli.streams import is_terminal, wants_colours, write
from torch_doctor.report.paint import Paint
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.checkup.diagnosing import Answer
    from torch_doctor.checkup.outcome import Checkup
    from torch_doctor.checkup.symptoms import Symptom
    from torch_doctor.rule import Finding

WIDTH = 100
MOST = 3  # lines of what speaks for or against a cause


EXAMPLES = {
    'torch-doctor diagnose "the loss is nan" train.py': "examine a script",
    'torch-doctor diagnose "the loss is nan"': "list the possible causes",
    "torch-doctor diagnose train.py": "ask for the symptom",
}


@click.command(
    "diagnose",
    cls=CheckupCommand,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=EXAMPLES,
    exit_codes=EXIT_CODES | {"1": "A failed rung, or findings."},
)
@click.argument("symptom", required=False, type=Paths())
@click.argument("script", required=False, type=Paths())
@click.option("--list", "lists", is_flag=True, help="List the known symptoms, their causes, and the checks for each.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    default=SECONDS,
    help=f"Time limit for the examination. [default: {SECONDS:g}]",
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
@click.option("-q", "--quiet", is_flag=True, help="Print only the answer.")
def command(**arguments: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Find the likely cause of SYMPTOM in SCRIPT.

    Describe the symptom in a sentence, such as "my loss turns into nan after a few epochs". torch-doctor prints how it
    understood the sentence and runs only the checks that decide between the possible causes. Without a script it lists these
    causes; without a symptom it asks for one. Arguments after `--` go to the script.
    """  # fmt: skip
    given = received(arguments, DiagnoseArguments)
    if given.lists:
        write(table())
        return 0
    symptom, script = given.symptom, given.script
    if symptom is not None and script is None and Path(symptom).is_file():
        symptom, script = None, symptom
    meant = _meant(symptom) if symptom else _asked()
    if not given.quiet:
        click.echo(f"reading this as: {meant.name}", err=True)
    if script is None:
        write(_causes(meant))
        return 0
    examined, least = examine(script, given, rungs=meant.rungs)
    colours = wants_colours("auto", sys.stdout)
    write(
        "\n".join(_lines(meant, examined.checkup, Paint(colours, links=is_terminal(sys.stdout)))) + "\n",
        colours=colours,
    )
    for error in examined.report.errors:
        click.echo(f"error: {error}", err=True)
    return status(examined, least)


def _meant(sentence: str) -> Symptom:
    """Return the symptom that a sentence describes. If two readings are equally good, ask on a terminal.

    Raises:
        UsageError: it cannot be told.
    """
    found = readings(sentence)
    if len(found) == 1:
        return found[0]
    if len(found) > 1 and is_terminal(sys.stdin):
        return _chosen(found, f"`{sentence}` may be:", "Which one? A number")
    close = found or near(sentence)
    if close:
        message = f"`{sentence}` is ambiguous: use {_or([each.name for each in close])}"
    else:
        message = f"unknown symptom `{sentence}`; `torch-doctor diagnose --list` lists the known ones"
    raise click.UsageError(message)


def _asked() -> Symptom:
    """Ask for a symptom, and return it.

    Raises:
        UsageError: nobody can be asked.
    """
    if not is_terminal(sys.stdin):
        message = 'describe the symptom, as in `torch-doctor diagnose "the loss is nan" train.py`'
        raise click.UsageError(message)
    return _chosen(list(SYMPTOMS), "Symptoms:", "What do you see? A number, or your own words")


def _chosen(choices: list[Symptom], title: str, question: str) -> Symptom:
    """Ask for one of several symptoms, by number or in words, until the answer is clear."""
    click.echo(title, err=True)
    for number, each in enumerate(choices, start=1):
        click.echo(f"{number:>3}. {each.name}", err=True)
    while True:
        answer: str = click.prompt(question, err=True)
        if answer.strip().isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        try:
            return _meant(answer)
        except click.UsageError as error:
            click.echo(error.message, err=True)


def _or(names: list[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def table() -> str:
    """Return the symptoms with their causes, and the rungs and rules that decide them, in Markdown."""
    opening = (
        "What `torch-doctor diagnose` knows. It reads other words, too. The most likely cause of each comes first."
    )
    lines = ["# Symptoms", "", opening, ""]
    for each in SYMPTOMS:
        lines += [f"## {each.name[0].upper()}{each.name[1:]}", "", f"{each.meaning[0].upper()}{each.meaning[1:]}.", ""]
        lines += [f"For example: {'; '.join(each.examples)}.", ""]
        lines += ["| Cause | Rules | Rungs |", "|---|---|---|"]
        lines += [
            f"| {cause.what} | {', '.join(cause.codes) or '—'} | {', '.join(cause.rungs) or '—'} |"
            for cause in each.causes
        ]
        lines.append("")
    return "\n".join(lines)


def _causes(symptom: Symptom) -> str:
    """Return the possible causes of a symptom, for use without a script."""
    lines = [f"Possible causes when {symptom.name}, most likely first:", ""]
    for number, cause in enumerate(symptom.causes, start=1):
        decides = [*cause.rungs, *cause.codes]
        lines += _wrapped(f"{number}. ", cause.what)
        lines += _wrapped("   checked by ", ", ".join(decides)) if decides else []
    lines += ["", f'Run `torch-doctor diagnose "{symptom.name}" train.py` to find out.']
    return "\n".join(lines) + "\n"


def _lines(symptom: Symptom, checked: Checkup, paint: Paint) -> Iterator[str]:
    """Yield the answer: causes with evidence for and against, most likely first, and the other findings of the scan.

    The latter comes first where no cause was confirmed.
    """
    found = answers(symptom, checked)
    rest = others(found, checked.findings)
    yield paint(f"When {symptom.name}: {checked.script}", "bold")
    unseen = next((rung for rung in checked.rungs if rung.name == symptom.seen_by and rung.status == "passed"), None)
    if unseen is not None:
        yield from _wrapped(
            "", f"It did not occur in this run: {unseen.reason}. The causes below may still lead to it."
        )
    if checked.error or checked.cause:
        yield from _wrapped("", f"The script ends with an error: {script_error(checked)}.")
    proved = found[0].likelihood == PROVED
    if not proved:
        yield from _rest(rest, paint)
    for number, answer in enumerate(found, start=1):
        yield ""
        colour = "red" if answer.likelihood < OPEN else "dim" if answer.likelihood == UNLIKELY else "yellow"
        yield from _wrapped(f"{number}. ", answer.cause.what)
        yield f"   {paint(LIKELIHOODS[answer.likelihood], colour, 'bold')}"
        yield from _evidence(answer)
    if proved:
        yield from _rest(rest, paint)
    yield ""
    first = next(iter(rest), None)
    certain = first is not None and first.verdict is Verdict.CONFIRMED and first.level is Level.ERROR
    if first is not None and not proved and (certain or found[0].likelihood >= OPEN):
        yield from _wrapped("", f"Start with: {first.code} at {first.site}: {first.help or first.message}.")
    elif found[0].likelihood < OPEN:
        yield from _wrapped("", f"Start with: {found[0].cause.what}. {_remedy(found[0], checked)}".rstrip())
    else:
        yield from _wrapped(
            "", "No measurement explains this symptom; `torch-doctor checkup` also runs the other rungs."
        )


def _rest(findings: list[Finding], paint: Paint) -> Iterator[str]:
    """Yield the findings of the scan that belong to no listed cause."""
    if findings:
        yield ""
        yield paint("Scan findings", "bold")
    for each in findings:
        yield from _wrapped("   ", said(each))


def _evidence(answer: Answer) -> Iterator[str]:
    for word, told in (("for", answer.speaks_for), ("against", answer.speaks_against), ("open", answer.open)):
        for text in told[:MOST]:
            yield from _wrapped(f"   {word + ':':<8} ", text)
        if len(told) > MOST:
            yield f"   {word + ':':<8} and {len(told) - MOST} more"


def _remedy(answer: Answer, checked: Checkup) -> str:
    """Return what to do about the first evidence for a cause."""
    helps = [f"At {each.site}: {each.help}." for each in answer.findings if each.help]
    nexts = [
        f"{MEANINGS[rung.name].title}: {rung.next}."
        for rung in checked.rungs
        if rung.name in answer.cause.rungs and rung.status == "failed" and rung.next
    ]
    facts = [
        f"{fact.label.capitalize()}: {fact.value}."
        for rung in checked.rungs
        for fact in rung.evidence
        if fact.label in answer.cause.facts
    ]
    return next(iter((*helps, *nexts, *facts)), "")


def _wrapped(begins: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=begins, subsequent_indent=" " * len(begins), break_on_hyphens=False
    )
