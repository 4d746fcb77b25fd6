"""Commands that print what is in files, in folders or in what another command printed."""

from __future__ import annotations

import os
import re
import socket
import time
from typing import TYPE_CHECKING

from .words import CommandOutput, operands

if TYPE_CHECKING:
    from collections.abc import Callable

    from .words import Handler

LINES = 10  # that `head` and `tail` print


def _lines(paths: list[str], before: str) -> list[str]:
    """The lines of files, or of what comes through the pipe."""
    if not paths:
        return before.splitlines()
    found: list[str] = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            found += file.read().splitlines()
    return found


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _echo(words: list[str], _: str) -> CommandOutput:
    newline = words[1:2] != ["-n"]
    plain = [word for word in words[1:] if word not in ("-n", "-e")]
    return CommandOutput(text=" ".join(plain) + "\n" * newline)


def _ls(words: list[str], _: str) -> CommandOutput:
    options, paths = operands(words[1:])
    found: list[str] = []
    for path in paths or ["."]:
        os.stat(path)  # raises where nothing is there
        names = sorted(os.listdir(path)) if os.path.isdir(path) else [path]
        found += [str(name) for name in names if "a" in options or not str(name).startswith(".")]
    return CommandOutput(text=_joined(found))


def _cat(words: list[str], before: str) -> CommandOutput:
    return CommandOutput(text=_joined(_lines(operands(words[1:])[1], before)))


def _wc(words: list[str], before: str) -> CommandOutput:
    options, paths = operands(words[1:])
    lines = _lines(paths, before)
    counts = {"l": len(lines), "w": sum(len(line.split()) for line in lines), "c": sum(len(line) + 1 for line in lines)}
    chosen = [str(count) for letter, count in counts.items() if letter in options or not options]
    return CommandOutput(text=" ".join([*chosen, *paths]) + "\n")


def _part(cut: Callable[[list[str], int], list[str]]) -> Handler:
    def part(words: list[str], before: str) -> CommandOutput:
        numbers = [word[1:] for word in words[1:] if re.fullmatch(r"-\d+", word)]
        options, paths = operands([word for word in words[1:] if not re.fullmatch(r"-\d+", word)], "n")
        count = int((numbers or [options.get("n", str(LINES))])[0])
        return CommandOutput(text=_joined(cut(_lines(paths, before), count)))

    return part


def _grep(words: list[str], before: str) -> CommandOutput:
    options, (pattern, *paths) = operands(words[1:], "ABCem")
    behind = int(options.get("A") or options.get("C") or 0)
    flags = re.IGNORECASE if "i" in options else 0
    found = re.compile(options.get("e") or pattern, flags)
    lines = _lines(paths, before)
    taken = [bool(found.search(line)) is ("v" not in options) for line in lines]
    kept = [line for place, line in enumerate(lines) if any(taken[max(0, place - behind) : place + 1])]
    text = f"{sum(taken)}\n" if "c" in options else _joined(kept)
    return CommandOutput(0 if any(taken) else 1, text)


def _sort(words: list[str], before: str) -> CommandOutput:
    options, paths = operands(words[1:], "kt")
    lines = sorted(_lines(paths, before), reverse="r" in options)
    return CommandOutput(text=_joined(list(dict.fromkeys(lines)) if "u" in options else lines))


COMMANDS: dict[str, Handler] = {
    "echo": _echo,
    "ls": _ls,
    "cat": _cat,
    "wc": _wc,
    "head": _part(lambda lines, count: lines[:count]),
    "tail": _part(lambda lines, count: lines[-count:] if count else []),
    "grep": _grep,
    "egrep": _grep,
    "sort": _sort,
    "pwd": lambda _, __: CommandOutput(text=os.getcwd() + "\n"),
    "date": lambda words, _: CommandOutput(
        text=time.strftime(next((word[1:] for word in words[1:] if word.startswith("+")), "%c")) + "\n"
    ),
    "hostname": lambda _, __: CommandOutput(text=socket.gethostname() + "\n"),
}
