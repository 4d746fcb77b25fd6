"""The command line: one module per command, each imported when it is called."""

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
    "scan": "Find the bugs in files and folders.",
    "checkup": "Examine a training script: run it and climb the debug ladder.",
    "diagnose": 'Say what is behind a symptom, such as "the loss is nan".',
    "rule": "Explain a rule: why it is a bug, an example, what to do instead.",
    "rules": "List all rules.",
    "config": "Explain the keys of the configuration.",
    "trace": "Show what a script does: the events that rules judge.",
    "server": "Serve an editor: diagnostics as one types.",
    "new": "Begin a rule of your own: its module, fixtures and test.",
    "merge": "Join what the parts of a scan have told.",
    "clean": "Remove what scans have kept.",
    "version": "Say which version this is.",
}
"""Their names, the most used first, with what the list of them says: nothing of them is imported for that."""
ELSEWHERE = {"check": "scan", "lint": "scan", "explain": "rule", "lsp": "server"}
"""What other linters call a command."""
USAGE_ERROR = 2
INTERRUPTED = 130
FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO))
"""Errors of the machine, whose own words say all."""


class Commands(click.Group):
    """The commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Their names, the most used first."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of them on the page of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"torch_doctor.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names.

        Raises:
            UsageError: there is no such command.
        """
        name = args[0]
        if name in COMMANDS:
            return super().resolve_command(ctx, args)
        if os.path.exists(name):  # noqa: PTH110 - as cheap as it gets
            message = f"`{name}` is no command; did you mean `torch-doctor scan {name}`?"
        else:
            from torch_doctor.selection import did_you_mean  # noqa: PLC0415 - only for the error

            meant = ELSEWHERE.get(name, name)
            message = f"`{name}` is no command{did_you_mean(meant, COMMANDS)}"
        raise click.UsageError(message)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def commands() -> None:
    """Find the bugs in PyTorch training scripts that no exception reports."""


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
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
    """Run one command; the exit status is 0, 1 for findings, 2 for everything that went wrong."""
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
