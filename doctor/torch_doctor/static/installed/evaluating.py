"""Evaluates the expressions of a library's constructors and factories, with the arguments that are known of a call."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from astroid import nodes

from torch_doctor.static.installed.frames import DEPTH, LibraryFrame, Thing, is_static
from torch_doctor.static.installed.meanings import (
    NONE,
    UNCLEAR,
    Defined,
    Dotted,
    Given,
    Known,
    Leans,
    Literal,
    Made,
    Table,
    as_dict,
    computed,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.installed.reader import ParsedFiles

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_PASSED_ON = frozenset(("functools.partial", "copy.deepcopy", "copy.copy"))


class Evaluator:
    """What the expressions of one question mean."""

    def __init__(self, reader: ParsedFiles) -> None:
        self.reader = reader

    # --- calls ---

    def frame(self, function: nodes.FunctionDef, given: Given, me: Thing | None = None, depth: int = 0) -> LibraryFrame:
        """The frame of a call."""
        arguments = function.args
        parameters = [*arguments.posonlyargs, *(arguments.args or [])]
        defaults: list[nodes.NodeNG | None] = [None] * (len(parameters) - len(arguments.defaults or []))
        defaults += arguments.defaults or []
        skip = int(me is not None and not is_static(function))
        names: dict[str, Known] = {}
        for index, (parameter, default) in enumerate(zip(parameters, defaults, strict=True)):
            if index >= skip:
                value = given.argument(index - skip, parameter.name)
                names[parameter.name] = value or self._default(function, parameter.name, default, given)
        for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults or [], strict=True):
            value = given.argument(len(given.args), parameter.name)
            names[parameter.name] = value or self._default(function, parameter.name, default, given)
        if arguments.kwarg:
            others = {name: value for name, value in given.keywords if name not in names}
            names[arguments.kwarg] = Known(Table(tuple(others.items()), given.rest, given.asked))
        return LibraryFrame(function, names, me, depth)

    def asked(self, function: nodes.FunctionDef, me: Thing | None = None) -> LibraryFrame:
        """The frame of a call whose arguments are the caller's: each is its default, as long as it is not given."""
        frame = self.frame(function, Given(rest=True, asked=True), me)
        skip = int(me is not None)
        positions = {each.name: index - skip for index, each in enumerate(function.args.args or [])}
        for name, known in frame.names.items():
            if not isinstance(known.what, Table):
                frame.names[name] = Known(known.what, frozenset([(name, positions.get(name, -1))]))
        return frame

    def _default(self, function: nodes.FunctionDef, name: str, default: nodes.NodeNG | None, given: Given) -> Known:
        if given.rest and not given.asked:
            return UNCLEAR
        leans = frozenset([(name, -1)]) if given.asked else NONE
        known = UNCLEAR if default is None else self.reader.plain(function.root(), default)
        return Known(known.what, known.leans | leans)

    def given(self, call: nodes.Call, frame: LibraryFrame) -> Given:
        """The arguments of a call."""
        args = tuple(self.value(each, frame) for each in call.args if not isinstance(each, nodes.Starred))
        rest = any(isinstance(each, nodes.Starred) for each in call.args)
        keywords: dict[str, Known] = {}
        asked = False
        for keyword in call.keywords:
            known = self.value(keyword.value, frame)
            if keyword.arg is not None:
                keywords[keyword.arg] = known
            elif isinstance(known.what, Table):
                keywords.update(known.what.items)
                rest, asked = rest or known.what.open, asked or known.what.asked
            else:
                rest = True
        return Given(args, tuple(keywords.items()), rest, asked)

    # --- expressions ---

    def value(self, node: nodes.NodeNG, frame: LibraryFrame) -> Known:
        """What an expression means."""
        match node:
            case nodes.Const():
                return Known(Literal(node.value))
            case nodes.Name():
                return self._name(node.name, frame)
            case nodes.Attribute():
                return self._attribute(node, frame)
            case nodes.Call():
                return self._call(node, frame)
            case nodes.IfExp():
                test = self.value(node.test, frame)
                return self._chosen(test, lambda: self.value(node.body, frame), lambda: self.value(node.orelse, frame))
            case nodes.BoolOp():
                return self._bool_op(node, frame)
            case nodes.Compare() | nodes.UnaryOp(op="not"):
                return self._test(node, frame)
            case nodes.BinOp():
                return computed(node.op, self.value(node.left, frame), self.value(node.right, frame))
            case nodes.Dict():
                items = [
                    (key.value, self.value(each, frame)) for key, each in node.items if isinstance(key, nodes.Const)
                ]
                return Known(Table(tuple(items), len(items) < len(node.items)))
            case _:
                return UNCLEAR

    def _chosen(self, test: Known, yes: Callable[[], Known], no: Callable[[], Known]) -> Known:
        answer = truth(test)
        if answer is None:
            first, second = yes(), no()
            return first if first == second else UNCLEAR
        chosen = yes() if answer else no()
        return Known(chosen.what, chosen.leans | test.leans)

    def _bool_op(self, node: nodes.BoolOp, frame: LibraryFrame) -> Known:
        leans: Leans = NONE
        known = UNCLEAR
        for part in node.values:
            known = self.value(part, frame)
            leans |= known.leans
            answer = truth(known)
            if answer is None:
                return Known(UNCLEAR.what, leans)
            if answer is (node.op == "or"):
                break
        return Known(known.what, leans)

    def _test(self, node: nodes.Compare | nodes.UnaryOp, frame: LibraryFrame) -> Known:
        if isinstance(node, nodes.UnaryOp):
            known = self.value(node.operand, frame)
            answer = truth(known)
            return Known(UNCLEAR.what if answer is None else Literal(not answer), known.leans)
        if len(node.ops) != 1:
            return UNCLEAR
        (sign, other) = node.ops[0]
        left, right = self.value(node.left, frame), self.value(other, frame)
        leans = left.leans | right.leans
        if sign in ("is", "is not") and right.what == Literal(None) and left.what != UNCLEAR.what:
            return Known(Literal((left.what == Literal(None)) is (sign == "is")), leans)
        if sign in _COMPARED and isinstance(left.what, Literal) and isinstance(right.what, Literal):
            try:
                return Known(Literal(bool(_COMPARED[sign](left.what.value, right.what.value))), leans)
            except TypeError:
                return UNCLEAR
        return Known(UNCLEAR.what, leans)

    def _attribute(self, node: nodes.Attribute, frame: LibraryFrame) -> Known:
        if isinstance(node.expr, nodes.Name) and node.expr.name == frame.itself and frame.me is not None:
            values = list(dict.fromkeys(frame.me.attributes.get(node.attrname, ())))
            return values[0] if len(values) == 1 else UNCLEAR
        return self.reader.member(self.value(node.expr, frame), node.attrname)

    def _call(self, node: nodes.Call, frame: LibraryFrame) -> Known:
        if isinstance(node.func, nodes.Attribute) and node.func.attrname in ("get", "pop"):
            found = self._taken(node, frame)
            if found is not None:
                return found
        called = self.value(node.func, frame)
        if not isinstance(called.what, (Dotted, Defined)):
            return Known(UNCLEAR.what, called.leans)
        given = self.given(node, frame)
        match called.what:
            case Dotted(name) if name in _PASSED_ON and given.args:
                return given.args[0]
            case Dotted("builtins.dict"):
                return Known(as_dict(given))
            case Defined(nodes.FunctionDef() as function):
                returned = self.returned(self.frame(function, given, depth=frame.depth + 1))
                return Known(returned.what, returned.leans | called.leans)
            case what:
                return Known(Made(what, given), called.leans)

    def _taken(self, node: nodes.Call, frame: LibraryFrame) -> Known | None:
        """`kwargs.pop("rate", 0.5)`."""
        holder = self.value(node.func.expr, frame).what
        if not isinstance(holder, Table) or not node.args or not isinstance(node.args[0], nodes.Const):
            return None
        name = node.args[0].value
        if name in dict(holder.items):
            return dict(holder.items)[name]
        known = self.value(node.args[1], frame) if len(node.args) > 1 else Known(Literal(None))
        if holder.asked:
            return Known(known.what, known.leans | {(name, -1)})
        return UNCLEAR if holder.open else known

    def returned(self, frame: LibraryFrame) -> Known:
        """What a function returns, where all that it returns is the same."""
        if frame.depth > DEPTH:
            return UNCLEAR
        found: dict[Known, None] = {}
        for node in frame.function.nodes_of_class(
            nodes.Return, skip_klass=(nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)
        ):
            comes = self.comes(node, frame)
            if comes.what != Literal(value=False) and node.value is not None:
                known = self.value(node.value, frame)
                found[Known(known.what, known.leans | comes.leans)] = None
        return next(iter(found)) if len({known.what for known in found}) == 1 else UNCLEAR

    def comes(self, node: nodes.NodeNG, frame: LibraryFrame) -> Known:
        """Whether execution comes to a statement of a function, as far as the tests around it tell."""
        leans: Leans = NONE
        answer: bool | None = True
        while node.parent is not None and node.parent is not frame.function:
            around = node.parent
            if isinstance(around, nodes.If) and node is not around.test:
                test = self.value(around.test, frame)
                leans |= test.leans
                taken = truth(test)
                if taken is None:
                    answer = None if answer else answer
                elif taken is (node in around.orelse):
                    return Known(Literal(value=False), leans)
            node = around
        return Known(UNCLEAR.what if answer is None else Literal(answer), leans)

    # --- names ---

    def _name(self, name: str, frame: LibraryFrame) -> Known:
        if name not in frame.known:
            frame.known[name] = frame.names.get(name, UNCLEAR)  # while it is looked for
            frame.known[name] = self._of_name(name, frame)
        return frame.known[name]

    def _of_name(self, name: str, frame: LibraryFrame) -> Known:
        found = frame.function.locals.get(name, ())
        bound = [
            each
            for each in found
            if not isinstance(each, nodes.Arguments) and not isinstance(each.parent, nodes.Arguments)
        ]
        if not bound:
            known = frame.names.get(name)
            return known if known is not None else self.reader.top_level(frame.function.root(), name)
        current = frame.names.get(name)
        for node in sorted(bound, key=lambda each: each.lineno or 0):
            frame.known[name] = current or UNCLEAR
            comes = self.comes(node.statement(), frame)
            if comes.what == Literal(value=False):
                current = Known(current.what, current.leans | comes.leans) if current is not None else None
                continue
            known = self._assigned(node, frame)
            if comes.what != Literal(value=True) and current is not None and known.what != current.what:
                known = UNCLEAR
            current = Known(known.what, known.leans | comes.leans)
        return current or UNCLEAR

    def _assigned(self, node: nodes.NodeNG, frame: LibraryFrame) -> Known:
        match node:
            case nodes.AssignName(parent=nodes.Assign() | nodes.AnnAssign() as assign) if assign.value is not None:
                return self.value(assign.value, frame)
            case nodes.Import() | nodes.ImportFrom():
                return UNCLEAR
            case _:
                return UNCLEAR
