"""Which arm of a branch comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import block
from tests.metamorphic.transformation import Kind, ModuleTransformation
from tests.metamorphic.transformations.layout import CONDITIONAL_IMPORT, GUARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metamorphic.names import Statement

VERSION = m.Name("version_info") | m.Attribute(attr=m.Name("version_info") | m.Name("__version__"))
PLAIN = m.Name() | m.Attribute() | m.Call() | m.Subscript()


class ExchangedArms(ModuleTransformation):
    """`if c: A` becomes `if not c: pass`, `else: A`, and `if c: A`, `else: B` becomes `if not c: B`, `else: A`.

    An `elif` is an `if` in the `else`, and is exchanged first. What tells scripts from modules, type checkers from programs and
    versions from one another stays.
    """

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        return module.visit(_Exchanging())


class _Exchanging(cst.CSTTransformer):
    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        test = original_node.test
        if m.matches(original_node, GUARD | CONDITIONAL_IMPORT) or m.findall(test, VERSION):
            return updated_node
        other = updated_node.orelse
        header: cst.BaseSuite | None = None
        if other is None:
            first: Sequence[Statement] = [cst.SimpleStatementLine([cst.Pass()])]
        elif isinstance(other, cst.Else):
            first, header = _statements(other.body), other.body
        else:
            first = [other.with_changes(leading_lines=[])]
        body = block(first)
        then = block(_statements(updated_node.body))
        if isinstance(updated_node.body, cst.IndentedBlock):
            body = body.with_changes(header=updated_node.body.header)
        if isinstance(header, cst.IndentedBlock):
            then = then.with_changes(header=header.header)
        lines = () if not isinstance(other, cst.Else) else other.leading_lines
        return updated_node.with_changes(
            test=_negated(updated_node.test),
            whitespace_before_test=cst.SimpleWhitespace(" "),
            body=body,
            orelse=cst.Else(then, leading_lines=lines),
        )


def _statements(suite: cst.BaseSuite) -> Sequence[Statement]:
    """The statements of a suite, those on the line of its header too."""
    if isinstance(suite, cst.IndentedBlock):
        return list(suite.body)  # type: ignore[arg-type]
    suite = cst.ensure_type(suite, cst.SimpleStatementSuite)
    return [cst.SimpleStatementLine(suite.body, trailing_whitespace=suite.trailing_whitespace)]


def _negated(test: cst.BaseExpression) -> cst.BaseExpression:
    if m.matches(test, m.UnaryOperation(operator=m.Not())):
        return cst.ensure_type(test, cst.UnaryOperation).expression
    if not test.lpar and not m.matches(test, PLAIN):
        test = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.UnaryOperation(cst.Not(), test)
