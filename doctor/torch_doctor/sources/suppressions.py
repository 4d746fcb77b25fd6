"""Comments by which people say that a finding is known: `noqa` and `torch-doctor: ignore[...]`."""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Finding
    from torch_doctor.sources.source import SourceFile

CANDIDATE = pattern(r"#[^\n]*?(?:noqa|torch-doctor\s*:)", re.IGNORECASE)
NOQA = pattern(
    r"#\s*noqa(?!\w)(?P<colon>\s*:)?(?:(?<=:)\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE
)
OURS = pattern(r"#\s*torch-doctor\s*:\s*(?P<verb>[\w-]+)\s*(?:\[(?P<names>[^\]]*)\])?", re.IGNORECASE)
SEPARATOR = pattern(r"[\s,]+")
NO_VERBS = {
    "skip-file": "`# torch-doctor: ignore-file` suppresses findings in the file",
    "noqa": "`# torch-doctor: ignore-file` suppresses findings in the file, `# noqa: TDR101` on a line",
    "disable": "`# torch-doctor: ignore[...]` suppresses findings on a line",
    "skip": "`# torch-doctor: ignore[...]` suppresses findings on a line, `# torch-doctor: ignore-file` in the file",
}
"""What other tools say, and how it is said here."""
EVERYTHING = frozenset({"ALL"})
NO_CODE = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.ENDMARKER)


class Suppression(Struct, frozen=True):
    """One comment: the selectors it names, `ALL` for a blanket one. `ours` may stand on a line of its own.

    `column` is where it begins, from 1 in code points; `whole_file`: it speaks of all rows.
    """

    row: int
    selectors: frozenset[str]
    ours: bool = False
    column: int = 1
    whole_file: bool = False

    def covers(self, selector: str, finding: Finding) -> bool:
        """Whether one of its selectors names the rule of a finding."""
        return selector in ("ALL", finding.name) or finding.code.startswith(selector.upper())


class Suppressions(Struct):
    """All such comments of one file. `misspelt` are those that say nothing we understand: (row, why)."""

    by_row: dict[int, list[Suppression]] = field(default_factory=dict)
    whole_file: list[Suppression] = field(default_factory=list)
    misspelt: list[tuple[int, str]] = field(default_factory=list)
    comment_rows: set[int] = field(default_factory=set)  # with nothing but a comment
    decorators: dict[int, int] = field(default_factory=dict)  # last row: first row
    logical_lines: dict[int, tuple[int, int]] = field(default_factory=dict)  # of rows that share theirs with others

    def silences(self, finding: Finding, file: SourceFile) -> bool:
        """Whether a comment in the file speaks of the finding."""
        return any(_covers(comment, finding) for comment in self.about(finding, file))

    def about(self, finding: Finding, file: SourceFile) -> Iterator[Suppression]:
        """The comments that stand where they speak of a finding, if they name its rule."""
        yield from self.whole_file
        if not self.by_row:
            return
        row = file.row_of(finding.site)
        first, last = self.logical_lines.get(row, (row, row))
        beside = {row, first, last} - self.comment_rows
        for line in beside:
            yield from self.by_row.get(line, ())
        for start in {row, first}:
            yield from self._above(start)

    def all(self) -> Iterator[Suppression]:
        """Every comment that suppresses something."""
        yield from self.whole_file
        for comments in self.by_row.values():
            yield from comments

    def _above(self, row: int) -> Iterator[Suppression]:
        """Our comments on lines of their own directly above a row, or above its decorators."""
        row -= 1
        while row in self.comment_rows or row in self.decorators:
            if row in self.decorators:
                row = self.decorators[row] - 1
                continue
            yield from (comment for comment in self.by_row.get(row, ()) if comment.ours)
            row -= 1


def _covers(comment: Suppression, finding: Finding) -> bool:
    return any(comment.covers(selector, finding) for selector in comment.selectors)


def suppressions(file: SourceFile) -> Suppressions:
    """What the comments of a file suppress; text in strings is no comment."""
    found = Suppressions()
    if not CANDIDATE.search(file.text):
        return found
    for row, column, comment in _comments(file, found):
        if not file.lines[row - 1][:column].strip():
            found.comment_rows.add(row)
        for noqa in NOQA.finditer(comment):
            if noqa["codes"]:
                selectors = frozenset(SEPARATOR.split(noqa["codes"].upper()))
            elif noqa["colon"]:
                continue  # "noqa:" and no code: other tools complain of it
            else:
                selectors = EVERYTHING
            begins = column + noqa.start() + 1
            found.by_row.setdefault(row, []).append(Suppression(row, selectors, column=begins))
        for ours in OURS.finditer(comment):
            _read_ours(found, ours, row, column + ours.start() + 1)
    return found


def _read_ours(found: Suppressions, comment: re.Match[str], row: int, column: int) -> None:
    verb, names = comment["verb"].lower(), comment["names"]
    selectors = frozenset(name for name in SEPARATOR.split((names or "").strip()) if name)
    if verb == "ignore-file":
        whole = Suppression(row, selectors or EVERYTHING, ours=True, column=column, whole_file=True)
        found.whole_file.append(whole)
    elif verb == "ignore" and selectors:
        found.by_row.setdefault(row, []).append(Suppression(row, selectors, ours=True, column=column))
    elif verb == "ignore":
        found.misspelt.append(
            (row, "`torch-doctor: ignore` names no rule; write `ignore[TDR101]` or `ignore[rule-name]`")
        )
    else:
        hint = NO_VERBS.get(verb, "did you mean `ignore[...]`?")
        found.misspelt.append((row, f"unknown directive `torch-doctor: {verb}`; {hint}"))


def _comments(file: SourceFile, found: Suppressions) -> Iterator[tuple[int, int, str]]:
    """Row, column (from 0) and text of every comment; notes on the way which rows make one logical line.

    Text that cannot be tokenized is searched by sight, and each of its rows stands for itself.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(file.lines)).readline))
    except (tokenize.TokenError, SyntaxError):
        for row, line in enumerate(file.lines, start=1):
            if "#" in line:
                yield row, line.index("#"), line[line.index("#") :]
        return
    first: tokenize.TokenInfo | None = None
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string
        elif token.type == tokenize.NEWLINE and first is not None:
            rows = (first.start[0], token.start[0])
            if rows[0] != rows[1]:
                found.logical_lines.update(dict.fromkeys(range(rows[0], rows[1] + 1), rows))
            if first.string == "@":
                found.decorators[rows[1]] = rows[0]
            first = None
        elif first is None and token.type not in NO_CODE:
            first = token
