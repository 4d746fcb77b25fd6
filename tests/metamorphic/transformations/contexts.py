"""How context managers are entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import block, body_of, name_of_call, origins, statement, with_imports
from tests.metamorphic.names import FreshNames
from tests.metamorphic.project import text
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from tests.metamorphic.names import Statement

GRADIENTS_OFF = {"torch.no_grad", "torch.inference_mode", "no_grad", "inference_mode"}


class ByExitStack(ModuleTransformation):
    """`with a() as b:` becomes `with contextlib.ExitStack() as stack:` and `b = stack.enter_context(a())`."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        visitor = _Stacking(FreshNames(module))
        rewritten = module.visit(visitor)
        return with_imports(rewritten, "import contextlib") if visitor.changed else module


class _Stacking(cst.CSTTransformer):
    def __init__(self, names: FreshNames) -> None:
        super().__init__()
        self.changed = False
        self._names = names

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.With:
        body = body_of(updated_node.body)
        if updated_node.asynchronous or body is None or any("\n" in text(item) for item in updated_node.items):
            return updated_node
        self.changed = True
        stack = self._names.of("stack", "exit_stack")
        entered: list[Statement] = []
        for item in updated_node.items:
            target = f"{text(item.asname.name)} = " if item.asname else ""
            entered.append(statement(f"{target}{stack}.enter_context({text(item.item)})", origins(original_node)))
        made = cst.parse_statement(f"with contextlib.ExitStack() as {stack}:\n    pass")
        items = cst.ensure_type(made, cst.With).items
        body = block([*entered, *body], like=updated_node.body)  # type: ignore[assignment]
        return updated_node.with_changes(
            items=items, body=body, lpar=cst.MaybeSentinel.DEFAULT, rpar=cst.MaybeSentinel.DEFAULT
        )


class DecoratorAsWith(ModuleTransformation):
    """A function under the decorator `@torch.no_grad()` has `with torch.no_grad():` around its statements instead."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        visitor = _Undecorating()
        rewritten = module.visit(visitor)
        return rewritten if visitor.changed else module


class _Undecorating(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.changed = False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        del original_node
        body = body_of(updated_node.body)
        if len(updated_node.decorators) != 1 or body is None or m.findall(updated_node, m.Yield()):
            return updated_node
        (decorator,) = updated_node.decorators
        if name_of_call(decorator.decorator) not in GRADIENTS_OFF:
            return updated_node
        self.changed = True
        under = statement(f"with {text(decorator.decorator)}:\n    pass", origins(decorator))
        inner = cst.ensure_type(under, cst.With)
        inner = inner.with_changes(body=block(body, like=inner.body))
        return updated_node.with_changes(decorators=[], body=block([inner], like=updated_node.body))
