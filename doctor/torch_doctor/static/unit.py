"""A source file as the abstract execution sees it: its program and the way from its rows to sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program import Call, Define, ImportFrom
from torch_doctor.static.program.leading import leading
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static.program import At, Function, Node, Program


class Unit:
    """One file of the project, lowered; `takes_whole` are its imports of all that a module has.

    `parts` are the imports of a package from its own files, where it is an `__init__.py`; `names` are those imports at the top
    of any file that take names of a module.
    """

    __slots__ = (
        "_calls",
        "_leading",
        "_nodes",
        "_sites",
        "_texts",
        "names",
        "parts",
        "program",
        "source",
        "takes_whole",
    )

    def __init__(self, source: SourceFile, program: Program) -> None:
        self.source = source
        self.program = program
        self._texts: dict[At, str] = {}
        self._sites: dict[At, Site] = {}
        self._calls: frozenset[str] | None = None
        self._nodes: tuple[Node, ...] | None = None
        self._leading: frozenset[Function] | None = None
        froms = [node for node in program.body if isinstance(node, ImportFrom)]
        self.takes_whole = tuple(node for node in froms if any(name == "*" for name, _ in node.names))
        self.names = frozenset(froms).difference(self.takes_whole)
        package = source.path.name == "__init__.py"
        self.parts = frozenset(node for node in froms if package and node.level)

    @property
    def defines(self) -> Iterator[Function]:
        """The functions of the file, and the methods of its classes."""
        yield from self.program.functions.values()
        for cls in self.program.classes.values():
            yield from (statement.function for statement in cls.body if isinstance(statement, Define))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the file, as `walk` has them."""
        if self._nodes is None:
            self._nodes = tuple(walk(self.program.body))
        return self._nodes

    @property
    def calls(self) -> frozenset[str]:
        """The paths of all that is called in the file by a name, or by an attribute of one."""
        if self._calls is None:
            calls = (node for node in self.nodes if isinstance(node, Call))
            self._calls = frozenset(path_of(call.func) for call in calls)
        return self._calls

    @property
    def leading(self) -> frozenset[Function]:
        """Those of its functions and methods that train, or that call one which does."""
        if self._leading is None:
            self._leading = leading(self.defines)
        return self._leading

    def site(self, at: At) -> Site:
        """The site of a node: notebooks count rows in each cell."""
        site = self._sites.get(at)
        if site is None:
            site = self._sites[at] = self._place(at)
        return site

    def _place(self, at: At) -> Site:
        row, column, end_row, end_column = at
        if self.source.cells is None:
            return Site(self.source.display, row, column, end_row, end_column)
        cell, first = self.source.place(row)
        _, last = self.source.place(end_row)
        return Site(self.source.display, first, column, last, end_column, cell)

    def text(self, at: At) -> str:
        """The user's spelling of what stands there."""
        text = self._texts.get(at)
        if text is None:
            text = self._texts[at] = self._spelling(at)
        return text

    def _spelling(self, at: At) -> str:
        row, column, end_row, end_column = at
        lines = self.source.lines
        if row > len(lines):
            return ""
        if row == end_row:
            return lines[row - 1][column - 1 : end_column - 1]
        parts = [lines[row - 1][column - 1 :], *lines[row : end_row - 1], lines[end_row - 1][: end_column - 1]]
        return " ".join(part.strip() for part in parts)
