"""Compiles the user's own sources so that loops, kept values and changes by hand report themselves.

Only the syntax tree in memory is changed: every place keeps its position, so that tracebacks, `inspect.getsource` and
`co_positions` show what the user wrote. Everything that is added goes through functions in `builtins`, and adds no name
to any namespace of the user's.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .nodes import Index, last_name, span_of
from .syntax import (
    READING,
    added_to,
    compiles,
    does_something,
    is_plain,
    is_super,
    joined_to,
    keeps_a_record,
    reads,
    same,
    touches,
    way_of_adding,
    wraps_one,
    written_out,
)

if TYPE_CHECKING:
    from .nodes import File

PREFIX, SUFFIX = "__torch_doctor_", "__"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ADDING = frozenset({"append", "appendleft", "add", "extend", "insert"})
MOVING = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16"})
LOGGING = frozenset({"set_postfix", "log_metric", "log_metrics"})
METERING, METERS = frozenset({"update", "add"}), ("timm", "torchnet", "pkbar", "livelossplot")


def compiled(source: bytes | str, path: str, index: Index) -> Any:
    """The code of a file of the user's, instrumented; plain where the instrumented tree cannot be compiled.

    Raises:
        SyntaxError, ValueError: the source is not valid Python, as `compile` raises them.
    """
    tree = ast.parse(source, path)
    text = source if isinstance(source, str) else _decoded(source)
    index.sites.read(path, text)
    file = index.describe(path, text, tree)
    try:
        changed = ast.fix_missing_locations(Instrumenter(index, file).visit(tree))
        return compile(changed, path, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError, ValueError, TypeError):  # too deeply nested with what was added
        return compile(source, path, "exec", dont_inherit=True)


def _decoded(source: bytes) -> str:
    import importlib.util

    return importlib.util.decode_source(source)


class Instrumenter(ast.NodeTransformer):
    """Changes the tree of one file."""

    def __init__(self, index: Index, file: File) -> None:
        self._index = index
        self._file = file

    # --- loops ---

    def visit_For(self, node: ast.For) -> ast.AST:
        """`for x in y` → `for x in watched(key, y)`."""
        if not does_something(node):
            return self.generic_visit(node)
        key = self._loop("for", node, node.body[0], node.body[-1], node.iter)
        self.generic_visit(node)
        node.iter = self._call("for", node.iter, key, node.iter)
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """As `for`."""
        key = self._loop("for", node, node.body[0], node.body[-1], node.iter)
        self.generic_visit(node)
        node.iter = self._call("async_for", node.iter, key, node.iter)
        return node

    def visit_While(self, node: ast.While) -> Any:
        """`while test` → `begin(key); while more(key) and test`."""
        if not does_something(node):
            return self.generic_visit(node)
        key = self._loop("while", node, node.test, node.body[-1], node.test)
        self.generic_visit(node)
        more = self._call("more", node.test, key)
        always = isinstance(node.test, ast.Constant) and bool(node.test.value)
        node.test = more if always else ast.copy_location(ast.BoolOp(ast.And(), [more, node.test]), node.test)
        return [self._statement("begin", node, key), node]

    def _comprehension(self, node: Any) -> Any:
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        if not any(does_something(each) for each in elements):
            self.generic_visit(node)
            return node
        spans = [span_of(self._file.path, node)] * len(node.generators)
        overs = [span_of(self._file.path, each.iter) for each in node.generators]
        texts = [self._file.spelled(each.iter) for each in node.generators]
        self.generic_visit(node)
        for each, span, over, text in zip(node.generators, spans, overs, texts, strict=True):
            if each.is_async == 0:
                first, last = (span.row, span.column), (span.end_row, span.end_column)
                key = self._index.add("comprehension", span, first=first, last=last, over=over, text=text)
                each.iter = self._call("for", each.iter, key, each.iter)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def _loop(self, kind: str, node: ast.stmt, first: ast.AST, last: ast.AST, over: ast.AST) -> int:
        span, begin, end = span_of(self._file.path, node), span_of("", first), span_of("", last)
        over_span = span_of(self._file.path, over)
        header = span._replace(end_row=over_span.end_row, end_column=over_span.end_column)
        return self._index.add(
            kind,
            header,
            first=(begin.row, begin.column),
            last=(end.end_row, end.end_column),
            over=over_span,
            text=self._file.spelled(over),
        )

    # --- functions that others read ---

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Functions whose bytecode a compiler reads stay as they are."""
        return node if any(compiles(each) for each in node.decorator_list) else self.generic_visit(node)

    # --- kept values and changes by hand ---

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if acc > best: best, kept = acc, model`: what is kept when something is better than ever."""
        for statement in node.body if keeps_a_record(node) else ():
            if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Name, ast.Attribute)):
                self._renamed(statement)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x += v` → `x += keep(key, v); after(key, x)`."""
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) or is_plain(node.value):
            return self.generic_visit(node)
        return self._kept(node, node.target, way_of_adding(node.value), lambda key: self._wrap_value(node, key))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """As an assignment."""
        if node.value is None or isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        return self._stored(node, node.target, node.value)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`x = x + v`, `x = torch.cat([x, v])`, `c[k] = v`, `self.a = v`, `p.requires_grad = v`."""
        for target in node.targets:
            if isinstance(target, ast.Attribute) and ("grad" in target.attr or target.attr.startswith("requ")):
                self._flagged(node, target)
        if len(node.targets) != 1:
            return self._touching(node)
        target, value = node.targets[0], node.value
        if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
            added = added_to(target, value)
            if added:
                how, new = way_of_adding(added[0].right), added[0].right
                return self._kept(node, target, how, lambda key: self._wrap_operands(key, added), new)
            joined = joined_to(target, value)
            if joined is not None:
                new = next(each for each in [*joined, value] if not same(each, target))
                return self._kept(
                    node, target, "concatenated", lambda key: self._wrap_elements(key, joined, target), new
                )
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            return self._stored(node, target, value)
        if isinstance(target, ast.Name) and isinstance(
            value, (ast.List, ast.Dict, ast.Set, ast.Tuple, *COMPREHENSIONS, ast.Call)
        ):
            return self._made(node, target)
        return self._touching(node)

    def _renamed(self, node: ast.Assign) -> None:
        """`kept = model` → `kept = alias(key, model)`."""
        text, value = self._file.spelled(node.targets[0]), self._file.spelled(node.value)
        key = self._index.add("alias", span_of(self._file.path, node), text=text, value=value)
        node.value = self._call("alias", node.value, key, node.value)

    def _flagged(self, node: ast.Assign, target: ast.Attribute) -> None:
        """`p.require_grad = v` → `flag(key, p).require_grad = v`."""
        constant = node.value.value if isinstance(node.value, ast.Constant) else None
        key = self._index.add(
            "flag",
            span_of(self._file.path, node),
            text=self._file.spelled(target),
            name=target.attr,
            value=str(constant) if isinstance(constant, bool) else "",
        )
        target.value = self._call("flag", target.value, key, target.value)

    def _made(self, node: ast.Assign, target: ast.Name) -> Any:
        """`layers = []`: where a container comes from that becomes an attribute elsewhere."""
        if isinstance(node.value, ast.Call) and last_name(node.value.func) not in {"list", "dict", "set", "tuple"}:
            return self._touching(node)
        key = self._index.add("made", span_of(self._file.path, node), text=target.id)
        self.generic_visit(node)
        node.value = self._call("made", node.value, key, node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """`return [layer, layer]`: as for a name."""
        if isinstance(node.value, (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp)):
            key = self._index.add("made", span_of(self._file.path, node.value))
            self.generic_visit(node)
            node.value = self._call("made", node.value, key, node.value)
            return node
        return self.generic_visit(node)

    def _stored(self, node: ast.Assign | ast.AnnAssign, target: ast.expr, value: ast.expr) -> Any:
        if is_plain(value):
            return self._touching(node)
        return self._kept(node, target, "stored", lambda key: self._wrap_value(node, key))

    def _kept(self, node: Any, target: ast.expr, how: str, wrap: Any, value: ast.expr | None = None) -> Any:
        """The statement with its value wrapped, and what looks at the holder after it."""
        name = target.attr if isinstance(target, ast.Attribute) else ""
        key = self._index.add(
            "kept",
            span_of(self._file.path, node),
            text=self._file.spelled(target.value if how == "stored" and isinstance(target, ast.Subscript) else target),
            value=self._file.spelled(value or node.value),
            name=name,
            how=how,
            wraps=wraps_one(node.value),
            touches=touches(node),
        )
        self.generic_visit(node)
        wrap(key)
        now = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(now, (ast.Attribute, ast.Subscript)):
            now.value = self._call("held", now.value, key, now.value)
            return [node, self._statement("after", node, key)]
        return [node, self._statement("after", node, key, ast.Name(last_name(now), ast.Load()))]

    def _wrap_value(self, node: Any, key: int) -> None:
        node.value = self._call("keep", node.value, key, node.value)

    def _wrap_operands(self, key: int, operands: list[ast.BinOp]) -> None:
        for operation in operands:
            operation.right = self._call("keep", operation.right, key, operation.right)

    def _wrap_elements(self, key: int, elements: list[ast.expr], target: ast.expr) -> None:
        for place, element in enumerate(elements):
            if not same(element, target):
                elements[place] = self._call("keep", element, key, element)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`c.append(v)`, `optimizer.step`, `x.to(device)`, `p.grad.zero_()`."""
        value, path = node.value, self._file.path
        if isinstance(value, ast.Attribute):
            key = self._index.add("named", span_of(path, value), text=self._file.spelled(value), name=value.attr)
            self.generic_visit(node)
            node.value = self._call("named", node.value, key, node.value)
            return node
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return self._touching(node)
        method = value.func.attr
        if (
            method in ADDING
            and value.args
            and not isinstance(value.args[-1], ast.Starred)
            and not is_plain(value.args[-1])
        ):
            return self._appended(node, value, value.func)
        if method in MOVING:
            key = self._index.add(
                "dropped", span_of(path, value), text=self._file.spelled(value.func.value), name=method
            )
            self.generic_visit(node)
            node.value = self._call("dropped", node.value, key, node.value)
            return node
        return self._touching(node)

    def _appended(self, node: ast.Expr, call: ast.Call, method: ast.Attribute) -> Any:
        key = self._index.add(
            "kept",
            span_of(self._file.path, call),
            text=self._file.spelled(method.value),
            value=self._file.spelled(call.args[-1]),
            how="appended",
        )
        self.generic_visit(node)
        method.value = self._call("held", method.value, key, method.value)
        call.args[-1] = self._call("keep", call.args[-1], key, call.args[-1])
        return [node, self._statement("after", node, key)]

    def _touching(self, node: ast.stmt) -> Any:
        """The statement, followed by a look at gradients and parameters when it may have changed some by hand."""
        may_change = touches(node)
        self.generic_visit(node)
        if not may_change:
            return node
        key = self._index.add("touched", span_of(self._file.path, node), text=self._file.spelled(node))
        return [node, self._statement("touched", node, key)]

    def visit_Delete(self, node: ast.Delete) -> Any:
        """`del p.grad`."""
        return self._touching(node)

    # --- calls ---

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`model.forward(x)` is a call of the model as a whole; `x.item()` → `read(key, x).item()`, `print(x)` alike."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "forward" and not is_super(function.value):
            span, text = span_of(self._file.path, node), self._file.spelled(function.value)
            key = self._index.add("direct", span, text=text)
            self.generic_visit(node)
            node.func = self._call("direct", function, key, function)
            return node
        if isinstance(function, ast.Attribute) and self._logs(function.attr):
            return self._logging(node, function)
        how = reads(node)
        if not how:
            return self.generic_visit(node)
        key = self._index.add("read", span_of(self._file.path, node), text=self._file.spelled(node), how=how)
        self.generic_visit(node)
        if how in READING and isinstance(function, ast.Attribute):
            function.value = self._call("read", function.value, key, function.value)
        else:
            node.args = [self._read(each, key) for each in node.args]
        return node

    def _logs(self, method: str) -> bool:
        """Whether it may be the method of a log or a meter that wants numbers."""
        return method in LOGGING or (method in METERING and any(each in self._file.text for each in METERS))

    def _logging(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        """`bar.set_postfix(loss=loss)` → `logs(key, bar.set_postfix)(loss=loss)`."""
        named: dict[str, ast.expr] = {}
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                break
            named |= written_out(str(place), argument)
        for keyword in node.keywords:
            if keyword.arg is not None:
                named |= written_out(keyword.arg, keyword.value)
            elif isinstance(keyword.value, ast.Dict):
                named |= {name.removeprefix("."): each for name, each in written_out("", keyword.value).items() if name}
            else:
                named["**"] = keyword.value
        spans = [(span_of(self._file.path, each), self._file.spelled(each)) for each in named.values()]
        key = self._index.add(
            "logs",
            span_of(self._file.path, node),
            text=self._file.spelled(function),
            name=function.attr,
            arguments=tuple(self._index.add("logged", span, text=text) for span, text in spans),
            argument_names=tuple(named),
        )
        self.generic_visit(node)
        node.func = self._call("logs", function, key, function)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """`f"{x}"` → `f"{read(key, x)}"`."""
        parts = [each for each in node.values if isinstance(each, ast.FormattedValue) and not is_plain(each.value)]
        if not parts:
            return self.generic_visit(node)
        key = self._index.add("read", span_of(self._file.path, node), text=self._file.spelled(node), how="format")
        self.generic_visit(node)
        for each in parts:
            each.value = self._read(each.value, key)
        return node

    def _read(self, value: ast.expr, key: int) -> ast.expr:
        return value if isinstance(value, ast.Starred) or is_plain(value) else self._call("read", value, key, value)

    def _with(self, node: Any) -> Any:
        """`with torch.no_grad:`."""
        texts = [self._file.spelled(item.context_expr) for item in node.items]
        self.generic_visit(node)
        for item, text in zip(node.items, texts, strict=True):
            expression = item.context_expr
            if isinstance(expression, ast.Attribute):
                key = self._index.add("named", span_of(self._file.path, expression), text=text, name=expression.attr)
                item.context_expr = self._call("named", expression, key, expression)
        return node

    visit_With = visit_AsyncWith = _with  # noqa: N815

    # --- what is added ---

    def _call(self, name: str, at: ast.AST, *arguments: Any) -> ast.Call:
        function = ast.copy_location(ast.Name(f"{PREFIX}{name}{SUFFIX}", ast.Load()), at)
        values = [ast.copy_location(ast.Constant(each), at) if isinstance(each, int) else each for each in arguments]
        return ast.copy_location(ast.Call(function, values, []), at)

    def _statement(self, name: str, at: ast.stmt, *arguments: Any) -> ast.Expr:
        made = ast.copy_location(ast.Expr(self._call(name, at, *arguments)), at)
        for part in ast.walk(made):
            ast.copy_location(part, at)
        return made
