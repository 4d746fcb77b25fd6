"""How loops go over their batches."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import block, body_of, origins, statement, statements, with_imports
from tests.metamorphic.names import FreshNames, uses
from tests.metamorphic.project import text
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metamorphic.names import Statement

NAMES = m.Tuple(elements=[m.AtLeastN(m.Element(m.Name()), n=2)])
OVER_RANGE = m.Call(func=m.Name("range"))


class LoopTransformation(ModuleTransformation):
    """A transformation of every `for` loop that allows it."""

    kind: ClassVar[Kind] = Kind.KEPT
    imports: ClassVar[tuple[str, ...]] = ()

    def rewrite(self, module: cst.Module) -> cst.Module:
        visitor = _EveryLoop(self, FreshNames(module))
        rewritten = module.visit(visitor)
        return with_imports(rewritten, *self.imports) if visitor.changed else module

    @abstractmethod
    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        """What takes the loop's place; nothing where it stays."""


class _EveryLoop(cst.CSTTransformer):
    def __init__(self, transformation: LoopTransformation, names: FreshNames) -> None:
        super().__init__()
        self.changed = False
        self._transformation = transformation
        self._names = names

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        if updated_node.asynchronous or body_of(updated_node.body) is None:
            return updated_node
        made = self._transformation.loop(updated_node, self._names)
        if made is None:
            return original_node if updated_node.deep_equals(original_node) else updated_node
        self.changed = True
        return cst.FlattenSentinel([made[0].with_changes(leading_lines=updated_node.leading_lines), *made[1:]])


def _with_body(node: cst.For, before: Sequence[Statement], after: Sequence[Statement] = ()) -> cst.For:
    body = body_of(node.body) or []
    return node.with_changes(body=block([*before, *body, *after], like=node.body))


class BatchByIndex(LoopTransformation):
    """`for x, y in loader` becomes `for batch in loader: x, y = batch[0], batch[1]`, one line each; also in `enumerate`."""

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        batch = names.of("batch", "batch_data")
        unpacked, target = self._unpacked(node, batch)
        if unpacked is None:
            return None
        lines = "\n".join(f"{text(element.value)} = {batch}[{i}]" for i, element in enumerate(unpacked.elements))
        return [_with_body(node.with_changes(target=target), statements(lines, origins(node)))]

    @staticmethod
    def _unpacked(node: cst.For, batch: str) -> tuple[cst.Tuple | None, cst.BaseAssignTargetExpression]:
        target = node.target
        if m.matches(node.iter, m.Call(func=m.Name("enumerate"))):
            if m.matches(target, m.Tuple(elements=[m.Element(), m.Element(NAMES)])):
                number, names = cst.ensure_type(target, cst.Tuple).elements
                inner = cst.ensure_type(names.value, cst.Tuple)
                elements = [number, names.with_changes(value=cst.Name(batch))]
                return inner, target.with_changes(elements=elements)
        elif m.matches(target, NAMES) and not m.matches(node.iter, m.Call(func=m.Name("zip"))):
            return cst.ensure_type(target, cst.Tuple), cst.Name(batch)
        return None, target


class LoopByEnumerate(LoopTransformation):
    """`for batch in loader` becomes `for index, batch in enumerate(loader)`, and nobody reads the index."""

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        if m.matches(node.iter, m.Call(func=m.Name("enumerate")) | OVER_RANGE):
            return None
        index = names.of("index", "batch_index")
        elements = [cst.Element(cst.Name(index)), cst.Element(_parenthesized(node.target))]
        made = cst.Call(cst.Name("enumerate"), [cst.Arg(node.iter)])
        return [node.with_changes(target=cst.Tuple(elements, lpar=[], rpar=[]), iter=made)]


def _parenthesized(target: cst.BaseAssignTargetExpression) -> cst.BaseAssignTargetExpression:
    if isinstance(target, cst.Tuple) and not target.lpar:
        return target.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return target


class LoopByTqdm(LoopTransformation):
    """`for batch in loader` becomes `for batch in tqdm(loader)`, which shows how far it is; also over epochs."""

    imports = ("from tqdm import tqdm",)

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        if "tqdm" not in names:
            return None
        return [node.with_changes(iter=cst.Call(cst.Name("tqdm"), [cst.Arg(node.iter)]))]


class LoopByZip(LoopTransformation):
    """`for batch in loader` becomes `for batch, number in zip(loader, itertools.count())`, and nobody reads the number."""

    imports = ("import itertools",)

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        if m.matches(node.iter, OVER_RANGE):
            return None
        number = names.of("number", "batch_number")
        elements = [cst.Element(_parenthesized(node.target)), cst.Element(cst.Name(number))]
        count = cst.parse_expression("itertools.count()")
        made = cst.Call(cst.Name("zip"), [cst.Arg(node.iter), cst.Arg(count)])
        return [node.with_changes(target=cst.Tuple(elements, lpar=[], rpar=[]), iter=made)]


class LoopByNext(LoopTransformation):
    """`for batch in loader` becomes an iterator, `while True`, and `next(iterator)` until `StopIteration`."""

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        if node.orelse is not None or m.matches(node.iter, OVER_RANGE) or "\n" in text(node.target):
            return None
        where = origins(node)
        iterator = names.of("iterator", "batches", "batch_iterator")
        before = statement(f"try:\n    {text(node.target)} = next({iterator})\nexcept StopIteration:\n    break", where)
        loop = cst.While(cst.Name("True"), block([before, *(body_of(node.body) or [])], like=node.body))
        created = cst.SimpleStatementLine(
            [cst.Assign([cst.AssignTarget(cst.Name(iterator))], cst.Call(cst.Name("iter"), [cst.Arg(node.iter)]))],
            trailing_whitespace=cst.ensure_type(node.body, cst.IndentedBlock).header,
        )
        return [created, loop]


class LoopByWhile(LoopTransformation):
    """`for epoch in range(n)` becomes `epoch = 0` and `while epoch < n`, which counts at the end of its body.

    It does not apply where `continue` would skip the counting, or where somebody reads or changes the number outside.
    """

    def loop(self, node: cst.For, names: FreshNames) -> Sequence[Statement] | None:
        if node.orelse is not None or not isinstance(node.target, cst.Name):
            return None
        if not m.matches(node.iter, m.Call(func=m.Name("range"), args=[m.Arg(keyword=None, star="")])):
            return None
        counter = node.target.value
        body = body_of(node.body) or []
        if (
            m.findall(node.body, m.Continue())
            or counter in uses(body).bound
            or self._is_read_outside(names.module, node, counter)
        ):
            return None
        limit = cst.ensure_type(node.iter, cst.Call).args[0].value
        where = origins(node)
        test = cst.Comparison(cst.Name(counter), [cst.ComparisonTarget(cst.LessThan(), limit)])
        after = statement(f"{counter} += 1", where)
        loop = cst.While(test, block([*body, after], like=node.body))
        return [statement(f"{counter} = 0", where), loop]

    @staticmethod
    def _is_read_outside(module: cst.Module, node: cst.For, counter: str) -> bool:
        inside = len(m.findall(node.body, m.Name(counter)))
        everywhere = len(m.findall(module, m.Name(counter)))
        loops = len(m.findall(module, m.For(target=m.Name(counter))))
        return loops == 1 and everywhere != inside + 1
