"""A fixture as syntax trees whose lines remember where they stood.

Before a fixture is parsed, every line that can end in a comment gets one, `#@0:17`: file 0, row 17. The trees carry
these marks through any rewriting. When a rewritten project is written to disk, they are read back and removed, so the
scan never sees them.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MARK = re.compile(r"#@(\d+):(\d+)")
MARKS_AT_END = re.compile(r"[ \t]*#@\d+:\d+(?:[ \t]*#@\d+:\d+)*[ \t]*(?=\r?$)", re.MULTILINE)
LINE = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
EMPTY = cst.Module([])
CAN_HOLD_A_COMMENT = {tokenize.NEWLINE, tokenize.NL}


class Origin(NamedTuple):
    """A line of the fixture: which of its files, and which row."""

    file: int
    row: int

    def __str__(self) -> str:
        return f"#@{self.file}:{self.row}"


class NotRewritableError(Exception):
    """A fixture that is no tree: invalid on purpose, or a notebook."""


@dataclass(frozen=True)
class Project:
    """The Python files of a fixture as trees, by their path in the folder that is scanned, and its other files as bytes."""

    modules: Mapping[str, cst.Module]
    others: Mapping[str, bytes] = field(default_factory=dict)

    def with_module(self, path: str, module: cst.Module) -> Project:
        return replace(self, modules={**self.modules, path: module})

    @cached_property
    def _marked(self) -> dict[str, str]:
        return {path: _code(module) for path, module in self.modules.items()}

    def code(self, path: str) -> str:
        """A file as the scan sees it."""
        return MARKS_AT_END.sub("", self._marked[path])

    def write(self, folder: Path) -> list[Path]:
        """Write all files; returns what is to be scanned."""
        contents = {path: self.code(path).encode(module.encoding) for path, module in self.modules.items()}
        for path, content in {**self.others, **contents}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return sorted(folder.iterdir())

    def origins(self, path: str, row: int) -> frozenset[Origin]:
        """The lines of the fixture that a row of a file stems from.

        A row that cannot end in a comment, such as the first of a long string, has the origin of the next that can.
        """
        lines = LINE.split(self._marked[path])
        if not marks_in(lines[row - 1]):
            row = next(able for able in _rows_that_can_hold_a_comment("".join(lines)) if able >= row)
        return marks_in(lines[row - 1])


def _code(module: cst.Module) -> str:
    """A module as source: most of its statements are those of other forms of the same fixture, and known."""
    if (module.default_newline, module.default_indent, module.has_trailing_newline) != ("\n", "    ", True):
        return module.code
    return "".join(text(part) for part in (*module.header, *module.body, *module.footer))


@lru_cache(maxsize=4096)
def text(node: cst.CSTNode) -> str:
    """A node as source."""
    return EMPTY.code_for_node(node)


def read(fixture: Path) -> Project:
    """The fixture, every line of it marked."""
    if fixture.is_file():
        paths = [fixture]
    else:
        paths = sorted(path for path in fixture.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    if any(path.suffix == ".ipynb" for path in paths):
        message = "a notebook"
        raise NotRewritableError(message)
    modules, others = {}, {}
    for number, path in enumerate(paths):
        name = path.relative_to(fixture.parent).as_posix()
        if path.suffix == ".py":
            modules[name] = _parse(path.read_bytes(), number)
        else:
            others[name] = path.read_bytes()
    return Project(modules, others)


def _parse(content: bytes, number: int) -> cst.Module:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        lines = LINE.split(content.decode(encoding))
        for row in _rows_that_can_hold_a_comment("".join(lines)):
            text = lines[row - 1].rstrip("\r\n")
            if text.strip():
                lines[row - 1] = f"{text}  {Origin(number, row)}{lines[row - 1][len(text) :]}"
        return cst.parse_module("".join(lines).encode(encoding))
    except (SyntaxError, UnicodeDecodeError, tokenize.TokenError, cst.ParserSyntaxError) as error:
        raise NotRewritableError(str(error)) from error


def _rows_that_can_hold_a_comment(code: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type in CAN_HOLD_A_COMMENT:
            yield token.start[0]


def marks_in(code: str) -> frozenset[Origin]:
    """The lines of the fixture that are named in code which still has its marks."""
    return frozenset(Origin(int(file), int(row)) for file, row in MARK.findall(code))
