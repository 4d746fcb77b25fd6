"""Help pages that list the options in groups, with examples and exit codes; `-h` shows the common ones, `--help` all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS = {
    "Rule selection": (
        "--select",
        "--ignore",
        "--extend-select",
        "--per-file-ignores",
        "--ignore-noqa",
        "--add-noqa",
    ),
    "Files": (
        "--exclude",
        "--extend-exclude",
        "--force-exclude",
        "--no-respect-gitignore",
        "--stdin-filename",
        "--watch",
        "--show-files",
    ),
    "New findings": ("--since", "--baseline", "--write-baseline", "--accept-new", "--baseline-strict", "--named-only"),
    "Probe": (
        "--probe",
        "--device",
        "--python",
        "--probe-timeout",
        "--probe-memory",
        "--probe-processes",
        "--probe-flags",
        "--probe-server",
        "--probe-output",
    ),
    "Fixes": ("--fix", "--unsafe-fixes", "--diff", "--fix-only", "--show-fixes", "--exit-non-zero-on-fix"),
    "Output": (
        "--shapes",
        "--data",
        "--gradients",
        "--output-format",
        "--output-file",
        "--statistics",
        "--fail-level",
        "--fail-conditional",
        "--exit-zero",
        "--verbose",
        "--quiet",
        "--color",
    ),
    "Configuration": ("--config", "--isolated", "--show-settings"),
    "Performance": ("--jobs", "--cache-dir", "--no-cache", "--shard", "--executor"),
    "Help": ("--version", "-h", "--help"),
}
"""The long names of all options by the heading under which help pages list them, in this order."""
COMMON = frozenset({
    "--select", "--ignore", "--exclude", "--since", "--baseline", "--probe", "--device", "--python", "--fix", "--unsafe-fixes",
    "--diff", "--output-format", "--output-file", "--fail-level", "--exit-zero", "--verbose", "--quiet", "--config",
})  # fmt: skip
"""The options that `-h` lists."""
REST = "Other options"
EXIT_CODES = {
    "0": "No findings, or only refuted or conditional ones.",
    "1": "Findings.",
    "2": "Invalid usage or configuration, a missing path, or an internal error.",
    "130": "Interrupted by Ctrl-C.",
}
_BRIEF = "torch_doctor.brief"
_COLUMN = 24


def group_of(option: click.Parameter) -> str:
    """Return the heading under which an option is listed; `REST` if no group has it."""
    return next((group for group, names in GROUPS.items() if set(names) & set(option.opts)), REST)


class ExplainedCommand(click.Command):
    """A command whose help page has examples above the options and exit codes below them."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's
        examples: Mapping[str, str] | None = None,
        exit_codes: Mapping[str, str] | None = None,
        **kwargs: Any,  # noqa: ANN401 - click's
    ) -> None:
        """`examples`: command lines with a few words each; `exit_codes`: numbers with their meaning."""
        super().__init__(*args, **kwargs)
        self._examples = examples or {}
        self._exit_codes = exit_codes or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, the options and the exit codes."""
        if self._examples:
            with formatter.section("Examples"):
                formatter.write_dl(list(self._examples.items()), col_max=50)
        self.format_groups(ctx, formatter)
        if self._exit_codes:
            with formatter.section("Exit codes"):
                formatter.write_dl(list(self._exit_codes.items()))

    def format_groups(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in one list."""
        super().format_options(ctx, formatter)


class GroupedCommand(ExplainedCommand):
    """A command whose help page lists the options in groups: with `-h` the common ones, with `--help` all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as above
        super().__init__(*args, context_settings={"help_option_names": ["--help"]}, **kwargs)
        brief = click.Option(
            ["-h"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_brief,
            help="List the common options and exit.",
        )
        self.params.append(brief)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option `--help`."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "List all options and exit."
        return option

    def format_groups(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of options."""
        for group in (*GROUPS, REST):
            if rows := list(self._rows(group, ctx)):
                with formatter.section(group):
                    formatter.write_dl(rows, col_max=_COLUMN)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to list the options that a brief page leaves out."""
        if _BRIEF in ctx.meta:
            formatter.write_paragraph()
            formatter.write_text(f"Run `{ctx.command_path} --help` to list all options.")

    def _rows(self, group: str, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the options of a group with their help, in the order of the group; on a brief page its first sentence."""
        order = GROUPS.get(group, ())
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and group_of(each) == group]
        options.sort(key=lambda option: min((order.index(name) for name in option.opts if name in order), default=0))
        for option in options:
            record = option.get_help_record(ctx)
            if record is None or (_BRIEF in ctx.meta and not COMMON & set(option.opts)):
                continue
            text, _, extra = record[1].partition("  [")  # as click adds defaults and ranges
            if _BRIEF in ctx.meta:
                text = text.partition(". ")[0].removesuffix(".") + "."
            extra = re.sub(r"\((.*)\)", r"\1", extra)
            yield f"{record[0]:<{_COLUMN}}", f"{text} [{extra}" if extra else text


def _show_brief(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the help page with the common options only, and exit."""
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_BRIEF] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
