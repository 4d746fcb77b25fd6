"""What is known of each place that was instrumented, and of the functions and calls of a file."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .choosing import leaves_out
from .sites import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .sites import Sites

Place = tuple[int, int]
"""Row from 1 and column in bytes from 0."""


@dataclass(frozen=True)
class Node:
    """A place that reports when it runs: `kind` says what it is, `span` where.

    For a loop, `first` and `last` bound its body, `over` is what it goes through, `names` are those that each of its passes
    assigns, with the rows after which that is so and where it is done last. `text` is the user's expression: of what a loop
    goes through, of the holder of a kept value. `value` is the text of the kept value, `name` an
    attribute's name, `how` the way of keeping; `wraps` tells that a single thing with a name of its own is put in a list,
    `touches` that the statement may change gradients or parameters by hand. `arguments` are the keys of a call's arguments and of
    what is written out in them, `argument_names` say which each is: "0", "loss", "0.loss" for an item of the first, "**".
    """

    key: int
    kind: str
    span: Span
    first: Place = (0, 0)
    last: Place = (0, 0)
    over: Span | None = None
    text: str = ""
    value: str = ""
    name: str = ""
    how: str = ""
    wraps: bool = False
    touches: bool = False
    arguments: tuple[int, ...] = ()
    argument_names: tuple[str, ...] = ()
    names: tuple[tuple[str, int, int], ...] = ()


@dataclass
class File:
    """The functions and calls of one file of the user's; `dropped` are the ends of those whose result nobody takes.

    `modeless` are the functions in which a module's mode decides how many results are returned, and nothing else.
    """

    path: str
    text: str
    functions: dict[tuple[int, str], Span] = field(default_factory=dict)
    classes: dict[str, list[Span]] = field(default_factory=dict)
    calls: dict[tuple[int, int], ast.Call] = field(default_factory=dict)
    by_row: dict[int, list[ast.Call]] = field(default_factory=dict)
    targets: dict[tuple[int, int], str] = field(default_factory=dict)
    dropped: set[tuple[int, int]] = field(default_factory=set)
    modeless: set[tuple[int, str]] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    def spelled(self, node: ast.AST) -> str:
        """The user's text of an expression."""
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        lines = self.lines
        if not 0 <= first <= last < len(lines):
            return ""
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if first == last:
            return _text(lines[first].encode()[begin:end])
        middle = lines[first + 1 : last]
        return "\n".join([_text(lines[first].encode()[begin:]), *middle, _text(lines[last].encode()[:end])])

    def call_at(self, span: Span, *names: str) -> ast.Call | None:
        """The call that a span stands for; where columns are not known the first in its row, of these names if any."""
        if span.end_column >= 0:
            return self.calls.get((span.end_row, span.end_column))
        here = self.by_row.get(span.row, [])
        named = [call for call in here if last_name(call.func) in names]
        return next(iter(named or here), None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def last_name(node: ast.AST) -> str:
    """The last name of a name or an attribute; empty for the rest."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def span_of(path: str, node: ast.AST) -> Span:
    """Where a node of a syntax tree stands."""
    return Span(path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


class Index:
    """The instrumented places and the files that they are in.

    Attributes:
        sinks: methods that want numbers, by the package that has them, and how each uses what it is given.
        mark: marks the statements of a file of which somebody wants to know whether the script comes there.
        trainers: the files of libraries whose loops report their passes, too.
        figures: the values that the script reads are reported.
        shapes: the shapes of what variables get are reported.
        judged: the rows of each file in which numbers that are compared are reported.
    """

    def __init__(self, sites: Sites, sinks: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.sites = sites
        self.sinks = sinks or {}
        self.nodes: list[Node] = []
        self.files: dict[str, File] = {}
        self.trainers: set[str] = set()
        self.figures = False
        self.shapes = False
        self.judged: Mapping[str, Sequence[int]] = {}
        self.mark: Callable[[ast.Module, str], None] = lambda *_: None
        self.note: Callable[[str], None] = lambda _: None
        self._trees: dict[str, ast.Module] = {}

    def add(self, kind: str, span: Span, **details: object) -> int:
        """The key of a new place."""
        key = len(self.nodes)
        self.nodes.append(Node(key, kind, span, **details))  # type: ignore[arg-type]
        return key

    def site(self, key: int) -> int:
        """The number of an instrumented place."""
        return self.sites.number(self.nodes[key].span)

    def file(self, path: str) -> File | None:
        """What is known of a file; it is read when it was not instrumented."""
        known = self.files.get(path)
        if known is None:
            lines = self.sites.lines(path)
            text = "\n".join(lines)
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError):
                return None
            known = self.describe(path, text, tree)
        return known

    def trees(self) -> Mapping[str, ast.Module]:
        """The syntax of all files of the user's that were run, as they are written, by their paths."""
        for path, file in self.files.items():
            if path not in self._trees:
                self._trees[path] = ast.parse(file.text)
        return self._trees

    def describe(self, path: str, text: str, tree: ast.Module) -> File:
        """Collects the functions and calls of a tree that is not changed yet."""
        file = self.files[path] = File(path, text, lines=text.split("\n"))
        reads_mode = ".training" in text
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                file.calls[node.end_lineno or 0, node.end_col_offset or 0] = node
                file.by_row.setdefault(node.lineno, []).append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                words = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
                end = node.col_offset + len(words) + len(node.name.encode())
                file.functions[first, node.name] = Span(path, node.lineno, node.col_offset, node.lineno, end)
                if reads_mode and leaves_out(node, "training"):
                    file.modeless.add((first, node.name))
            elif isinstance(node, ast.ClassDef):
                file.classes.setdefault(node.name, []).append(span_of(path, node))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                file.dropped.add((node.value.end_lineno or 0, node.value.end_col_offset or 0))
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call):
                target = node.targets[0]
                if isinstance(target, ast.Name) and target.id == "_":
                    file.dropped.add((node.value.end_lineno or 0, node.value.end_col_offset or 0))
                elif isinstance(target, (ast.Name, ast.Attribute)):
                    file.targets[node.value.end_lineno or 0, node.value.end_col_offset or 0] = file.spelled(target)
        return file
