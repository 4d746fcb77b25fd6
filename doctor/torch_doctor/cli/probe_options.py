"""The options of the commands that can run scripts: `--probe` and what belongs to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click

from torch_doctor.cli.completing import Paths
from torch_doctor.cli.grouping import GroupedCommand
from torch_doctor.probing import Probing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Function = TypeVar("Function", bound="Callable[..., Any]")

ON, REQUIRE = "on", "require"
FLAG, END = "--probe", "--"
SCRIPT_ARGUMENTS = "torch_doctor.script_arguments"
DEVICES = ("auto", "cpu", "cuda")
SECONDS = 60.0
MOST_PROCESSES = 16


class Processes(click.IntRange):
    """How many processes run a script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's
        """The number; a usage error that says what one is like."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            message = f"--probe-processes takes a number from 1 to {MOST_PROCESSES}, as in `--probe-processes 2`, not `{value}`"
            raise click.UsageError(message, ctx) from None


_OPTIONS = (
    click.option(
        FLAG,
        type=click.Choice((ON, REQUIRE)),
        metavar="[=require]",
        help="Run each script for a few steps and give each finding a verdict. Of a folder, run the scripts that train. "
        "Arguments after `--` go to the script. With =require, fail if a script cannot be run or raises an exception.",
    ),
    click.option(
        "--device", type=click.Choice(DEVICES), show_default=DEVICES[0], help="Device on which the scripts run."
    ),
    click.option(
        "--python",
        type=Paths(),
        metavar="PATH",
        help="Python interpreter or environment of the scripts. The scan reads its libraries, and the probe runs it.",
    ),
    click.option(
        "--probe-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        show_default=f"{SECONDS:g}",
        help="Time limit for each script.",
    ),
    click.option(
        "--probe-memory",
        type=click.IntRange(min=1),
        metavar="MIB",
        show_default="three quarters of the free memory",
        help="Memory limit for each script, in MiB.",
    ),
    click.option(
        "--probe-processes",
        type=Processes(1, MOST_PROCESSES),
        metavar="N",
        show_default="1",
        help="Run distributed scripts in N processes, as torchrun does, with gloo on the CPU.",
    ),
    click.option(
        "--probe-server",
        is_flag=True,
        help="Fork the scripts from a background server that has torch imported. The server starts on demand and stops "
        "after ten idle minutes.",
    ),
    click.option("--probe-output", is_flag=True, help="Print the output of the scripts to stderr."),
)


ADD_NOQA = "--add-noqa"
"""As `--probe`, it may stand without a value."""


class ProbeCommand(GroupedCommand):
    """A command in which `--probe` may stand without a value, and `--` ends what is ours where it does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the script's own arguments aside, and parse the others."""
        given = args.index(END) if END in args else len(args)
        args = [f"{arg}=" if arg == ADD_NOQA and number < given else arg for number, arg in enumerate(args)]
        own = args[:given]
        if any(arg == FLAG or arg.startswith(f"{FLAG}=") for arg in own):
            ctx.meta[SCRIPT_ARGUMENTS] = tuple(args[len(own) + 1 :])
            args = [f"{FLAG}={ON}" if arg == FLAG else arg for arg in own]
        return super().parse_args(ctx, args)


def probe_options(function: Function) -> Function:
    """The options, for a function that takes them as keywords."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def probing(given: dict[str, Any], paths: Sequence[str], ctx: click.Context) -> Probing | None:
    """How to run the scripts that were named; None where nobody asked for it.

    Raises:
        UsageError: what was named is no script, or an option means nothing.
    """
    if given["probe"] is None:
        for name in (
            "device",
            "probe_timeout",
            "probe_memory",
            "probe_processes",
            "probe_server",
            "probe_output",
        ):
            if given[name]:
                message = f"--{name.replace('_', '-')} requires {FLAG}"
                raise click.UsageError(message)
        return None
    if not paths:
        message = f"{FLAG} needs scripts or folders to run, as in `torch-doctor scan train.py {FLAG}`"
        raise click.UsageError(message)
    if "-" in paths:
        message = f"{FLAG} cannot run stdin (`-`): name one or more scripts"
        raise click.UsageError(message)
    if os.environ.get("PRE_COMMIT"):  # set by pre-commit for its hooks
        message = (
            f"{FLAG} is disabled in pre-commit hooks, which pass every file of the commit: remove it from the hook"
        )
        raise click.UsageError(message)
    if (given["probe_processes"] or 1) > 1 and given["device"] == "cuda":
        message = "--probe-processes runs on the CPU: remove `--device cuda`"
        raise click.UsageError(message)
    return Probing(
        args=ctx.meta.get(SCRIPT_ARGUMENTS, ()),
        required=given["probe"] == REQUIRE,
        device=given["device"] or DEVICES[0],
        python=given["python"] or "",
        seconds=given["probe_timeout"] or SECONDS,
        memory=(given["probe_memory"] or 0) << 20,
        processes=given["probe_processes"] or 1,
        jobs=given.get("jobs") or 0,
        server=given["probe_server"],
    )
