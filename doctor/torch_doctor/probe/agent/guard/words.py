"""What a command is given and what it gives: words, options, an exit status and a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Handler = Callable[[list[str], str], "CommandOutput | None"]
    """Gets the words of a command, and what the one before it in a pipeline prints; None if it does not know what to answer."""


class CommandOutput(NamedTuple):
    """What a command gives: its exit status and what it prints."""

    status: int = 0
    text: str = ""


def operands(words: Iterable[str], valued: str = "") -> tuple[dict[str, str], list[str]]:
    """The options of a command, with their values where they are among the letters of `valued`, and what is no option."""
    options: dict[str, str] = {}
    plain: list[str] = []
    left = iter(words)
    for word in left:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = value
        elif word.startswith("-") and len(word) > 1:
            for place, letter in enumerate(word[1:], start=2):
                if letter in valued:
                    options[letter] = word[place:] or next(left, "")
                    break
                options[letter] = ""
        else:
            plain.append(word)
    return options, plain
