"""Command lines of the script in the project's documentation: values of its arguments, which are never run as commands."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from ..project_files import ENDINGS, configuration
from ..source import INSTALLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..source import Sources

PROSE = (".md", ".rst", ".txt", ".ipynb", "")
SHELL = (".sh", ".bash", ".bat", ".yml", ".yaml", ".mk", ".slurm", ".sbatch")
NAMED = (
    "readme",
    "makefile",
    "dockerfile",
    "launch.json",
    "usage",
    "install",
    "train",
    "getting",
    "quick",
    "run",
    "howto",
)
"""Words that begin the names of files with command lines, where their suffix does not say it."""
HIDDEN = frozenset({".github", ".vscode", ".circleci"})
DEEPEST, MOST_FOLDERS, MOST_FILES, LARGEST = 3, 1_000, 400, 400_000
LAUNCHERS = ("python", "torchrun", "accelerate", "deepspeed", "ipython", "srun", "horovodrun", "poetry", "uv", "./")
ENDING = frozenset({"|", ">", ">>", "&&", "||", ";", "&", "2>&1", "#", "\\", "^"})
QUOTED = re.compile(r"`+([^`]+)`+")
CONTINUED = re.compile(r"[ \t]*(?:\\|\^)[ \t]*\r?\n[ \t]*")
ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+|set[ \t]+)?(\w+)=(\"[^\"$`]*\"|'[^'$`]*'|[^\s\"'$`;&|]+)[ \t]*$", re.MULTILINE
)
VARIABLE = re.compile(r"\$\{?(\w+)\}?")
OPEN = re.compile(r"[<>{}$]|^\[|\.\.\.|…|path[_/-]?to|^/?path\b|your[_-]|^xxx+|^\W*$", re.IGNORECASE)
"""What is in a value that its reader has to fill in."""
ELSE = ("test", "eval", "infer", "demo", "predict", "generate", "sample", "visualize")
"""Words of commands that do something else than train."""


class Documented(str):  # noqa: SLOT000 - a class of text with a field has a dictionary
    """A value of an argument, with the `place` that documents it."""

    place: str


class DocumentedCommand(NamedTuple):
    """The words behind the script in a command line, and where it is written."""

    words: list[str]
    place: str


def said_of(value: str) -> str:
    """What a value of an argument is called where it is told."""
    return f"the value in {value.place}" if isinstance(value, Documented) else "a placeholder value"


def value_of(
    sources: Sources, names: Iterable[str], kind: Any = None, choices: Iterable[Any] = ()
) -> Documented | None:
    """The documented value of an option with one of these names, that its type and its choices allow."""
    wanted = {name.lstrip("-").replace("-", "_") for name in names}
    allowed = {str(choice) for choice in choices}
    for command in commands(sources):
        for place, word in enumerate(command.words):
            name, equals, value = word.partition("=")
            if name.lstrip("-+").replace("-", "_") not in wanted or not (equals or name.startswith("-")):
                continue
            if not equals:
                value = command.words[place + 1] if place + 1 < len(command.words) else ""
            found = usable(sources, value, command.place, kind)
            if found is not None and (not allowed or found in allowed):
                return found
    return None


def usable(sources: Sources, value: str, place: str, kind: Any = None) -> Documented | None:
    """A documented value, if nobody has to fill it in and its type takes it."""
    if not value or OPEN.search(value) or (value.startswith("-") and not value[1:2].isdigit()):
        return None
    try:
        if callable(kind) and kind is not bool:
            kind(value)
    except Exception:  # noqa: BLE001 - however it refuses
        return None
    if not os.path.exists(value) and not os.path.isabs(value):
        own = os.path.join(sources.project, value)
        value = own if os.path.isfile(own) else _renamed(sources, value) or value
    found = Documented(value)
    found.place = place
    return found


def _renamed(sources: Sources, value: str) -> str | None:
    """The configuration of the project that a documented one is now, which is not there: one with a word of its name."""
    stem, ending = os.path.splitext(os.path.basename(value))
    found = configuration(sources, stem) if ending.lower() in ENDINGS else None
    return os.path.relpath(found) if found is not None and found.endswith(ending) else None


def commands(sources: Sources) -> list[DocumentedCommand]:
    """The command lines that run the script, those that train first."""
    known = _KNOWN.get(sources.script)
    if known is None:
        found = [each for path in _files(sources) for each in _in_file(sources, path)]
        known = sorted(found, key=_strangeness)
        _KNOWN[sources.script] = known
    return known


def _strangeness(command: DocumentedCommand) -> tuple[bool, bool]:
    """Whether a command does something else than train, and whether it goes on with an earlier training."""
    line = " ".join(command.words).lower()
    return any(word in line for word in ELSE), "resume" in line


_KNOWN: dict[str, list[DocumentedCommand]] = {}


def _files(sources: Sources) -> Iterator[str]:
    """The files that may have command lines: of the script's own folder and the project's first, then those below."""
    left = MOST_FILES
    for number, (top, folders, names) in enumerate(os.walk(sources.project)):
        if number > MOST_FOLDERS:
            return
        depth = os.path.relpath(top, sources.project).count(os.sep) + (top != sources.project)
        folders[:] = sorted(
            each
            for each in folders
            if (not each.startswith(".") or each in HIDDEN) and each not in INSTALLED and depth < DEEPEST
        )
        for name in sorted(names, key=lambda each: (not each.lower().startswith("readme"), each)):
            lowered, ending = name.lower(), os.path.splitext(name)[1].lower()
            if (
                ending in SHELL
                or ((ending in PROSE or ending == ".json") and lowered.startswith(NAMED))
                or ending == ".md"
            ):
                left -= 1
                if left < 0:
                    return
                yield os.path.join(top, name)


def _in_file(sources: Sources, path: str) -> Iterator[DocumentedCommand]:
    name = os.path.basename(sources.script)
    module = os.path.splitext(os.path.relpath(sources.script, sources.project))[0].replace(os.sep, ".")
    try:
        if os.path.getsize(path) > LARGEST:
            return
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return
    if name not in text and module not in text:
        return
    shown = os.path.relpath(path, sources.project)
    if path.endswith(".json"):
        yield from _of_editor(text, name, shown)
        return
    if path.endswith(".ipynb"):
        text = text.replace('\\n",', "\n").replace('\\"', '"').replace('"', " ")
    given = {each[1]: each[2].strip("\"'") for each in ASSIGNED.finditer(text)}
    for number, line in _lines(text):
        for part in QUOTED.findall(line) or [line]:
            words = _words(part, name, module)
            if words is not None:
                filled = [VARIABLE.sub(lambda found: given.get(found[1], found[0]), word) for word in words]
                yield DocumentedCommand(filled, f"{shown}:{number}")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines, each with all that continue it, and the number of the first."""
    number = 1
    for line in CONTINUED.sub("\0", text).split("\n"):
        yield number, line.replace("\0", " ")
        number += 1 + line.count("\0")


def _words(line: str, name: str, module: str) -> list[str] | None:
    """The words behind the script in a command line; None where the line is none, but prose."""
    plain = line.strip().lstrip("$>!%-*+ \t").removeprefix("run:").strip().strip("\"',")
    if name not in plain and module not in plain:
        return None
    try:
        words = shlex.split(plain)
    except ValueError:
        return None
    first = next(
        (each for each in words if "=" not in each and each not in ("sudo", "nohup", "CMD", "RUN", "time")), ""
    )
    if not first.startswith(LAUNCHERS):
        return None
    for place, word in enumerate(words):
        is_script = word.endswith(".py") and os.path.basename(word.replace("\\", "/")) == name
        if is_script or (word == module and words[place - 1] == "-m"):
            behind = words[place + 1 :]
            end = next((at for at, each in enumerate(behind) if each in ENDING), len(behind))
            return behind[:end]
    return None


def _of_editor(text: str, name: str, shown: str) -> Iterator[DocumentedCommand]:
    """The arguments in `launch.json` of an editor, which may have comments."""
    try:
        settings = json.loads(re.sub(r"^\s*//.*$|,(?=\s*[\]}])", "", text, flags=re.MULTILINE))
        for each in settings["configurations"]:
            if str(each.get("program", "")).endswith(name) and isinstance(each.get("args"), list):
                yield DocumentedCommand([str(word) for word in each["args"]], shown)
    except (ValueError, KeyError, TypeError, AttributeError):
        return
