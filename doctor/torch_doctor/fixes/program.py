"""A file as libcst reads it, and where its nodes lie."""

from __future__ import annotations

import ast
import sys
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor.fixes.reading import parents, positions
from torch_doctor.pattern import pattern
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch_doctor.sources.source import SourceFile
    from torch_doctor.trace import Site

WORD = pattern(r"[^\W\d]\w*")
Place = tuple[int, int]  # row from 1, column from 0
Piece = tuple[Place, Place, str]  # from where to where, and what is written there


class CannotEditError(Exception):
    """There is no way to make this edit here; nothing is proposed."""


class Program:
    """The text of a file or of a notebook's cells, as a tree with positions; `beside` gives the other files of the project.

    Raises:
        CannotEditError: libcst cannot read it.
    """

    def __init__(self, source: SourceFile, beside: Callable[[str], Program]) -> None:
        self.source = source
        self.beside = beside
        self.rows = NEWLINE.split(source.text)
        try:
            self.tree = cst.parse_module("\n".join(self.rows))
            self._positions = positions(self.tree)
            self._parents = parents(self.tree)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise CannotEditError from error

    @cached_property
    def _starts(self) -> dict[Place, list[cst.CSTNode]]:
        starts: dict[Place, list[cst.CSTNode]] = {}
        for node, position in self._positions.items():
            starts.setdefault((position.start.line, position.start.column), []).append(node)
        return starts

    def nodes(self) -> Iterable[cst.CSTNode]:
        """All nodes of the tree."""
        return self._positions.keys()

    def start(self, node: cst.CSTNode) -> Place:
        """Where a node begins, without parentheses around it."""
        position = self._positions[node].start
        return position.line, position.column

    def end(self, node: cst.CSTNode) -> Place:
        """Where a node ends: the place after its last character, without parentheses around it."""
        position = self._positions[node].end
        return position.line, position.column

    def outer(self, value: cst.BaseExpression) -> tuple[Place, Place]:
        """Where an expression begins and ends, with the parentheses around it."""
        if not value.lpar:
            return self.start(value), self.end(value)
        return self.start(value.lpar[0]), self.end(value.rpar[-1])

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """What a node is a part of."""
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node and all that it is a part of, from the inside."""
        within: cst.CSTNode | None = node
        while within is not None:
            yield within
            within = self.parent(within)

    def expression(self, site: Site) -> cst.BaseExpression:
        """The expression at a site: the one that ends there, too.

        Raises:
            CannotEditError: there is none.
        """
        laid = self.source.laid(site)
        for node in self._starts.get((laid.row, laid.column - 1), ()):
            if isinstance(node, cst.BaseExpression) and self.end(node) == (laid.end_row, laid.end_column - 1):
                return node
        raise CannotEditError

    def call(self, site: Site) -> cst.Call:
        """The call at a site.

        Raises:
            CannotEditError: there is none.
        """
        found = self.expression(site)
        if not isinstance(found, cst.Call):
            raise CannotEditError
        return found

    def small(self, site: Site) -> cst.BaseSmallStatement:
        """The simple statement in which a site begins.

        Raises:
            CannotEditError: there is none.
        """
        for node in self._around(site):
            if isinstance(node, cst.BaseSmallStatement):
                return node
            if isinstance(node, cst.BaseCompoundStatement):
                break
        raise CannotEditError

    def compound(self, site: Site) -> cst.BaseCompoundStatement:
        """The innermost loop, function, condition or other block in which a site begins.

        Raises:
            CannotEditError: there is none.
        """
        for node in self._around(site):
            if isinstance(node, cst.BaseCompoundStatement):
                return node
        raise CannotEditError

    def statement(self, site: Site) -> cst.BaseSmallStatement | cst.BaseCompoundStatement:
        """The innermost statement in which a site begins.

        Raises:
            CannotEditError: there is none.
        """
        for node in self._around(site):
            if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                return node
        raise CannotEditError

    def _around(self, site: Site) -> Iterator[cst.CSTNode]:
        """What begins at a site, from the inside, and all that it is a part of."""
        laid = self.source.laid(site)
        for node in self._starts.get((laid.row, laid.column - 1), ()):
            if isinstance(node, cst.BaseExpression | cst.BaseSmallStatement | cst.BaseCompoundStatement):
                return self.around(node)
        return iter(())

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node, without parentheses around it."""
        return self.between(self.start(node), self.end(node))

    def between(self, start: Place, end: Place) -> str:
        """The text from one place to another."""
        (row, column), (end_row, end_column) = start, end
        if row == end_row:
            return self.rows[row - 1][column:end_column]
        return "\n".join(
            (self.rows[row - 1][column:], *self.rows[row : end_row - 1], self.rows[end_row - 1][:end_column])
        )

    def site(self, start: Place, end: Place) -> Site:
        """The site from one place to another."""
        return self.source.site(start[0], start[1] + 1, end[0], end[1] + 1)

    def is_display(self, value: cst.BaseExpression) -> bool:
        """Whether a name stands for a dict, list or tuple that the file writes out."""
        written = (cst.Dict, cst.List, cst.Tuple)
        return any(
            isinstance(node, cst.Assign)
            and isinstance(node.value, written)
            and node.targets[0].target.deep_equals(value)
            for node in self._positions
        )

    @staticmethod
    def root(node: cst.CSTNode) -> str:
        """The name that a dotted name begins with; "" for what is none."""
        return (cst.helpers.get_full_name_for_node(node) or "").partition(".")[0]

    def meant(self, value: cst.BaseExpression) -> str:
        """The qualified name of a dotted name that begins with an import; "" for what is none."""
        written = cst.helpers.get_full_name_for_node(value) or ""
        alias, dot, rest = written.partition(".")
        return f"{self.imported[alias]}{dot}{rest}" if alias in self.imported else ""

    def indent(self, row: int) -> str:
        """The white space that a row begins with."""
        text = self.rows[row - 1]
        return text[: len(text) - len(text.lstrip())]

    @cached_property
    def top_level(self) -> frozenset[str]:
        """The names that statements at the top level bind, outside of functions and classes."""
        bound: set[str] = set()
        for statement in ast.parse("\n".join(self.rows)).body:
            for node in _outside(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    bound.add(node.id)
                elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    bound.add(node.name)
        return frozenset(bound)

    @staticmethod
    def words(text: str) -> list[str]:
        """All that may be a name in a text."""
        return WORD.findall(text)

    @cached_property
    def imported(self) -> dict[str, str]:
        """What the imports at the top level bind: the qualified name of each, by the name the file has for it."""
        bound: dict[str, str] = {}
        for statement in self.imports:
            for small in statement.body:
                bound.update((name, meaning) for _, name, meaning in bound_by(small))
        return bound

    @cached_property
    def imports(self) -> list[cst.SimpleStatementLine]:
        """The rows at the top level that import something."""
        return [
            line
            for line in self.tree.body
            if isinstance(line, cst.SimpleStatementLine)
            and any(isinstance(small, cst.Import | cst.ImportFrom) for small in line.body)
        ]

    def place_for_import(self, module: str) -> tuple[Place, str]:
        """Where a module's import goes, and what stands below it: nothing or an empty line."""
        usual = [line for line in self.imports if not _is_future(line)]
        own = [line for line in usual if _is_standard(line)]
        standard = module in sys.stdlib_module_names
        if usual and standard and own:
            after = [line for line in own if isinstance(line.body[0], cst.Import) and _root(line) < module]
            return ((self.end(after[-1])[0] + 1, 0), "") if after else ((self.start(own[0])[0], 0), "")
        if usual and standard:
            return (self.start(usual[0])[0], 0), "\n"
        if usual:
            return (self.start(usual[0])[0], 0), ""
        raise CannotEditError


def _outside(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and what is in it, but for what is in functions and classes."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _outside(child)


def bound_by(small: cst.BaseSmallStatement) -> Iterator[tuple[cst.ImportAlias, str, str]]:
    """What an import binds: the place, the name in this file, and the qualified name."""
    if isinstance(small, cst.Import):
        for alias in small.names:
            if alias.asname is not None:
                yield alias, cst.ensure_type(alias.asname.name, cst.Name).value, alias.evaluated_name
            else:
                root = alias.evaluated_name.partition(".")[0]
                yield alias, root, root
    elif isinstance(small, cst.ImportFrom) and not small.relative and small.module is not None:
        module = cst.helpers.get_full_name_for_node(small.module)
        for alias in () if isinstance(small.names, cst.ImportStar) else small.names:
            yield alias, alias.evaluated_alias or alias.evaluated_name, f"{module}.{alias.evaluated_name}"


def _root(line: cst.SimpleStatementLine) -> str:
    small = line.body[0]
    if isinstance(small, cst.Import):
        return small.names[0].evaluated_name.partition(".")[0]
    module = small.module if isinstance(small, cst.ImportFrom) else None
    return (cst.helpers.get_full_name_for_node(module) or "").partition(".")[0] if module else ""


def _is_future(line: cst.SimpleStatementLine) -> bool:
    return isinstance(line.body[0], cst.ImportFrom) and _root(line) == "__future__"


def _is_standard(line: cst.SimpleStatementLine) -> bool:
    return isinstance(line.body[0], cst.Import | cst.ImportFrom) and _root(line) in sys.stdlib_module_names
