"""Making new code that remembers where it comes from."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.project import marks_in, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.metamorphic.names import Statement
    from tests.metamorphic.project import Origin

Node = TypeVar("Node", bound=cst.CSTNode)

IMPORT = m.SimpleStatementLine([m.Import() | m.ImportFrom()])
FUTURE = m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))])
DOCSTRING = m.SimpleStatementLine([m.Expr(m.SimpleString() | m.ConcatenatedString())])


def origins(*nodes: cst.CSTNode) -> frozenset[Origin]:
    """The lines that nodes come from: of a compound statement, its first line alone."""
    return frozenset(origin for node in nodes for origin in marks_in(_head(node)))


def _head(node: cst.CSTNode) -> str:
    if isinstance(node, (cst.BaseCompoundStatement, cst.ExceptHandler)) and isinstance(node.body, cst.IndentedBlock):
        comment = text(node.body.header)
        names = ("iter", "target", "test", "items", "params", "bases")
        parts = [getattr(node, name) for name in names if hasattr(node, name)]
        inner = [part for entry in parts for part in (entry if isinstance(entry, (list, tuple)) else [entry])]
        return comment + "".join(text(part) for part in inner)
    return text(node)


def statements(code: str, come_from: Iterable[Origin] = ()) -> list[Statement]:
    """New statements, of which every line that has no origin yet gets these."""
    mark = " ".join(str(origin) for origin in sorted(come_from))
    lines = textwrap.dedent(code).strip("\n").split("\n")
    marked = [f"{line}  {mark}" if mark and line.strip() and not marks_in(line) else line for line in lines]
    return list(cst.parse_module("\n".join(marked) + "\n").body)


def statement(code: str, come_from: Iterable[Origin] = ()) -> Statement:
    (only,) = statements(code, come_from)
    return only


def block(body: Iterable[cst.BaseStatement], like: cst.BaseSuite | None = None) -> cst.IndentedBlock:
    """An indented block of statements; `like` gives the rest of its first line and its indentation."""
    made = cst.IndentedBlock(list(body))
    if isinstance(like, cst.IndentedBlock):
        return made.with_changes(header=like.header, indent=like.indent)
    return made


def body_of(suite: cst.BaseSuite) -> list[Statement] | None:
    """The statements of an indented block; nothing for one on the line of its header."""
    return list(suite.body) if isinstance(suite, cst.IndentedBlock) else None  # type: ignore[arg-type]


def with_imports(module: cst.Module, *lines: str) -> cst.Module:
    """The module with imports added after its docstring and those from `__future__`."""
    body = list(module.body)
    position = 0
    while position < len(body) and (
        m.matches(body[position], FUTURE) or (not position and m.matches(body[0], DOCSTRING))
    ):
        position += 1
    imports = (is_simple(entry, cst.Import) or is_simple(entry, cst.ImportFrom) for entry in body)
    known = {text(line).strip() for line in imports if line is not None}
    added = [statement(line) for line in lines if line not in known]
    return module.with_changes(body=[*body[:position], *added, *body[position:]])


def without_blank_lines(entries: Sequence[Statement]) -> list[Statement]:
    """Statements to be put elsewhere: the blank lines before the first stay behind."""
    return [entries[0].with_changes(leading_lines=[]), *entries[1:]] if entries else []


def is_simple(node: cst.CSTNode, kind: type[Node]) -> Node | None:
    """The small statement of this kind, where it stands alone on its line."""
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 and isinstance(node.body[0], kind):
        return node.body[0]
    return None


def name_of_call(node: cst.BaseExpression) -> str:
    """What a call calls, as written: `torch.optim.SGD`; empty for what is no call of a dotted name."""
    if not isinstance(node, cst.Call):
        return ""
    return dotted(node.func)


def dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr.value}" if before else ""
    return ""


def every(module: cst.Module, kind: type[Node]) -> list[Node]:
    """All nodes of a kind, in the order of the source."""
    return [node for node in nodes_of(module).by_kind[kind] if isinstance(node, kind)]


class Nodes(cst.CSTVisitor):
    """The nodes of a module: by kind, and which each of them is in."""

    def __init__(self) -> None:
        super().__init__()
        self.by_kind: defaultdict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
        self.parent: dict[cst.CSTNode, cst.CSTNode] = {}
        self._above: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.by_kind[type(node)].append(node)
        if self._above:
            self.parent[node] = self._above[-1]
        self._above.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        del original_node
        self._above.pop()

    def around(self, node: cst.CSTNode) -> set[cst.CSTNode]:
        """The node, and all that it is in."""
        found = {node}
        while (above := self.parent.get(node)) is not None:
            found.add(node := above)
        return found


@lru_cache(maxsize=16)
def nodes_of(module: cst.Module) -> Nodes:
    """The nodes of a module, which many transformations ask for one after another."""
    nodes = Nodes()
    module.visit(nodes)
    return nodes
