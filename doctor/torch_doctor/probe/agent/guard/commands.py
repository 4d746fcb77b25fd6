"""Command lines that are answered without another process: what they do to files happens in the overlay."""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import shutil
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from . import filters
from .words import CommandOutput, operands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .words import Handler

LINKING = frozenset({"&&", "||", ";", "&", "\n"})
REDIRECTING = frozenset({">", ">>", "<", ">&", "&>"})
EXPANDING = ("$(", "`", "${", "<<", "$((")
"""What only a shell can work out."""
SHELL = 3  # words of `sh -c LINE`
MOST = 60_000  # bytes that a pipe holds


class Simple(NamedTuple):
    """A command with its words; `into` is the file that takes its output, opened with this `mode`."""

    words: list[str]
    into: str
    mode: str


def lines_of(line: str) -> list[tuple[str, list[Simple]]] | None:
    """The pipelines of a command line, each behind what links it to the one before it; None where it takes a shell."""
    if any(each in line for each in EXPANDING):
        return None
    reader = shlex.shlex(os.path.expandvars(line), posix=True, punctuation_chars="|&;<>\n")
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t\r", True, ""
    try:
        words = list(reader)
    except ValueError:
        return None
    found: list[tuple[str, list[Simple]]] = []
    link, begin = ";", 0
    for place, word in enumerate([*words, ";"]):
        if word in LINKING:
            pipeline = _pipeline(words[begin:place])
            if pipeline is None:
                return None
            if pipeline:
                found.append((link, pipeline))
            link, begin = word, place + 1
    return found


def _pipeline(words: list[str]) -> list[Simple] | None:
    found: list[Simple] = []
    begin = 0
    for place, word in enumerate([*words, "|"]):
        if word != "|":
            continue
        simple = _simple(words[begin:place])
        if simple is None or (not simple.words and len(words) > place):
            return None
        if simple.words:
            found.append(simple)
        begin = place + 1
    return found


def _simple(words: list[str]) -> Simple | None:
    """A command without its redirections; None where these are of another kind."""
    plain: list[str] = []
    into, mode = "", "w"
    left = iter(words)
    for word in left:
        if word not in REDIRECTING:
            if set(word) <= set("|&;<>"):
                return None
            plain.append(word)
            continue
        target = next(left, "")
        number = plain.pop() if plain and plain[-1] in ("1", "2") else ""
        if word == "<" or not target:
            return None
        if word == ">&" or number == "2":  # errors, which nobody reads
            continue
        into, mode = target, "a" if word == ">>" else "w"
    return Simple([part for word in plain for part in _expanded(word)], into, mode)


def _expanded(word: str) -> list[str]:
    whole = os.path.expanduser(word)
    if not any(letter in word for letter in "*?["):
        return [whole]
    return sorted(glob.glob(whole)) or [whole]


HANDLERS: dict[str, Handler] = {}
"""What answers a command, by its name; stand-ins add their own."""


class Commands:
    """Answers command lines by `HANDLERS`."""

    def __init__(self) -> None:
        HANDLERS.update({**FILE_COMMANDS, **filters.COMMANDS})

    def answer(self, given: object, *, shell: bool, folder: object = None) -> CommandOutput | None:
        """What `subprocess` gets for a line or for words; None where a command is not known, and nothing was done then."""
        words = [os.fsdecode(each) for each in (given if isinstance(given, (list, tuple)) else [given])]  # type: ignore[arg-type]
        line = words[0] if shell and words else ""
        if len(words) == SHELL and words[1] == "-c" and os.path.basename(words[0]) in ("sh", "bash"):
            line = words[2]
        with within(folder):
            return self.line(line) if line else self.words(words)

    def line(self, line: str) -> CommandOutput | None:
        """What a command line gives, as `answer` does."""
        pipelines = lines_of(line)
        if not pipelines or not all(_is_known(each.words) for _, pipeline in pipelines for each in pipeline):
            return None
        status, told = 0, ""
        with within(None):
            for link, pipeline in pipelines:
                if (link == "&&" and status) or (link == "||" and not status):
                    continue
                answer = self._piped(pipeline)
                if answer is None:
                    return None
                status, told = answer.status, told + answer.text
        return CommandOutput(status, told)

    def words(self, words: list[str]) -> CommandOutput | None:
        """What a command gives whose words are given one by one."""
        return self._piped([Simple(words, "", "w")]) if _is_known(words) else None

    def _piped(self, pipeline: list[Simple]) -> CommandOutput | None:
        answer: CommandOutput | None = CommandOutput()
        for each in pipeline:
            before = answer.text if answer is not None else ""
            try:
                answer = HANDLERS[os.path.basename(each.words[0])](each.words, before)
                if answer is None:
                    return None
                if each.into:
                    with open(each.into, each.mode, encoding="utf-8") as file:
                        file.write(answer.text)
                    answer = answer._replace(text="")
            except (OSError, shutil.Error, tarfile.TarError, zipfile.BadZipFile, ValueError):
                answer = CommandOutput(1)
        return answer


def _is_known(words: list[str]) -> bool:
    """Whether there is a handler for a command, which is the system's: a file of the project may have its name."""
    folder, name = os.path.split(words[0] if words else "")
    return name in HANDLERS and folder in ("", "/bin", "/usr/bin", "/usr/local/bin", os.path.dirname(sys.executable))


@contextlib.contextmanager
def within(folder: object) -> Iterator[None]:
    """Work in a folder, where one is given, and return to the present one."""
    before = os.getcwd()
    if folder is not None:
        os.chdir(folder)  # type: ignore[arg-type] # whatever the script gives
    try:
        yield
    finally:
        if os.getcwd() != before:  # else it may be a folder that the script deleted
            os.chdir(before)


# --- commands that change files ---


def _mkdir(words: list[str], _: str) -> CommandOutput:
    options, paths = operands(words[1:], "m")
    for path in paths:
        os.makedirs(path, exist_ok=True) if options.keys() & {"p", "parents"} else os.mkdir(path)
    return CommandOutput()


def _rm(words: list[str], _: str) -> CommandOutput:
    options, paths = operands(words[1:])
    for path in paths:
        if os.path.isdir(path) and options.keys() & {"r", "R", "recursive"}:
            shutil.rmtree(path)
        elif os.path.lexists(path) or not options.keys() & {"f", "force"}:
            os.remove(path)
    return CommandOutput()


def _cp(words: list[str], _: str) -> CommandOutput:
    _options, (*sources, target) = operands(words[1:])
    for source in sources:
        if os.path.isdir(source):
            inside = os.path.join(target, os.path.basename(os.path.normpath(source)))
            shutil.copytree(source, inside if os.path.isdir(target) else target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    return CommandOutput()


def _mv(words: list[str], _: str) -> CommandOutput:
    _options, (*sources, target) = operands(words[1:])
    for source in sources:
        shutil.move(source, target)
    return CommandOutput()


def _ln(words: list[str], _: str) -> CommandOutput:
    options, (source, target) = operands(words[1:])
    if "f" in options and os.path.lexists(target):
        os.remove(target)
    os.symlink(source, target) if "s" in options else os.link(source, target)
    return CommandOutput()


def _touch(words: list[str], _: str) -> CommandOutput:
    for path in operands(words[1:])[1]:
        with open(path, "ab"):
            pass
    return CommandOutput()


def _unzip(words: list[str], _: str) -> CommandOutput:
    options, paths = operands(words[1:], "dxP")
    with zipfile.ZipFile(paths[0] if os.path.exists(paths[0]) else f"{paths[0]}.zip") as archive:
        archive.extractall(options.get("d") or ".")  # noqa: S202 - into the overlay
    return CommandOutput()


def _tar(words: list[str], _: str) -> CommandOutput | None:
    given = [f"-{words[1]}", *words[2:]] if len(words) > 1 and not words[1].startswith("-") else words[1:]
    options, _paths = operands(given, "fC")
    if not options.keys() & {"x", "extract"} or "f" not in options:
        return None
    folder = options.get("C") or options.get("directory") or "."
    with tarfile.open(options["f"]) as archive:
        archive.extractall(folder)  # noqa: S202 - into the overlay
    return CommandOutput()


def _cd(words: list[str], _: str) -> CommandOutput:
    os.chdir(words[1] if len(words) > 1 else os.path.expanduser("~"))
    return CommandOutput()


def _nothing(_: list[str], __: str) -> CommandOutput:
    return CommandOutput()


FILE_COMMANDS: dict[str, Handler] = {
    "mkdir": _mkdir,
    "rm": _rm,
    "cp": _cp,
    "mv": _mv,
    "ln": _ln,
    "touch": _touch,
    "unzip": _unzip,
    "tar": _tar,
    "cd": _cd,
    **dict.fromkeys(("clear", "cls", "true", "reset", "sleep", "sync"), _nothing),
}
