"""Values that are kept and changes by hand report themselves."""

from __future__ import annotations

import ast
from typing import Any

from ..nodes import last_name, span_of
from .rewriter import Rewriter
from .syntax import (
    added_to,
    goes_on,
    is_plain,
    joined_to,
    keeps_a_record,
    may_rename,
    same,
    touches,
    way_of_adding,
    wraps_one,
)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
PATHS = (ast.Name, ast.Attribute, ast.Subscript)
ADDING = frozenset({"append", "appendleft", "add", "extend", "insert"})
ADDING_IN_PLACE = frozenset({"add_", "sub_", "lerp_"})
MOVING = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16"})


class StatementRewriter(Rewriter):
    """Rewrites assignments, returns and statements that are one expression."""

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if acc > best: best, kept = acc, model`: what is kept when something is better than ever."""
        for statement in node.body if keeps_a_record(node) else ():
            if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Name, ast.Attribute)):
                self._renamed(statement)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x += v` → `x += keep(key, v); after(key, x)`; where it is a number, `x += adds(key, v, x)`."""
        if isinstance(node.op, ast.Add) and is_plain(node.value) and not isinstance(node.value, ast.Constant):
            return self._summed(node)
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) or is_plain(node.value):
            return self.generic_visit(node)
        return self._kept(node, node.target, way_of_adding(node.value), lambda key: self._wrap_value(node, key))

    def _summed(self, node: ast.AugAssign) -> ast.AST:
        """`x += adds(key, v, x)`, `self.x += adds(key, v, self)`: what the sum is before can be read then."""
        target = node.target.value if isinstance(node.target, ast.Attribute) else node.target
        if not isinstance(target, ast.Name):
            return self.generic_visit(node)
        key = self.index.add(
            "summed",
            span_of(self.file.path, node),
            text=self.file.spelled(node.target),
            name=node.target.attr if isinstance(node.target, ast.Attribute) else "",
        )
        self.generic_visit(node)
        call = self.call("adds", node.value, key, node.value)
        call.args.append(ast.copy_location(ast.Name(target.id, ast.Load()), node.value))
        node.value = call
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """As an assignment."""
        if node.value is None or isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        return self._stored(node, node.target, node.value)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`target = net.to(device)` → `target = bound(key, net.to(device))`, beside what is done to all assignments."""
        target, value = node.targets[-1], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            keys = [self._bound(node, *each) for each in zip(target.elts, value.elts, strict=True)]
            statements = self._assigned(node)
            if isinstance(node.value, ast.Tuple):
                pairs = zip(keys, node.value.elts, strict=True)
                node.value.elts = [each if key is None else self.call("bound", each, key, each) for key, each in pairs]
            return statements
        key = self._bound(node, target, value)
        statements = self._assigned(node)
        if key is not None:
            node.value = self.call("bound", node.value, key, node.value)
        return statements

    def _bound(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> int | None:
        """The key of a value that may be a model, or the parameters of one, under another name; None for other values."""
        chained = len(node.targets) > 1 and isinstance(value, ast.Call)
        if not isinstance(target, PATHS) or not (chained or may_rename(value)):
            return None
        text, spelled = self.file.spelled(target), self.file.spelled(value)
        return self.index.add("bound", span_of(self.file.path, node), text=text, value=spelled)

    def _assigned(self, node: ast.Assign) -> Any:
        """`x = x + v`, `x = 0.9 * x + 0.1 * v`, `x = torch.cat([x, v])`, `c[k] = v`, `self.a = v`, `p.requires_grad = v`."""
        for target in node.targets:
            if isinstance(target, ast.Attribute) and ("grad" in target.attr or target.attr.startswith("requ")):
                self._flagged(node, target)
        if len(node.targets) != 1:
            return self._touching(node)
        target, value = node.targets[0], node.value
        if isinstance(target, PATHS):
            going_on = self._going_on(node, target, value)
            if going_on is not None:
                return going_on
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            return self._stored(node, target, value)
        if isinstance(target, ast.Name) and isinstance(
            value, (ast.List, ast.Dict, ast.Set, ast.Tuple, *COMPREHENSIONS, ast.Call)
        ):
            return self._made(node, target)
        return self._touching(node)

    def _going_on(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> Any:
        """The statement where the target keeps what it had and gets more; None where it does not."""
        added = added_to(target, value)
        if added:
            how, new = way_of_adding(added[0].right), added[0].right
            return self._kept(node, target, how, lambda key: self._wrap_operands(key, added), new)
        joined = joined_to(target, value)
        if joined is not None:
            new = next(each for each in [*joined, value] if not same(each, target))
            return self._kept(node, target, "concatenated", lambda key: self._wrap_elements(key, joined, target), new)
        if goes_on(target, value):
            return self._kept(node, target, "accumulated", lambda key: self._wrap_value(node, key))
        return None

    def _renamed(self, node: ast.Assign) -> None:
        """`kept = model` → `kept = alias(key, model)`."""
        text, value = self.file.spelled(node.targets[0]), self.file.spelled(node.value)
        key = self.index.add("alias", span_of(self.file.path, node), text=text, value=value)
        node.value = self.call("alias", node.value, key, node.value)

    def _flagged(self, node: ast.Assign, target: ast.Attribute) -> None:
        """`p.require_grad = v` → `flag(key, p).require_grad = v`."""
        constant = node.value.value if isinstance(node.value, ast.Constant) else None
        key = self.index.add(
            "flag",
            span_of(self.file.path, node),
            text=self.file.spelled(target),
            name=target.attr,
            value=str(constant) if isinstance(constant, bool) else "",
        )
        target.value = self.call("flag", target.value, key, target.value)

    def _made(self, node: ast.Assign, target: ast.Name) -> Any:
        """`layers = []`: where a container comes from that becomes an attribute elsewhere."""
        if isinstance(node.value, ast.Call) and last_name(node.value.func) not in {"list", "dict", "set", "tuple"}:
            return self._touching(node)
        key = self.index.add("made", span_of(self.file.path, node), text=target.id)
        self.generic_visit(node)
        node.value = self.call("made", node.value, key, node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """`return [layer, layer]`: as for a name."""
        if isinstance(node.value, (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp)):
            key = self.index.add("made", span_of(self.file.path, node.value))
            self.generic_visit(node)
            node.value = self.call("made", node.value, key, node.value)
            return node
        return self.generic_visit(node)

    def _stored(self, node: ast.Assign | ast.AnnAssign, target: ast.expr, value: ast.expr) -> Any:
        if is_plain(value):
            return self._touching(node)
        return self._kept(node, target, "stored", lambda key: self._wrap_value(node, key))

    def _kept(self, node: Any, target: ast.expr, how: str, wrap: Any, value: ast.expr | None = None) -> Any:
        """The statement with its value wrapped, and what looks at the holder after it."""
        name = target.attr if isinstance(target, ast.Attribute) else ""
        key = self.index.add(
            "kept",
            span_of(self.file.path, node),
            text=self.file.spelled(target.value if how == "stored" and isinstance(target, ast.Subscript) else target),
            value=self.file.spelled(value or node.value),
            name=name,
            how=how,
            wraps=wraps_one(node.value),
            touches=touches(node),
        )
        self.generic_visit(node)
        wrap(key)
        now = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(now, (ast.Attribute, ast.Subscript)):
            now.value = self.call("held", now.value, key, now.value)
            return [node, self.statement("after", node, key)]
        return [node, self.statement("after", node, key, ast.Name(last_name(now), ast.Load()))]

    def _wrap_value(self, node: Any, key: int) -> None:
        node.value = self.call("keep", node.value, key, node.value)

    def _wrap_operands(self, key: int, operands: list[ast.BinOp]) -> None:
        for operation in operands:
            operation.right = self.call("keep", operation.right, key, operation.right)

    def _wrap_elements(self, key: int, elements: list[ast.expr], target: ast.expr) -> None:
        for place, element in enumerate(elements):
            if not same(element, target):
                elements[place] = self.call("keep", element, key, element)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`c.append(v)`, `optimizer.step`, `x.to(device)`, `p.grad.zero_()`."""
        value = node.value
        if isinstance(value, ast.Attribute):
            key = self.index.add(
                "named", span_of(self.file.path, value), text=self.file.spelled(value), name=value.attr
            )
            self.generic_visit(node)
            node.value = self.call("named", node.value, key, node.value)
            return node
        if not isinstance(value, ast.Call):
            return self._touching(node)
        if not isinstance(value.func, ast.Attribute):
            return self._dropped(node, value)
        method = value.func.attr
        if (
            method in ADDING
            and value.args
            and not isinstance(value.args[-1], ast.Starred)
            and not is_plain(value.args[-1])
        ):
            return self._appended(node, value, value.func)
        if method in ADDING_IN_PLACE and value.args and isinstance(value.func.value, ast.Name):
            return self._added(node, value, value.func.value)
        return self._dropped(node, value)

    def _dropped(self, node: ast.Expr, call: ast.Call) -> Any:
        """`x.squeeze()` → `dropped(key, dropped(operand, x).squeeze())`; of `F.relu(x)`, both `F` and `x` may be the tensor."""
        method, path = last_name(call.func), self.file.path
        if not method or method.endswith("_"):
            return self._touching(node)
        first = call
        while isinstance(first.func, ast.Attribute) and isinstance(first.func.value, ast.Call):
            first = first.func.value
        function = first.func
        on = [function.value] if isinstance(function, ast.Attribute) and isinstance(function.value, PATHS) else []
        given = first.args[:1] if first.args and isinstance(first.args[0], PATHS) else []
        operands = [
            self.index.add("operand", span_of(path, each), text=self.file.spelled(each), name=method)
            for each in (*on, *given)
        ]
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        key = self.index.add(
            "dropped",
            span_of(path, call),
            text=self.file.spelled(holder),
            value=self.file.spelled(call),
            name=method,
            how="moved" if method in MOVING and holder is not call.func else "",
            arguments=tuple(operands),
        )
        statements = self._touching(node)
        if given:
            first.args[0] = self.call("dropped", given[0], operands[-1], first.args[0])
        if on and isinstance(first.func, ast.Attribute):
            first.func.value = self.call("dropped", on[0], operands[0], first.func.value)
        node.value = self.call("dropped", node.value, key, node.value)
        return statements

    def _added(self, node: ast.Expr, call: ast.Call, holder: ast.Name) -> Any:
        """`x.add_(v)` → `x.add_(keep(key, v)); after(key, x)`."""
        key = self.index.add(
            "kept",
            span_of(self.file.path, call),
            text=holder.id,
            value=self.file.spelled(call.args[0]),
            how="accumulated",
            touches=touches(node),
        )
        self.generic_visit(node)
        call.args[0] = self.call("keep", call.args[0], key, call.args[0])
        return [node, self.statement("after", node, key, ast.Name(holder.id, ast.Load()))]

    def _appended(self, node: ast.Expr, call: ast.Call, method: ast.Attribute) -> Any:
        key = self.index.add(
            "kept",
            span_of(self.file.path, call),
            text=self.file.spelled(method.value),
            value=self.file.spelled(call.args[-1]),
            how="appended",
        )
        self.generic_visit(node)
        method.value = self.call("held", method.value, key, method.value)
        call.args[-1] = self.call("keep", call.args[-1], key, call.args[-1])
        return [node, self.statement("after", node, key)]

    def _touching(self, node: ast.stmt) -> Any:
        """The statement, followed by a look at gradients and parameters when it may have changed some by hand."""
        may_change = touches(node)
        self.generic_visit(node)
        if not may_change:
            return node
        key = self.index.add("touched", span_of(self.file.path, node), text=self.file.spelled(node))
        return [node, self.statement("touched", node, key)]

    def visit_Delete(self, node: ast.Delete) -> Any:
        """`del p.grad`."""
        return self._touching(node)
