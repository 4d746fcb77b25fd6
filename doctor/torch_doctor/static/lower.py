"""Lowers Python's own syntax tree to the small program, in one pass, with exact positions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}
_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def lower(tree: ast.Module, text: str) -> p.Program:
    """The program of a parsed file; `text` is its source, which tells where columns of non-ASCII lines are."""
    return _Lowering(text).program(tree)


class _Lowering:
    """One file's lowering; keeps which names the functions around the current node use."""

    def __init__(self, text: str) -> None:
        # Python counts columns in bytes of UTF-8; only lines that are not ASCII need counting anew.
        self._wide = None if text.isascii() else [line.encode() for line in text.split("\n")]
        self._functions: list[tuple[dict[str, set[str]], set[str], list[bool]]] = [({}, set(), [False])]
        # Before Python 3.12 positions inside f-strings are wrong: what stands there is placed at the f-string.
        self._fixed: p.At | None = None

    def program(self, tree: ast.Module) -> p.Program:
        result = p.Program(self._block(tree.body))
        result.uses = self._functions[0][0]
        return result

    def _at(self, node: Any) -> p.At:  # noqa: ANN401 - ast's located nodes share no base
        if self._fixed is not None:
            return self._fixed
        row, column, end_row, end_column = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        if self._wide is not None:
            column = self._points(row, column)
            end_column = self._points(end_row, end_column)
        return row, column + 1, end_row, end_column + 1

    def _points(self, row: int, offset: int) -> int:
        assert self._wide is not None
        if row > len(self._wide):
            return offset
        return len(self._wide[row - 1][:offset].decode(errors="replace"))

    # --- statements ---

    def _block(self, body: list[ast.stmt]) -> tuple[p.Stmt, ...]:
        out: list[p.Stmt] = []
        for statement in body:
            lowered = _STATEMENTS.get(type(statement))
            if lowered is not None:
                lowered(self, statement, out)
        return tuple(out)

    def _assign(self, node: ast.Assign, out: list[p.Stmt]) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            value = node.value
            if isinstance(value, ast.BinOp) and _same(value.left, node.targets[0]):
                out.append(self._augmented(node, node.targets[0], value.op, value.right, rebinds=True))
                return
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and _same(value.right, node.targets[0]):
                out.append(self._augmented(node, node.targets[0], value.op, value.left, rebinds=True))
                return
        value_ = self.expr(node.value)
        out.append(p.Assign(self._at(node), tuple(self.expr(target) for target in node.targets), value_))

    def _augmented(
        self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, *, rebinds: bool
    ) -> p.Augment:
        return p.Augment(self._at(node), self.expr(target), _OPERATORS[type(op)], self.expr(value), rebinds=rebinds)

    def _augassign(self, node: ast.AugAssign, out: list[p.Stmt]) -> None:
        out.append(self._augmented(node, node.target, node.op, node.value, rebinds=False))

    def _annassign(self, node: ast.AnnAssign, out: list[p.Stmt]) -> None:
        if node.value is not None:
            out.append(p.Assign(self._at(node), (self.expr(node.target),), self.expr(node.value)))
        elif isinstance(node.target, ast.Name):
            out.append(p.Annotate(self._at(node), node.target.id, self.expr(node.annotation)))

    def _evaluate(self, node: ast.Expr, out: list[p.Stmt]) -> None:
        if not isinstance(node.value, ast.Constant):
            out.append(p.Evaluate(self._at(node), self.expr(node.value)))

    def _if(self, node: ast.If, out: list[p.Stmt]) -> None:
        out.append(p.If(self._at(node), self.expr(node.test), self._block(node.body), self._block(node.orelse)))

    def _head(self, node: ast.For | ast.AsyncFor | ast.While, last: ast.expr) -> p.At:
        first, end = self._at(node), self._at(last)
        return (first[0], first[1], end[2], end[3])

    def _for(self, node: ast.For, out: list[p.Stmt]) -> None:
        over, target = self.expr(node.iter), self.expr(node.target)
        body, other = self._block(node.body), self._block(node.orelse)
        out.append(p.For(self._at(node), self._head(node, node.iter), target, over, body, other))

    def _while(self, node: ast.While, out: list[p.Stmt]) -> None:
        test = self.expr(node.test)
        body, other = self._block(node.body), self._block(node.orelse)
        out.append(p.While(self._at(node), self._head(node, node.test), test, body, other))

    def _try(self, node: Any, out: list[p.Stmt]) -> None:  # noqa: ANN401 - ast.TryStar is new in 3.11
        body = self._block(node.body)
        handlers = tuple(p.Handler(handler.name, self._block(handler.body)) for handler in node.handlers)
        out.append(p.Try(self._at(node), body, handlers, self._block(node.orelse), self._block(node.finalbody)))

    def _with(self, node: ast.With, out: list[p.Stmt]) -> None:
        contexts = [
            (self.expr(item.context_expr), None if item.optional_vars is None else self.expr(item.optional_vars))
            for item in node.items
        ]
        body = self._block(node.body)
        for context, target in reversed(contexts):
            body = (p.With(self._at(node), context, target, body),)
        out.extend(body)

    def _return(self, node: ast.Return, out: list[p.Stmt]) -> None:
        out.append(p.Return(self._at(node), None if node.value is None else self.expr(node.value)))

    def _raise(self, node: ast.Raise, out: list[p.Stmt]) -> None:
        out.append(p.Raise(self._at(node)))

    def _break(self, node: ast.Break, out: list[p.Stmt]) -> None:
        out.append(p.Break(self._at(node)))

    def _continue(self, node: ast.Continue, out: list[p.Stmt]) -> None:
        out.append(p.Continue(self._at(node)))

    def _assert(self, node: ast.Assert, out: list[p.Stmt]) -> None:
        out.append(p.Evaluate(self._at(node), self.expr(node.test)))

    def _delete(self, node: ast.Delete, out: list[p.Stmt]) -> None:
        out.append(p.Delete(self._at(node), tuple(self.expr(target) for target in node.targets)))

    def _global(self, node: ast.Global, out: list[p.Stmt]) -> None:
        out.append(p.Outer(self._at(node), tuple(node.names), is_global=True))

    def _nonlocal(self, node: ast.Nonlocal, out: list[p.Stmt]) -> None:
        out.append(p.Outer(self._at(node), tuple(node.names), is_global=False))

    def _import(self, node: ast.Import, out: list[p.Stmt]) -> None:
        out.extend(p.Import(self._at(node), alias.name, alias.asname) for alias in node.names)

    def _import_from(self, node: ast.ImportFrom, out: list[p.Stmt]) -> None:
        names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
        out.append(p.ImportFrom(self._at(node), node.module or "", node.level, names))

    def _define(self, node: ast.FunctionDef, out: list[p.Stmt]) -> None:
        function = self._function(node, node.name, node.args, node.body, node.decorator_list)
        out.append(p.Define(self._at(node), function))

    def _class(self, node: ast.ClassDef, out: list[p.Stmt]) -> None:
        bases = tuple(self.expr(base) for base in node.bases)
        decorators = tuple(self.expr(decorator) for decorator in node.decorator_list)
        out.append(p.Class(self._at(node), node.name, bases, self._block(node.body), decorators))

    def _match(self, node: ast.Match, out: list[p.Stmt]) -> None:
        subject = self.expr(node.subject)
        other: tuple[p.Stmt, ...] = ()
        for case in reversed(node.cases):
            at = self._at(case.pattern)
            test = self._pattern(case.pattern, subject, at)
            if case.guard is not None:
                test = p.Logic(at, "and", (test, self.expr(case.guard)))
            names = [
                child.name
                for child in ast.walk(case.pattern)
                if isinstance(child, (ast.MatchAs, ast.MatchStar)) and child.name
            ]
            bound: tuple[p.Stmt, ...] = tuple(p.Assign(at, (p.Name(at, name),), p.Opaque(at)) for name in names)
            other = (p.If(at, test, bound + self._block(case.body), other),)
        out.extend(other)

    def _pattern(self, pattern: ast.pattern, subject: p.Expr, at: p.At) -> p.Expr:
        if isinstance(pattern, ast.MatchValue):
            return p.Compare(at, "==", subject, self.expr(pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return p.Compare(at, "is", subject, p.Const(at, pattern.value))
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            return p.Const(at, value=True)
        if isinstance(pattern, ast.MatchOr):
            return p.Logic(at, "or", tuple(self._pattern(part, subject, at) for part in pattern.patterns))
        return p.Opaque(at)

    # --- functions ---

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        name: str,
        args: ast.arguments,
        body: list[ast.stmt] | ast.expr,
        decorators: list[ast.expr],
    ) -> p.Function:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        parameters = [self._parameter(arg, "plain", default) for arg, default in zip(positional, defaults, strict=True)]
        if args.vararg is not None:
            parameters.append(self._parameter(args.vararg, "args", None))
        parameters += [
            self._parameter(arg, "keyword", default)
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        ]
        if args.kwarg is not None:
            parameters.append(self._parameter(args.kwarg, "kwargs", None))
        lowered_decorators = tuple(self.expr(decorator) for decorator in decorators)
        inner = len(self._functions) > 1
        self._functions.append(({}, set(), [False]))
        block = self._block(body) if isinstance(body, list) else (p.Return(self._at(body), self.expr(body)),)
        uses, calls, yields = self._functions.pop()
        around = self._functions[-1][0]  # a closure uses what its surroundings hold
        for used, attributes in uses.items():
            around.setdefault(used, set()).update(attributes)
        self._functions[-1][1].update(calls)
        function = p.Function(
            self._at(node), name, tuple(parameters), block, lowered_decorators, generator=yields[0], inner=inner
        )
        function.uses = uses
        function.calls = calls
        if not isinstance(node, ast.Lambda):
            row, column, _, _ = function.at
            keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
            end = column + len(keyword) + len(name)
            function.name_at = (row, column, row, end)
        return function

    def _parameter(self, arg: ast.arg, kind: str, default: ast.expr | None) -> p.Parameter:
        return p.Parameter(
            arg.arg,
            kind,
            None if default is None else self.expr(default),
            None if arg.annotation is None else self.expr(arg.annotation),
        )

    # --- expressions ---

    def expr(self, node: ast.expr) -> p.Expr:
        """The lowered expression."""
        lowered = _EXPRESSIONS.get(type(node))
        if lowered is None:
            return p.Opaque(self._at(node))
        return lowered(self, node)

    def _constant(self, node: ast.Constant) -> p.Expr:
        return p.Const(self._at(node), node.value)

    def _name(self, node: ast.Name) -> p.Expr:
        return p.Name(self._at(node), node.id)

    def _attribute(self, node: ast.Attribute) -> p.Expr:
        if isinstance(node.value, ast.Name):
            self._functions[-1][0].setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            dotted = f"{node.value.value.id}.{node.value.attr}"
            self._functions[-1][0].setdefault(dotted, set()).add(node.attr)
        return p.Attribute(self._at(node), self.expr(node.value), node.attr)

    def _call(self, node: ast.Call) -> p.Expr:
        if isinstance(node.func, ast.Name):
            self._functions[-1][1].add(node.func.id)
        func = self.expr(node.func)
        args = tuple(self.expr(arg) for arg in node.args)
        return p.Call(self._at(node), func, args, tuple((k.arg, self.expr(k.value)) for k in node.keywords))

    def _index(self, node: ast.Subscript) -> p.Expr:
        return p.Index(self._at(node), self.expr(node.value), self.expr(node.slice))

    def _slice(self, node: ast.Slice) -> p.Expr:
        parts = [None if part is None else self.expr(part) for part in (node.lower, node.upper, node.step)]
        return p.Slice(self._at(node), *parts)

    def _binary(self, node: ast.BinOp) -> p.Expr:
        return p.Operation(self._at(node), _OPERATORS[type(node.op)], (self.expr(node.left), self.expr(node.right)))

    def _unary(self, node: ast.UnaryOp) -> p.Expr:
        if isinstance(node.op, ast.Not):
            return p.Logic(self._at(node), "not", (self.expr(node.operand),))
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, (int, float)):
                return p.Const(self._at(node), -value)
        return p.Operation(self._at(node), _OPERATORS[type(node.op)], (self.expr(node.operand),))

    def _compare(self, node: ast.Compare) -> p.Expr:
        at = self._at(node)
        operands = [self.expr(node.left), *(self.expr(right) for right in node.comparators)]
        pairs = [
            p.Compare(at, _OPERATORS[type(op)], left, right)
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else p.Logic(at, "and", tuple(pairs))

    def _logic(self, node: ast.BoolOp) -> p.Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return p.Logic(self._at(node), op, tuple(self.expr(value) for value in node.values))

    def _choice(self, node: ast.IfExp) -> p.Expr:
        return p.Choice(self._at(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> p.Expr:
        return p.Display(self._at(node), _DISPLAYS[type(node)], tuple(self.expr(item) for item in node.elts))

    def _dict(self, node: ast.Dict) -> p.Expr:
        pairs = [
            (None if key is None else self.expr(key), self.expr(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return p.Dict(self._at(node), tuple(pairs))

    def _clauses(self, generators: list[ast.comprehension]) -> tuple[p.Clause, ...]:
        return tuple(
            p.Clause(self.expr(g.target), self.expr(g.iter), tuple(self.expr(test) for test in g.ifs))
            for g in generators
        )

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> p.Expr:
        kind = _COMPREHENSIONS[type(node)]
        return p.Comprehension(self._at(node), kind, None, self.expr(node.elt), self._clauses(node.generators))

    def _dict_comprehension(self, node: ast.DictComp) -> p.Expr:
        clauses = self._clauses(node.generators)
        return p.Comprehension(self._at(node), "dict", self.expr(node.key), self.expr(node.value), clauses)

    def _text(self, node: ast.JoinedStr) -> p.Expr:
        at = self._at(node)
        outer, self._fixed = self._fixed, at
        parts = tuple(self.expr(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
        self._fixed = outer
        return p.Text(at, parts)

    def _star(self, node: ast.Starred) -> p.Expr:
        return p.Star(self._at(node), self.expr(node.value))

    def _walrus(self, node: ast.NamedExpr) -> p.Expr:
        at = self._at(node)
        return p.Walrus(at, p.Name(self._at(node.target), node.target.id), self.expr(node.value))

    def _yield(self, node: ast.Yield) -> p.Expr:
        self._functions[-1][2][0] = True
        return p.Yield(self._at(node), None if node.value is None else self.expr(node.value), many=False)

    def _yield_from(self, node: ast.YieldFrom) -> p.Expr:
        self._functions[-1][2][0] = True
        return p.Yield(self._at(node), self.expr(node.value), many=True)

    def _await(self, node: ast.Await) -> p.Expr:
        return self.expr(node.value)

    def _lambda(self, node: ast.Lambda) -> p.Expr:
        return self._function(node, "<lambda>", node.args, node.body, [])


def _same(left: ast.expr, right: ast.expr) -> bool:
    """Whether two simple expressions are spelled alike (names and attributes of names)."""
    if isinstance(left, ast.Name) and isinstance(right, ast.Name):
        return left.id == right.id
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
        return left.attr == right.attr and _same(left.value, right.value)
    return False


_STATEMENTS: dict[type[ast.stmt], Callable[[_Lowering, Any, list[p.Stmt]], None]] = {
    ast.Assign: _Lowering._assign,
    ast.AugAssign: _Lowering._augassign,
    ast.AnnAssign: _Lowering._annassign,
    ast.Expr: _Lowering._evaluate,
    ast.If: _Lowering._if,
    ast.For: _Lowering._for,
    ast.AsyncFor: _Lowering._for,
    ast.While: _Lowering._while,
    ast.Try: _Lowering._try,
    ast.With: _Lowering._with,
    ast.AsyncWith: _Lowering._with,
    ast.Return: _Lowering._return,
    ast.Raise: _Lowering._raise,
    ast.Break: _Lowering._break,
    ast.Continue: _Lowering._continue,
    ast.Assert: _Lowering._assert,
    ast.Delete: _Lowering._delete,
    ast.Global: _Lowering._global,
    ast.Nonlocal: _Lowering._nonlocal,
    ast.Import: _Lowering._import,
    ast.ImportFrom: _Lowering._import_from,
    ast.FunctionDef: _Lowering._define,
    ast.AsyncFunctionDef: _Lowering._define,
    ast.ClassDef: _Lowering._class,
    ast.Match: _Lowering._match,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Lowering._try
_EXPRESSIONS: dict[type[ast.expr], Callable[[_Lowering, Any], p.Expr]] = {
    ast.Constant: _Lowering._constant,
    ast.Name: _Lowering._name,
    ast.Attribute: _Lowering._attribute,
    ast.Call: _Lowering._call,
    ast.Subscript: _Lowering._index,
    ast.Slice: _Lowering._slice,
    ast.BinOp: _Lowering._binary,
    ast.UnaryOp: _Lowering._unary,
    ast.Compare: _Lowering._compare,
    ast.BoolOp: _Lowering._logic,
    ast.IfExp: _Lowering._choice,
    ast.List: _Lowering._display,
    ast.Tuple: _Lowering._display,
    ast.Set: _Lowering._display,
    ast.Dict: _Lowering._dict,
    ast.ListComp: _Lowering._comprehension,
    ast.SetComp: _Lowering._comprehension,
    ast.GeneratorExp: _Lowering._comprehension,
    ast.DictComp: _Lowering._dict_comprehension,
    ast.JoinedStr: _Lowering._text,
    ast.Starred: _Lowering._star,
    ast.NamedExpr: _Lowering._walrus,
    ast.Yield: _Lowering._yield,
    ast.YieldFrom: _Lowering._yield_from,
    ast.Await: _Lowering._await,
    ast.Lambda: _Lowering._lambda,
}
