"""Shell completion of rules, output formats, files and configuration keys."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from torch_doctor.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.shell_completion import CompletionItem


class Completed(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """Text that a shell completes from words with a help text each; `several`: from a comma-separated list of them."""

    name = "text"

    def __init__(self, known: Callable[[], Iterator[tuple[str, str]]], *, several: bool = False) -> None:
        self._known = known
        self._several = several

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, ARG002 - click's signature
        """Return the text unchanged; the command reports what is wrong with it."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the words that start with the text, in upper or lower case."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only where somebody completes

        done, comma, last = incomplete.rpartition(",") if self._several else ("", "", incomplete)
        return [
            CompletionItem(f"{done}{comma}{word}", help=text)
            for word, text in self._known()
            if word.lower().startswith(last.lower())
        ]


class Paths(click.ParamType):  # type: ignore[type-arg]  # as above
    """A path, or text such as a pattern, that a shell completes with the names of files."""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the request to the shell to complete names of files."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only where somebody completes

        return [CompletionItem(incomplete, type="file")]


class Formats(Completed):
    """An output format, or a format and a file with a colon between them; shells complete both."""

    def __init__(self) -> None:
        super().__init__(lambda: ((name, "") for name in FORMATS))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the formats, or after a colon the files, that start with the text."""
        name, colon, path = incomplete.partition(":")
        if not colon:
            return super().shell_complete(ctx, param, incomplete)
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only where somebody completes

        folder, _, start = path.rpartition("/")
        with suppress(OSError), os.scandir(f"{folder}/" if "/" in path else ".") as found:
            entries = sorted(each.name + "/" * each.is_dir() for each in found if each.name.startswith(start))
            return [CompletionItem(f"{name}:{path[: len(path) - len(start)]}{each}") for each in entries]
        return []


def support_fish() -> None:
    """Let fish complete words with commas: click's script for it takes only what is before the first one."""
    from click.shell_completion import FishComplete, add_completion_class  # noqa: PLC0415 - only where somebody completes

    script = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')
    add_completion_class(type("Fish", (FishComplete,), {"source_template": script}), "fish")


def rules() -> Iterator[tuple[str, str]]:
    """Yield the code and the name of each rule, each with the other as its help text."""
    from torch_doctor.cli.installed import installed_rules  # noqa: PLC0415 - only where somebody completes

    for rule in installed_rules():
        yield rule.code, rule.name
        yield rule.name, rule.code


def selectors() -> Iterator[tuple[str, str]]:
    """Yield everything that selects rules: ALL, families of codes, codes and names."""
    yield "ALL", "all rules"
    every = list(rules())
    for family in sorted({word[:-2] for word, _ in every if word[-3:].isdecimal()}):
        yield family, f"all rules whose code starts with {family}"
    yield from every


def keys() -> Iterator[tuple[str, str]]:
    """Yield the configuration keys with the first clause of their description."""
    from torch_doctor.config.schema import documented  # noqa: PLC0415 - only where somebody completes

    for key, described in documented().items():
        yield key, described["description"].partition(". ")[0].partition("; ")[0].partition(": ")[0]
