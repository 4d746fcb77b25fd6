"""The options of commands that can run scripts: `--probe` and related options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from torch_doctor.cli.completing import Paths
from torch_doctor.cli.grouping import GroupedCommand
from torch_doctor.cli.libraries import configured_python
from torch_doctor.cli.patterns import patterns
from torch_doctor.probing import Probing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.cli.arguments import ProbeArguments, RunArguments
    from torch_doctor.config import LoadedConfig

Function = TypeVar("Function", bound="Callable[..., Any]")

ON, REQUIRE = "on", "require"
FLAG, END = "--probe", "--"
SCRIPT_ARGUMENTS = "script_arguments"
"""The parameter of a command that gets what stands after `--`."""
DEVICES = ("auto", "cpu", "cuda")
SECONDS = 60.0
MOST_PROCESSES = 16


class Processes(click.IntRange):
    """The number of processes that run a script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's
        """Return the number."""
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
        help="Run each script for a few steps and give each finding a verdict. In a folder, run only the scripts that train. "
        "Arguments after `--` go to the script. With =require, fail if a script cannot be run or raises an exception.",
    ),
    click.option(
        "--device", type=click.Choice(DEVICES), show_default=DEVICES[0], help="Device on which the scripts run."
    ),
    click.option(
        "--python",
        type=Paths(),
        metavar="PATH",
        help="Python interpreter or environment of the scripts. The scan reads the libraries installed there; the probe runs the "
        "scripts with it.",
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
        "--probe-flags",
        is_flag=True,
        help="Run each script once more with other arguments: those with which most findings that need another setting show.",
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
    """A command with an optional value for `--probe`, and the script's arguments after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the script's own arguments, and parse the others."""
        given = args.index(END) if END in args else len(args)
        args = [f"{arg}=" if arg == ADD_NOQA and number < given else arg for number, arg in enumerate(args)]
        own = args[:given]
        if any(arg == FLAG or arg.startswith(f"{FLAG}=") for arg in own):
            if END in args:
                ctx.params[SCRIPT_ARGUMENTS] = tuple(args[given + 1 :])
            args = [f"{FLAG}={ON}" if arg == FLAG else arg for arg in own]
        return super().parse_args(ctx, args)


def probe_options(function: Function) -> Function:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def check_probing(given: ProbeArguments, paths: Sequence[str]) -> None:
    """Make sure that the options of the probe go together, before anything is read.

    Raises:
        UsageError: they do not, or a path cannot be run.
    """
    if given.probe is None:
        for option, there in (
            ("--device", given.device),
            ("--probe-timeout", given.probe_timeout),
            ("--probe-memory", given.probe_memory),
            ("--probe-processes", given.probe_processes),
            ("--probe-flags", given.probe_flags),
            ("--probe-server", given.probe_server),
            ("--probe-output", given.probe_output),
        ):
            if there:
                message = f"{option} requires {FLAG}"
                raise click.UsageError(message)
        return
    if "-" in paths:
        message = f"{FLAG} cannot run stdin (`-`): name one or more scripts"
        raise click.UsageError(message)
    if os.environ.get("PRE_COMMIT"):  # set by pre-commit for its hooks
        message = (
            f"{FLAG} is disabled in pre-commit hooks, which pass every file of the commit: remove it from the hook"
        )
        raise click.UsageError(message)


def probing(given: ProbeArguments, paths: Sequence[str], loaded: LoadedConfig) -> Probing | None:
    """Return how to run scripts, from the configuration and the command line; None without `--probe`.

    Raises:
        UsageError: no script is named, or an option contradicts another.
    """
    if given.probe is None:
        return None
    how = with_options(configured(loaded), given)
    if not (paths or how.scripts):
        message = f"{FLAG} needs scripts or folders to run, as in `torch-doctor scan train.py {FLAG}`"
        raise click.UsageError(message)
    if (given.probe_processes or 1) > 1 and how.device == "cuda":
        instead = "remove `--device cuda`" if given.device else "add `--device cpu`"
        message = f"--probe-processes runs on the CPU: {instead}"
        raise click.UsageError(message)
    return replace(
        how,
        required=given.probe == REQUIRE,
        seconds=given.probe_timeout or how.seconds,
        memory=(given.probe_memory or 0) << 20,
        processes=given.probe_processes or 1,
        jobs=given.jobs or 0,
        server=given.probe_server,
        flags=given.probe_flags,
    )


def configured(loaded: LoadedConfig) -> Probing:
    """Return how the configuration says that scripts are run.

    Raises:
        UsageError: a pattern is invalid.
    """
    probe, saying = loaded.config.probe, loaded.saying("probe.scripts")
    arguments = (
        (patterns(part.base, (glob,), f"{part.source}: probe.arguments"), args)
        for part in loaded.parts
        for glob, args in part.config.probe.arguments.items()
    )
    scripts = patterns(saying.base, probe.scripts, f"{saying.source}: probe.scripts") if probe.scripts else None
    return Probing(
        arguments=tuple(arguments),
        scripts=scripts,
        seconds=probe.time or SECONDS,
        device=probe.device or DEVICES[0],
        python=configured_python(loaded),
    )


def with_options(how: Probing, given: RunArguments) -> Probing:
    """Return how scripts are run with `--device`, `--python` and the arguments after `--`."""
    how = replace(how, device=given.device or how.device, python=given.python or how.python)
    own = given.script_arguments
    return how if own is None else replace(how, args=own, arguments=())
