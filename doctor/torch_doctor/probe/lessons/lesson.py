"""What an attempt to run a script teaches for the next one, and what is known of how it failed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor.probe.feeding import fed_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.trace import End, Run, Site, StandIn

GUESSED = "files"
"""What a substitute voids whose form nobody knew: other ones hold what is known of the data."""


class Lesson(Struct, frozen=True):
    """What a substitute has to be: `kind` and `what` say which one, `value` says what it is, and `words` tell the user."""

    kind: str
    what: str
    value: Any
    words: str

    def told(self) -> dict[str, Any]:
        """What the agent is told."""
        return {"kind": self.kind, "what": self.what, "value": self.value}

    def same(self, other: Lesson) -> bool:
        """Whether two say the same."""
        return self.told() == other.told()


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in a run, and the lessons that this had; `text` gives the text of a file that users see by its name."""

    run: Run
    end: End
    lessons: Sequence[Lesson] = ()
    text: Callable[[str], str] = field(default=lambda _: "")

    @property
    def values(self) -> dict[str, Any]:
        """What the agent says of it."""
        return self.end.values

    @property
    def words(self) -> str:
        """The exception, in one line."""
        return " ".join(self.end.exception.split())

    @property
    def line(self) -> str:
        """The line that failed."""
        if not self.end.frames:
            return ""
        frame = self.end.frames[-1]
        return frame.line or self._line(frame.site)

    @property
    def terms(self) -> dict[str, Any]:
        """The parts of the statement that failed, with their values."""
        terms = self.values.get("terms")
        return terms if isinstance(terms, dict) else {}

    def is_a(self, *kinds: str) -> bool:
        """Whether the exception is of one of these classes."""
        return not set(kinds).isdisjoint(self.values.get("kinds") or ())

    def knows(self, kind: str, what: str) -> bool:
        """Whether there is a lesson of a kind about something."""
        return any(each.kind == kind and each.what == what for each in self.lessons)

    def guessed(self) -> list[StandIn]:
        """The substitutes of a form that nobody knew: those that the line that failed reads first."""
        guessed = [each for each in self.run.stand_ins if GUESSED in each.voids]
        rows = self._rows()
        return sorted(guessed, key=lambda each: each.site is None or (each.site.path, each.site.row) not in rows)

    def feeding(self) -> list[str]:
        """The lines of the frames from the innermost to the outermost, each with those that assign what it reads."""
        found: list[str] = []
        for frame in reversed(self.end.frames):
            site = frame.site
            rows = [] if site.cell is not None else fed_by(self.text(site.path), site.row)
            found += [self._line(each) for each in (site, *(site._replace(row=row) for row in rows))]
        return found

    def at(self, stand_in: StandIn) -> str:
        """The line that needed a substitute."""
        return "" if stand_in.site is None else self._line(stand_in.site)

    def _line(self, site: Site) -> str:
        return "".join(self.text(site.path).splitlines()[site.row - 1 : site.row]).strip()

    def among(self) -> list[str]:
        """The attributes that the failing file reads of what lacks one."""
        missing = self.values.get("attribute")
        owners = {
            ast.unparse(node.value)
            for node in ast.walk(parsed(self.line) or ast.Pass())
            if isinstance(node, ast.Attribute) and node.attr == missing
        }
        try:
            tree = (
                ast.parse(self.text(self.end.frames[-1].site.path))
                if owners and self.end.frames
                else ast.Module([], [])
            )
        except (SyntaxError, ValueError):
            return []
        nodes = [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) in owners
        ]
        return list(dict.fromkeys(node.attr for node in nodes if isinstance(node.ctx, ast.Load)))

    def feeds(self, stand_in: StandIn) -> bool:
        """Whether the line that failed reads what a substitute gave."""
        return stand_in.site is not None and (stand_in.site.path, stand_in.site.row) in self._rows()

    def _rows(self) -> set[tuple[str, int]]:
        """The lines that failed, with those that assign what they read, in the frames from the innermost to the outermost."""
        found: set[tuple[str, int]] = set()
        for frame in self.end.frames:
            site: Site = frame.site
            found.add((site.path, site.row))
            if site.cell is None:
                found.update((site.path, row) for row in fed_by(self.text(site.path), site.row))
        return found


def numbers(text: str) -> list[int]:
    """The whole numbers in a text."""
    return [int(each) for each in re.findall(r"\d+", text)]


def parsed(line: str) -> ast.stmt | None:
    """The statement of a line; None where it is only a part of one."""
    try:
        return ast.parse(line.strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
