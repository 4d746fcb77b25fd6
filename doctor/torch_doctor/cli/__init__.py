"""The command line: one module per command, imported when the command runs."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from torch_doctor import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "scan": "Scan files and folders for bugs in training code.",
    "checkup": "Run a training script and check it rung by rung.",
    "diagnose": 'Find the likely cause of a symptom, such as "the loss is nan".',
    "rule": "Explain a rule: why it matters, an example, and the fix.",
    "rules": "List all rules.",
    "config": "List the configuration keys, or explain one.",
    "trace": "Print the events of a script that the rules check.",
    "server": "Run the language server for editors.",
    "new": "Create a rule of your own: its module, fixtures and test.",
    "merge": "Merge the reports of a sharded scan.",
    "clean": "Remove cached results.",
    "version": "Print the version.",
}
"""The names of the commands, most used first, each with its line on the help page; listing them imports no command."""
ELSEWHERE = {"check": "scan", "lint": "scan", "explain": "rule", "lsp": "server"}
"""Names that other linters give to a command."""
COMPLETE = "_TORCH_DOCTOR_COMPLETE"
"""The variable by which click's scripts for shells ask for completions, or users for the script."""
USAGE_ERROR = 2
INTERRUPTED = 130
FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO))
"""Errors of the operating system whose message is reported as it is."""


class Commands(click.Group):
    """The group of all commands, which are imported by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, most used first."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands on the help page."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"torch_doctor.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names, with the remaining arguments.

        Raises:
            UsageError: there is no such command.
        """
        name = args[0]
        if name in COMMANDS:
            return super().resolve_command(ctx, args)
        if os.path.exists(name):  # noqa: PTH110 - as cheap as it gets
            message = f"unknown command `{name}`; did you mean `torch-doctor scan {name}`?"
        else:
            from torch_doctor.selection import did_you_mean  # noqa: PLC0415 - only for the error

            meant = ELSEWHERE.get(name, name)
            message = f"unknown command `{name}`{did_you_mean(meant, COMMANDS)}"
        raise click.UsageError(message)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def commands() -> None:
    """Find bugs in PyTorch training scripts that raise no exception."""


def main() -> NoReturn:
    """Run the command line and exit with its status."""
    try:
        status = _run()
    except KeyboardInterrupt:  # at its very beginning or end
        status = INTERRUPTED
    sys.exit(status)


def _run() -> int:
    gc.freeze()
    gc.set_threshold(
        1_000_000, 20, 100
    )  # syntax trees and events are many objects and no cycles: collecting finds nothing
    status = run(sys.argv[1:])
    gc.freeze()  # the interpreter searches all objects for cycles before it ends
    return status


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status: 0, 1 for findings, 2 for errors, 130 after Ctrl-C."""
    if COMPLETE in os.environ:
        from torch_doctor.cli.completing import support_fish  # noqa: PLC0415 - only where somebody completes

        support_fish()
    try:
        result = commands.main(list(arguments), prog_name="torch-doctor", standalone_mode=False)
    except click.Abort:  # Ctrl-C
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
    except Exception as error:  # noqa: BLE001 - the last resort: one line, and not the exit status of findings
        if isinstance(error, OSError) and error.errno in FULL:
            click.echo(f"error: {error.strerror}", err=True)
            return USAGE_ERROR
        click.echo(f"internal error: {type(error).__name__}: {error}; please report it", err=True)
        if "--verbose" in arguments or "-v" in arguments:
            import traceback  # noqa: PLC0415 - only for an error of ours

            traceback.print_exc()
    else:
        return result if isinstance(result, int) else 0
    return USAGE_ERROR
