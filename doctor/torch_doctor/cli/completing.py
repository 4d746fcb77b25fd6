"""What a shell can complete: codes and names of rules, keys of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.shell_completion import CompletionItem


class Completed(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """Text that a shell completes from words with a help text each; `several`: what follows a comma is completed, too."""

    name = "text"

    def __init__(self, known: Callable[[], Iterator[tuple[str, str]]], *, several: bool = False) -> None:
        self._known = known
        self._several = several

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, ARG002 - click's signature
        """The text as it is; who reads it says what is wrong with it."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """The words that begin with what was typed, in capitals or not."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only where somebody completes

        done, comma, last = incomplete.rpartition(",") if self._several else ("", "", incomplete)
        return [
            CompletionItem(f"{done}{comma}{word}", help=text)
            for word, text in self._known()
            if word.lower().startswith(last.lower())
        ]


def rules() -> Iterator[tuple[str, str]]:
    """The code and the name of each rule."""
    from torch_doctor.cli.installed import installed_rules  # noqa: PLC0415 - only where somebody completes

    for rule in installed_rules():
        yield rule.code, rule.name
        yield rule.name, rule.code


def selectors() -> Iterator[tuple[str, str]]:
    """Everything that selects rules: ALL, families of codes, codes and names."""
    yield "ALL", "all rules"
    every = list(rules())
    for family in sorted({word[:-2] for word, _ in every if word[-3:].isdecimal()}):
        yield family, f"all rules whose code begins with {family}"
    yield from every


def keys() -> Iterator[tuple[str, str]]:
    """The keys of the configuration."""
    from torch_doctor.config.schema import schema  # noqa: PLC0415 - only where somebody completes

    for key, described in schema()["properties"].items():
        yield key, described["description"].partition(". ")[0].partition("; ")[0].partition(": ")[0]
